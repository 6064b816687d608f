import { readFile } from 'node:fs/promises'
import { Validator } from '@seriousme/openapi-schema-validator'
import { Value } from '@sinclair/typebox/value'
import t from 'tap'
import { callbackBody } from '../../src/domain/callback.js'
import { asOpenApi30, completeDocument } from '../../src/http/documentation/openapi-document.js'
import { refusals } from '../../src/http/refusals.js'
import { Callback } from '../../src/http/v1/callback-schemas.js'
import { destroyTestService, startTestService } from '../support/test-service.js'

const service = await startTestService()
t.teardown(() => destroyTestService(service))
const routes = service.app.knownRoutes

interface Operation {
  readonly summary?: string
  readonly description?: string
  readonly operationId?: string
  readonly responses: {
    readonly [status: string]: { readonly description?: string; readonly headers?: object; readonly content?: object }
  }
  readonly parameters?: readonly {
    readonly in: string
    readonly name: string
    readonly description?: string
    readonly schema: object
  }[]
  readonly requestBody?: {
    readonly required: boolean
    readonly content: { readonly [type: string]: { readonly schema: object } }
  }
}
interface Document {
  readonly openapi: string
  readonly info: { readonly title: string; readonly version: string }
  readonly paths: { readonly [path: string]: { readonly [method: string]: Operation } }
  readonly components: { readonly schemas: { readonly [name: string]: object } }
}

type Node = { readonly [field: string]: unknown }

/** Calls back for each object within a document, with its path. */
function visit(node: unknown, found: (node: Node, path: string) => void, path = ''): void {
  if (typeof node !== 'object' || node === null) return
  if (!Array.isArray(node)) found(node as Node, path)
  for (const [key, value] of Object.entries(node)) visit(value, found, `${path}/${key}`)
}

const documentAt = async <Shape = Document>(url: string) => (await service.app.inject(url)).json<Shape>()
const merchantDocument = await documentAt('/documentation/json')
const serviceDocument = await documentAt('/documentation/service/json')

