import { statusCodes } from '../../domain/transfer/status.js'
import { typedAs } from '../../kernel/typed-text.js'
import { refusals } from '../refusals.js'

/** A part of a document: a JSON object whose fields are not known. */
type Part = { readonly [field: string]: unknown }

const isPart = (node: unknown): node is Part => typeof node === 'object' && node !== null && !Array.isArray(node)

/** The start of the patterns of ids, with or without hyphens. */
const startOfUuids = '^[0-9a-fA-F]{8}('
const maxInt32 = 2 ** 31 - 1
const pascalCase = (name: string) => name.replaceAll(/(?:^|-)(\w)/g, (_, letter: string) => letter.toUpperCase())

/** Returns the enum of numbers with the names that generators give to its values, which they would otherwise call `_1`. */
const namedValues = (values: { readonly [name: string]: number }) => {
  const names = Object.keys(values).map(pascalCase)
  return { type: 'integer', enum: Object.values(values), 'x-enum-varnames': names, 'x-enumNames': names }
}

const errorCodes = namedValues(Object.fromEntries(Object.entries(refusals).map(([name, { code }]) => [name, code])))

/** The enums whose values have names, by title. The schemas of the routes do not list them, so that each response is not compared with them. */
const enums: { readonly [title: string]: object } = { Status: namedValues(statusCodes), ErrorCode: errorCodes }

const headers = {
  RequestId: { description: 'The X-Request-Id of the request, or a generated one.', schema: { type: 'string' } },
  RetryAfter: {
    description: 'The number of seconds after which to repeat the request.',
    schema: { type: 'integer', format: 'int64' },
  },
}

/**
 * Completes the document that derives from the routes, so that generators create correct clients of it: every object schema has a name,
 * numbers have formats that no language truncates, and the headers of responses are declared.
 * @throws Error if two different schemas have the same name
 */
export function completeDocument<Document extends object>(document: Document, webhooks: object): Document {
  const { paths = {}, components } = document as { readonly paths?: Part; readonly components?: object }
  const operations = mapValues(paths, (path) => mapValues(path as Part, (each) => operationOf(each as Part, webhooks)))
  const { schemas, visit } = namedSchemas()
  const named = { paths: visit(operations), ...(Object.keys(webhooks).length > 0 && { webhooks: visit(webhooks) }) }
  const sorted = Object.fromEntries([...schemas].sort(([a], [b]) => (a < b ? -1 : 1)))
  return { ...document, ...named, components: { ...components, headers, schemas: sorted } }
}

function operationOf(operation: Part, webhooks: object): Part {
  const { parameters, requestBody, responses } = operation as {
    readonly parameters?: readonly { readonly name: string; readonly schema: { readonly type?: unknown } }[]
    readonly requestBody?: { readonly content: { readonly [type: string]: { readonly schema: { type?: unknown } } } }
    readonly responses: Part
  }
  const isId = ({ name }: { readonly name: string }) => name === 'trackingId'
  const schemas = Object.values(requestBody?.content ?? {}).map(({ schema }) => schema)
  return {
    ...operation,
    ...(parameters && {
      parameters: parameters.map((each) => {
        if (isId(each)) return { ...each, schema: { ...each.schema, format: 'uuid' } }
        // As in `metadata[order]=4711`.
        return each.schema.type === 'object' ? { ...each, style: 'deepObject', explode: true } : each
      }),
    }),
    ...(requestBody && {
      requestBody: { ...requestBody, required: !schemas.some(({ type }) => [type].flat().includes('null')) },
    }),
    responses: Object.fromEntries(
      Object.entries(responses).map(([status, response]) => [
        status,
        { ...(response as Part), headers: headersOf(status) },
      ]),
    ),
    // Generators omit a schema to which no operation refers.
    ...(Object.keys(webhooks).length > 0 &&
      /^create/.test(String(operation.operationId)) && { callbacks: callbacksOf(webhooks) }),
  }
}

/** Without the ids of the operations, which would not be unique. */
const callbacksOf = (webhooks: object) =>
  mapValues(webhooks as Part, (path) => ({
    'https://your.example/callbacks': mapValues(path as Part, (each) => {
      const { operationId: _, ...operation } = each as Part
      return operation
    }),
  }))

