/** The parts of an OpenAPI document that the clients are generated from. */
export interface Document {
  readonly paths: { readonly [path: string]: { readonly [method: string]: OperationObject } }
  readonly components: { readonly schemas: { readonly [name: string]: Schema } }
}

interface Schema {
  readonly $ref?: string
  readonly type?: string | readonly string[]
  readonly format?: string
  readonly description?: string
  readonly const?: unknown
  readonly enum?: readonly (string | number)[]
  readonly 'x-enum-varnames'?: readonly string[]
  readonly properties?: { readonly [name: string]: Schema }
  readonly required?: readonly string[]
  readonly items?: Schema
  readonly additionalProperties?: Schema
}

interface Content {
  readonly content?: { readonly [type: string]: { readonly schema: Schema } }
  readonly required?: boolean
}

interface OperationObject {
  readonly operationId: string
  readonly summary: string
  readonly description?: string
  readonly parameters?: readonly {
    readonly in: string
    readonly name: string
    readonly description?: string
    readonly schema: Schema
  }[]
  readonly requestBody?: Content
  readonly responses: { readonly [status: string]: Content }
}

/** A type: a primitive, texts by key, a list, or a named schema. An amount is a text in the clients, because a `number` is not exact. */
export type Type =
  | { readonly kind: 'string' | 'integer' | 'number' | 'boolean' | 'amount' | 'texts' }
  | { readonly kind: 'list'; readonly item: Type }
  | { readonly kind: 'named'; readonly name: string }

export interface Field {
  /** The name in JSON. */
  readonly name: string
  readonly type: Type
  readonly isNullable: boolean
  readonly isRequired: boolean
  readonly description: string
}

export interface ObjectModel {
  readonly name: string
  readonly fields: readonly Field[]
  /** The fields with only one value, which the client sends. */
  readonly constants: { readonly [name: string]: unknown }
}

/** The known values by name. Later versions of the service can add others. */
export interface EnumModel {
  readonly name: string
  readonly values: readonly (readonly [name: string, value: string | number])[]
}

export interface Operation {
  readonly id: string
  readonly method: string
  /** With `{name}` for each path parameter. */
  readonly path: string
  readonly pathParameters: readonly string[]
  readonly query: readonly Field[]
  readonly body: ObjectModel | undefined
  readonly isBodyRequired: boolean
  /** Whether the client computes the hashCode of the body. */
  readonly isHashed: boolean
  readonly result: Type
  readonly isResultNullable: boolean
  /** Whether the result is the field `result` of the response. */
  readonly isEnvelope: boolean
  /** Whether the request can be repeated after a lost response. */
  readonly isRepeatable: boolean
  readonly description: string
}

export interface Api {
  readonly enums: readonly EnumModel[]
  readonly objects: readonly ObjectModel[]
  readonly operations: readonly Operation[]
}

/**
 * The requests other than GET whose repeat has no further effect. All others are never repeated, so that a new operation is safe: a repeat
 * could send another code or callback, or be rejected because a token is used up.
 */
const repeatable = new Set([
  ...['createHostedDeposit', 'createNativeDeposit', 'createWithdrawal', 'walletValidateUserDevice'],
  ...['claimWithdrawal', 'releaseWithdrawal', 'completeWithdrawal', 'cancelWithdrawal', 'enableCallbackEndpoint'],
  ...['receiveDeposit', 'correctTransfer', 'refundDeposit', 'repayWithdrawal', 'recordWithdrawalReturn'],
])
/** A stream of events, which has no single response. */
const omitted = new Set(['streamCallbacks'])
/** The client computes it. */
const computed = 'hashCode'
/** The schemas that the clients unwrap, or turn into errors. */
const envelopeParts = /Envelope$|^(Failure|FailureReason|PendingReason)$/
/** The names and the numbers of the statuses, for which the clients have enums already. */
const statusFilter = 'StatusFilter'

