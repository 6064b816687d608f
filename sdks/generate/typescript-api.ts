import {
  type Api,
  amountFields,
  type EnumModel,
  type Field,
  type ObjectModel,
  type Operation,
  type Type,
} from './api-model.js'

/** Returns the source of sdks/typescript/src/api.ts. */
export function typescriptApi(api: Api): string {
  return `// Generated from the OpenAPI document by \`npm run sdks:generate\`. Do not edit.

/** An amount as a decimal text: in responses with two decimals, such as \`100.50\`. */
export type Amount = string

/** The JSON fields that are amounts. */
export const amountFields: ReadonlySet<string> = new Set(${JSON.stringify(amountFields(api)).replaceAll('"', "'")})

${api.enums.map(enumSource).join('\n')}
${api.objects.map(objectSource).join('\n')}
${api.operations
  .filter(({ query }) => query.length > 0)
  .map(querySource)
  .join('\n')}
/** A request to the service. */
export interface ApiRequest {
  readonly method: string
  readonly path: string
  readonly query?: object
  readonly body?: object
  /** Whether the body gets a hashCode. */
  readonly isHashed?: boolean
  /** Whether it can be repeated after a lost response. */
  readonly isRepeatable: boolean
  /** Whether the result is the field \`result\` of the response. */
  readonly isEnvelope?: boolean
  /** Whether the result can be null. */
  readonly isNullable?: boolean
  /** The fields that every result has. A result without fields is a text. */
  readonly required: readonly string[]
}

/** @throws TypeError for an id that would change the path */
function segment(id: string): string {
  if (/^\\.{0,2}$/.test(id)) throw new TypeError('an id is empty or consists of dots')
  return encodeURIComponent(id)
}

/** The operations of the API. Each rejects with a TransferdError. */
export abstract class Operations {
  protected abstract send<Result>(request: ApiRequest): Promise<Result>
${api.operations.map((operation) => operationSource(operation, api)).join('')}}
`
}

function enumSource({ name, values }: EnumModel): string {
  const open = typeof values[0]![1] === 'number' ? 'number & {}' : 'string & {}'
  const members = values.map(([each, value]) => `  ${/^\w+$/.test(each) ? each : `'${each}'`}: ${literal(value)},\n`)
  return `/** The known values. Later versions of the service can send others. */
export const ${name} = {
${members.join('')}} as const
export type ${name} = (typeof ${name})[keyof typeof ${name}] | (${open})
`
}

function objectSource({ name, fields }: ObjectModel): string {
  return `export interface ${name} {\n${fields.map(fieldSource).join('')}}\n`
}

const queryName = (id: string) => `${id[0]!.toUpperCase()}${id.slice(1)}Query`

function querySource({ id, query }: Operation): string {
  return `export interface ${queryName(id)} {\n${query.map(fieldSource).join('')}}\n`
}

function fieldSource({ name, type, isNullable, isRequired, description }: Field): string {
  const comment = description && `  /** ${description} */\n`
  return `${comment}  readonly ${name}${isRequired ? '' : '?'}: ${typeSource(type)}${isNullable ? ' | null' : ''}${isRequired ? '' : ' | undefined'}\n`
}

function operationSource(operation: Operation, { objects }: Api): string {
  const { id, method, path, pathParameters, query, body, isHashed, isEnvelope, isRepeatable } = operation
  const optional = operation.isBodyRequired ? '' : ' = {}'
  const parameters = [
    ...pathParameters.map((name) => `${name}: string`),
    ...(body ? [`body: ${body.name}${optional}`] : []),
    ...(query.length > 0 ? [`query: ${queryName(id)} = {}`] : []),
  ]
  const constants = Object.entries(body?.constants ?? {}).map(([name, value]) => `, ${name}: ${literal(value)}`)
  const parts = [
    `method: '${method}'`,
    `path: ${pathParameters.length > 0 ? `\`${path.replaceAll('{', '${segment(').replaceAll('}', ')}')}\`` : `'${path}'`}`,
    ...(query.length > 0 ? ['query'] : []),
    ...(body ? [constants.length > 0 ? `body: { ...body${constants.join('')} }` : 'body'] : []),
    ...(isHashed ? ['isHashed: true'] : []),
    ...(isEnvelope ? ['isEnvelope: true'] : []),
    ...(operation.isResultNullable ? ['isNullable: true'] : []),
    `isRepeatable: ${isRepeatable}`,
    `required: [${requiredFields(operation.result, objects).map(literal).join(', ')}]`,
  ]
  const result = `${typeSource(operation.result)}${operation.isResultNullable ? ' | null' : ''}`
  return `
  /** ${operation.description} */
  async ${id}(${parameters.join(', ')}): Promise<${result}> {
    return this.send({ ${parts.join(', ')} })
  }
`
}

function requiredFields(type: Type, objects: readonly ObjectModel[]): string[] {
  const fields = objects.find(({ name }) => type.kind === 'named' && name === type.name)?.fields ?? []
  return fields.filter(({ isRequired, isNullable }) => isRequired && !isNullable).map(({ name }) => name)
}

function typeSource(type: Type): string {
  switch (type.kind) {
    case 'string':
    case 'boolean':
      return type.kind
    case 'integer':
    case 'number':
      return 'number'
    case 'amount':
      return 'Amount'
    case 'texts':
      return 'Readonly<Record<string, string>>'
    case 'list':
      return `readonly ${typeSource(type.item)}[]`
    case 'named':
      return type.name
    default:
      return type satisfies never
  }
}

const literal = (value: unknown) => (typeof value === 'string' ? `'${value}'` : String(value))