function headersOf(status: string): object {
  const requestId = { 'X-Request-Id': { $ref: '#/components/headers/RequestId' } }
  return /^(429|503)$/.test(status)
    ? { ...requestId, 'Retry-After': { $ref: '#/components/headers/RetryAfter' } }
    : requestId
}

/** Moves every schema with a title into a map under that name, so that a generated client has one type for each. */
function namedSchemas() {
  const schemas = new Map<string, object>()
  const visit = (node: unknown): unknown => {
    if (Array.isArray(node)) return node.map(visit)
    if (!isPart(node)) return node
    const visited = withFormat(portable(mapValues(node, visit)))
    if (typeof visited.title !== 'string') return visited
    // A description of a use does not belong to the schema itself.
    const { title, description, examples: _, ...given } = visited
    const schema = enums[title] ?? given
    const before = schemas.get(title)
    if (before && JSON.stringify(before) !== JSON.stringify(schema)) throw new Error(`two schemas are called ${title}`)
    schemas.set(title, schema)
    return { $ref: `#/components/schemas/${title}`, ...(description !== undefined && { description }) }
  }
  return { schemas, visit }
}

/**
 * Omits patterns that generated clients must not check: those with classes of Unicode, which Python and Go reject, and those of values that the
 * service cleans first. The pattern of an id becomes its format, so that clients send ids in the type in which they receive them.
 */
function portable({ pattern, [typedAs]: typed, ...schema }: Part): Part {
  if (String(pattern).startsWith(startOfUuids)) return { ...schema, format: 'uuid' }
  const isOmitted = pattern === undefined || typed !== undefined || String(pattern).includes('\\p{')
  return isOmitted ? schema : { ...schema, pattern }
}

/** Without formats, generators choose `int` and `float` of 32 bits. For an enum of one value, they create a separate type. */
function withFormat(schema: Part): Part {
  const types = [schema.type].flat()
  const { enum: values, anyOf } = schema as { readonly enum?: readonly unknown[]; readonly anyOf?: readonly Part[] }
  // The alternatives are visited already.
  if (anyOf?.every((each) => each.type === 'string' && each.const !== undefined)) {
    const { anyOf: _, ...rest } = schema
    return { ...rest, type: 'string', enum: anyOf.map((each) => each.const) }
  }
  if (values?.length === 1 && !types.includes('null')) {
    const { enum: _, ...rest } = schema
    return { ...rest, const: values[0], default: values[0] }
  }
  if (schema.format !== undefined || values !== undefined) return schema
  if (types.includes('number')) return { ...schema, format: 'decimal' }
  return types.includes('integer') && !(Number(schema.maximum) <= maxInt32) ? { ...schema, format: 'int64' } : schema
}

/**
 * Returns the document as OpenAPI 3.0.3, for generators that do not read 3.1. The webhooks remain as callbacks of the creates. Objects in a
 * query are omitted: openapi-generator writes code for them that does not compile (Java) or sends them in a different form (Python).
 */
export function asOpenApi30({ webhooks: _, ...document }: Part): Part {
  return { ...(in30(document) as Part), openapi: '3.0.3' }
}

function in30(node: unknown): unknown {
  if (Array.isArray(node)) return node.filter((each) => each?.style !== 'deepObject').map(in30)
  if (!isPart(node)) return node
  // OpenAPI 3.0 ignores everything next to a reference.
  if (typeof node.$ref === 'string') return { $ref: node.$ref }
  // OpenAPI 3.0 has no propertyNames.
  const { const: value, examples, exclusiveMinimum, type, propertyNames: _, ...rest } = node
  const types = [type].flat()
  return {
    ...(type !== undefined && { type: in30(types.length > 1 ? types.find((each) => each !== 'null') : type) }),
    ...(types.includes('null') && { nullable: true }),
    ...mapValues(rest, in30),
    ...(value !== undefined && { enum: [value] }),
    ...(Array.isArray(examples) && { example: examples[0] }),
    ...(typeof exclusiveMinimum === 'number' && { minimum: exclusiveMinimum, exclusiveMinimum: true }),
  }
}

function mapValues(node: Part, map: (value: unknown) => unknown): Part {
  return Object.fromEntries(Object.entries(node).map(([key, value]) => [key, map(value)]))
}