/** Returns what the clients contain: the operations of the merchants' document and the types that they use, and the callback. */
export function apiOf({ paths, components: { schemas } }: Document): Api {
  const operations = Object.entries(paths).flatMap(([path, methods]) =>
    Object.entries(methods)
      .filter(([, { operationId }]) => !omitted.has(operationId))
      .map(([method, operation]) => operationOf(method, path, operation, schemas)),
  )
  const named = Object.entries(schemas).filter(([name]) => !envelopeParts.test(name))
  const objects = named.filter(([, { properties }]) => properties).map(([name, schema]) => objectOf(name, schema))
  const enums = named.flatMap(([name, { enum: values, 'x-enum-varnames': names }]) =>
    values ? [{ name, values: values.map((value, index) => [names?.[index] ?? String(value), value] as const) }] : [],
  )
  requireUnambiguousAmounts(objects)
  return { enums: enums.filter(({ name }) => name !== statusFilter), objects, operations }
}

/** Returns the JSON names of all amounts. The clients read the numbers of these fields as texts. */
export function amountFields({ objects }: Pick<Api, 'objects'>): string[] {
  const names = objects.flatMap(({ fields }) => fields.filter(({ type }) => type.kind === 'amount'))
  return [...new Set(names.map(({ name }) => name))].sort()
}

function requireUnambiguousAmounts(objects: readonly ObjectModel[]): void {
  const amounts = new Set(amountFields({ objects }))
  for (const { name, fields } of objects)
    for (const field of fields)
      if (amounts.has(field.name) && field.type.kind !== 'amount')
        throw new Error(`${name}.${field.name} has the name of an amount, but is none`)
}

function operationOf(
  method: string,
  path: string,
  operation: OperationObject,
  schemas: Document['components']['schemas'],
): Operation {
  const { operationId: id, parameters = [], requestBody, responses, summary, description } = operation
  const body = schemaOf(requestBody)
  const answer = schemaOf(responses[200] ?? responses[202] ?? {})
  if (!answer) throw new Error(`${id} has no response`)
  const answerName = nameOf(answer)
  const isEnvelope = answerName?.endsWith('Envelope') === true
  const result = isEnvelope ? schemas[answerName]!.properties!.result! : answer
  const bodyName = body && nameOf(body)
  return {
    id,
    method: method.toUpperCase(),
    path,
    pathParameters: [...path.matchAll(/\{(\w+)\}/g)].map(([, name]) => name!),
    query: parameters.filter((each) => each.in === 'query').map((each) => fieldOf(each.name, each.schema, false, each)),
    body: bodyName === undefined ? undefined : objectOf(bodyName, schemas[bodyName]!),
    isBodyRequired: requestBody?.required === true,
    isHashed: bodyName !== undefined && computed in (schemas[bodyName]?.properties ?? {}),
    result: typeOf(result),
    isResultNullable: [result.type].flat().includes('null'),
    isEnvelope,
    isRepeatable: method === 'get' || repeatable.has(id),
    description: [`${summary}.`, description].filter(Boolean).join(' '),
  }
}

function objectOf(name: string, { properties = {}, required = [] }: Schema): ObjectModel {
  const entries = Object.entries(properties)
  const constants = Object.fromEntries(
    entries.filter(([, schema]) => schema.const !== undefined).map(([field, schema]) => [field, schema.const]),
  )
  const fields = entries
    .filter(([field]) => !(field in constants) && field !== computed)
    .map(([field, schema]) => fieldOf(field, schema, required.includes(field)))
  return { name, fields, constants }
}

function fieldOf(
  name: string,
  schema: Schema,
  isRequired: boolean,
  { description = schema.description ?? '' } = {},
): Field {
  return { name, type: typeOf(schema), isNullable: [schema.type].flat().includes('null'), isRequired, description }
}

function typeOf(schema: Schema): Type {
  const name = nameOf(schema)
  if (name !== undefined) return name === statusFilter ? { kind: 'string' } : { kind: 'named', name }
  const type = [schema.type].flat().find((each) => each !== 'null')
  switch (type) {
    case 'array':
      return { kind: 'list', item: typeOf(schema.items!) }
    case 'number':
      return { kind: schema.format === 'decimal' ? 'amount' : 'number' }
    case 'object':
      if (schema.additionalProperties?.type !== 'string') throw new Error('an object without a name')
      return { kind: 'texts' }
    case 'string':
    case 'integer':
    case 'boolean':
      return { kind: type }
    default:
      throw new Error(`a schema of the type ${type}`)
  }
}

function schemaOf({ content }: Content = {}): Schema | undefined {
  return content && Object.values(content)[0]?.schema
}

function nameOf({ $ref }: Schema): string | undefined {
  return $ref?.split('/').at(-1)
}