t.test('two complete OpenAPI 3.1 documents cover every route: the merchants’ and the others', async (t) => {
  const hidden = /^\/(documentation|dashboard)/
  const documented = routes.filter(({ method, url }) => method !== 'HEAD' && !hidden.test(url))
  t.ok(documented.length >= 13)
  const ids = new Set<string | undefined>()
  for (const document of [merchantDocument, serviceDocument]) {
    t.equal(document.openapi, '3.1.0')
    t.notOk(Object.keys(document.paths).some((path) => hidden.test(path)))
    const isMerchants = document === merchantDocument
    t.equal(
      Object.keys(document.paths).some((path) => path.startsWith('/v1/')),
      isMerchants,
    )
    t.equal(
      Object.keys(document.paths).some((path) => /^\/(pay|device|health)\//.test(path)),
      !isMerchants,
    )
  }
  for (const { method, url } of documented) {
    const path = url.replaceAll(/:(\w+)/g, '{$1}')
    const operation = { ...merchantDocument.paths, ...serviceDocument.paths }[path]?.[method.toLowerCase()]
    t.ok(operation, `${method} ${url}`)
    t.ok(operation?.summary && operation.description, `${method} ${url} has a summary and a description`)
    t.same(operation?.parameters?.filter((each) => !each.description).map(({ name }) => name) ?? [], [])
    t.match(Object.keys(operation?.responses ?? {}).join(), /4\d\d/, `${method} ${url} can fail`)
    ids.add(operation?.operationId)
    for (const [status, { description }] of Object.entries(operation?.responses ?? {})) {
      t.ok(description && description !== 'Default Response', `${method} ${url} ${status} has a description`)
    }
    for (const [, parameter] of path.matchAll(/\{(\w+)\}/g)) {
      t.ok(
        operation?.parameters?.some((each) => each.in === 'path' && each.name === parameter),
        String(parameter),
      )
    }
    if (url.startsWith('/v1') || (method === 'POST' && !/^\/(pay|device)\//.test(url))) {
      t.match(Object.keys(operation?.responses ?? {}), /401.*403.*429.*500.*503/s)
    }
  }
  t.equal(ids.size, documented.length, 'operation ids are unique')
})

t.test('generators create correct programs from every schema', async (t) => {
  const problems: string[] = []
  const check = (isRight: boolean, problem: string) => isRight || problems.push(problem)
  for (const document of [merchantDocument, serviceDocument]) {
    visit(document, (node, path) => {
      const types = [node.type].flat()
      for (const [name, schema] of Object.entries((node.properties ?? {}) as { [name: string]: Node })) {
        const isId = /^(tracking|transaction|webhook|event|merchant)Id$/i.test(name)
        check(!isId || schema.format === 'uuid', `${path}: ${name} has another type than the ids of other schemas`)
        check(schema.format !== 'decimal' || /amount|lateFunds/i.test(name), `${path}: ${name} is not an amount`)
      }
      if (typeof node.properties === 'object' && 'type' in node)
        check(/^\/components\/schemas\/\w+$/.test(path), `${path}: an object schema has no name`)
      if (typeof types[0] !== 'string' || path.endsWith('securitySchemes/WebApiKey')) return
      check(!String(node.pattern).includes('\\p{'), `${path}: Python and Go reject classes of Unicode`)
      check(
        types.some((type) => type !== 'null'),
        `${path}: generators create a class of the type null`,
      )
      check((node.enum as unknown[] | undefined)?.length !== 1, `${path}: an enum of one value becomes a type`)
      check(!types.includes('number') || node.format === 'decimal', `${path}: float32 is not exact`)
      const isBounded = node.enum !== undefined || node.const !== undefined || Number(node.maximum) < 2 ** 31
      check(!types.includes('integer') || isBounded || node.format === 'int64', `${path}: 32 bits are too few`)
    })
    for (const [path, operations] of Object.entries(document.paths)) {
      for (const { parameters = [], responses } of Object.values(operations)) {
        for (const { name, schema } of parameters)
          check(name !== 'trackingId' || 'format' in schema, `${path}: trackingId without a format`)
        for (const [status, { headers = {} }] of Object.entries(responses)) {
          check('X-Request-Id' in headers, `${path} ${status} without X-Request-Id`)
          check(!/429|503/.test(status) || 'Retry-After' in headers, `${path} ${status} without Retry-After`)
        }
      }
    }
  }
  t.same(problems, [])
  const { schemas } = merchantDocument.components
  t.match(schemas.CreateHostedDepositRequest, { properties: { transactionType: { const: 1, default: 1 } } })
  t.match(schemas.VerifiedCode, { properties: { account_number: { type: 'integer', format: 'int64' } } })
  t.match(schemas.ErrorCode, { enum: Object.values(refusals).map(({ code }) => code) })
  t.match(serviceDocument.components.schemas.NextStep, { properties: { next: { type: 'string', enum: ['code'] } } })
  const resend = '/v1/transfers/{trackingId}/callbacks/resend'
  t.match(merchantDocument.paths[resend]?.post?.requestBody, { required: false })
  const { '200': receipt } = serviceDocument.paths['/receipts/{name}']!.get!.responses
  t.match(receipt, { content: { 'application/pdf': {} } })
})

t.test('the same document as OpenAPI 3.0.3, for generators that do not read 3.1', async (t) => {
  const document = await documentAt('/documentation/openapi-3.0.json')
  t.match(document, { openapi: '3.0.3' })
  t.match(await new Validator().validate({ ...document }), { valid: true })
  t.notOk('webhooks' in document)
  t.same(Object.keys(document.paths), Object.keys(merchantDocument.paths))
  t.same(Object.keys(document.components.schemas), Object.keys(merchantDocument.components.schemas))
  const problems: string[] = []
  visit(document, (node, path) => {
    const isOnly31 = Array.isArray(node.type) || 'const' in node || 'examples' in node
    const hasSiblings = node.$ref !== undefined && Object.keys(node).length > 1
    if (isOnly31 || hasSiblings || typeof node.exclusiveMinimum === 'number') problems.push(path)
  })
  t.same(problems, [])
  const given = {
    paths: {},
    info: {},
    a: { type: ['string', 'null'], examples: ['x'] },
    b: { const: 1, exclusiveMinimum: 0 },
  }
  t.match(asOpenApi30(given), { a: { type: 'string', nullable: true, example: 'x' }, b: { enum: [1], minimum: 0 } })
})

t.test('generates a valid document that names its schemas and lists the allowed values', async (t) => {
  const document = (await service.app.inject('/documentation/json')).json()
  t.match(await new Validator().validate(structuredClone(document)), { valid: true })
  const { schemas } = document.components
  t.match(Object.keys(schemas), ['Callback', 'CallbackAttempt', 'CallbackDelivery', 'CallbackEndpoint'])
  t.same(schemas.Kind, { type: 'string', enum: ['deposit', 'withdrawal'] })
  t.match(schemas.Status, { type: 'integer', enum: [1, 2, 3, 4, 5] })
  t.same(schemas.StatusName.enum, ['Pending', 'Completed', 'ManualControl', 'Cancelled', 'Failed'])
  t.same(schemas.Transfer.properties.kind, { $ref: '#/components/schemas/Kind' })
  t.same(schemas.TransferPage.properties.items.items.$ref, '#/components/schemas/Transfer')
  t.same(schemas.Status['x-enum-varnames'], schemas.StatusName.enum)
  const { parameters } = document.paths['/v1/transfers'].get
  const limit = parameters.find(({ name }: { name: string }) => name === 'limit')
  t.match(limit.schema, { type: 'integer', minimum: 1, maximum: 100, default: 50 })
  const text = JSON.stringify(document)
  for (const [, name] of text.matchAll(/#\/components\/schemas\/(\w+)/g))
    t.ok(schemas[name!], `the schema ${name} exists`)
  const envelopes = Object.keys(schemas).filter((name) => /Envelope$|^Failure$/.test(name))
  t.equal(text.split('"success":').length - 1, envelopes.length, 'every envelope is a named schema')
})

t.test('documents the callback exactly as it is sent', async (t) => {
  const payload = {
    referenceId: 'order-1',
    message: null,
    amountMinor: 100_50n,
    transactionAmountMinor: 0n,
    receiptUrl: null,
  }
  for (const status of [1, 2, 3, 4, 5]) {
    const text = callbackBody(
      { ...payload, status, hasAmountMismatch: false },
      '0b7e9a52-3c1d-5f6e-8a90-1b2c3d4e5f60',
      () => '0'.repeat(32),
    )
    const body = JSON.parse(text)
    t.same(Object.keys(body), Object.keys(Callback.properties))
    t.same(Object.keys(body), Callback.required)
    const { TrackingId: _, Status, StatusDescription, ...plain } = Callback.properties
    for (const [field, schema] of Object.entries(plain)) {
      if (field !== 'Message') t.ok(Value.Check(schema, body[field]), field)
    }
    t.ok((Status as { enum?: number[] }).enum?.includes(body.Status))
    t.ok((StatusDescription as { enum?: string[] }).enum?.includes(body.StatusDescription))
  }
  const document = (await service.app.inject('/documentation/json')).json()
  const { post } = document.webhooks.transferStatusChanged
  t.same(post.requestBody.content['application/json'].schema.$ref, '#/components/schemas/Callback')
})

t.test('rejects two different schemas with one name', async (t) => {
  const of = (type: string) => ({ get: { responses: { 200: { schema: { title: 'Thing', type } } } } })
  const paths = { a: of('string'), b: of('boolean') }
  t.throws(() => completeDocument({ paths }, {}), /two schemas are called Thing/)
})

t.test('documents the creates with both content types, examples, headers and every failure', async (t) => {
  const document = (await service.app.inject('/documentation/json')).json<Document>()
  const create = document.paths['/Transaction/CreateDeposit']?.post
  t.same(Object.keys(create?.requestBody?.content ?? {}), ['application/json', 'application/json-patch+json'])
  t.same(Object.keys(create?.responses ?? {}), ['200', '400', '401', '403', '409', '413', '415', '429', '500', '503'])
  t.same(
    create?.parameters?.filter((each) => each.in === 'header').map(({ name }) => name),
    ['X-Signature', 'X-Request-Id'],
  )
  t.match(JSON.stringify(document.components.schemas), /"examples":\["Ada Lovelace"\]/)
})

t.test('serves the page without inline scripts', async (t) => {
  const response = await service.app.inject('/documentation')
  t.equal(response.statusCode, 200)
  const policy = String(response.headers['content-security-policy'])
  t.match(policy, /default-src 'none'; script-src 'self'; style-src 'self'/)
  t.notMatch(policy, /swagger\.io|upgrade-insecure-requests/)
  t.notMatch(policy, /script-src[^;]*unsafe/)
  for (const [, attributes, inline] of response.body.matchAll(/<script([^>]*)>([\s\S]*?)<\/script>/g)) {
    t.match(attributes, /src=/)
    t.equal(inline?.trim(), '')
  }
})

t.test('docs/reference/errors.md lists exactly the existing codes', async (t) => {
  const text = await readFile('docs/reference/errors.md', 'utf8')
  const documented = [...text.matchAll(/^\| (\d{5}) \| (\d{3}) \|/gm)].map(([, code, status]) => `${code} ${status}`)
  const codes = Object.values(refusals).map(({ code, status }) => `${code} ${status}`)
  t.same(documented.sort(), codes.sort())
  t.equal(new Set(Object.values(refusals).map(({ code }) => code)).size, codes.length)
})
