import swagger from '@fastify/swagger'
import swaggerUi from '@fastify/swagger-ui'
import { type FastifyInstance, fastify } from 'fastify'
import type { Scope } from '../../domain/merchant/api-key.js'
import { setSchemaCompilers } from '../server/validation.js'
import { webhooks } from '../v1/callback-schemas.js'
import { defaultLimit, maxLimit } from '../v1/requests.js'

const description = `Create deposits and withdrawals, follow them, and read the callbacks sent about them.

Every failure has the same envelope with a stable \`error.code\`. A create that is repeated with the same body gets the first response again.`

/** Builds the document from the routes' schemas and shows it. The routes have no handlers here. */
export async function documentationPages(
  routes: FastifyInstance['knownRoutes'],
  publicUrl: string,
): Promise<FastifyInstance> {
  const app = fastify({ exposeHeadRoutes: false })
  setSchemaCompilers(app)
  await app.register(swagger, {
    openapi: {
      openapi: '3.1.0',
      info: {
        title: 'transferd',
        version: '1',
        description,
        license: { name: 'Apache-2.0', identifier: 'Apache-2.0' },
      },
      servers: [{ url: publicUrl }],
      tags: [
        { name: 'Merchant API', description: 'Create transfers, and perform the steps of a native wallet deposit.' },
        { name: 'Queries', description: 'Transfers, their history and their callbacks.' },
        { name: 'Settlement', description: 'Pay withdrawals with your own program.' },
        { name: 'Callbacks', description: 'The callbacks that you receive.' },
        { name: 'Payment page', description: 'The pages that customers see.' },
        { name: 'Health', description: 'For operators.' },
      ],
      components: {
        securitySchemes: { WebApiKey: { type: 'apiKey', in: 'header', name: 'WebApiKey', description: 'Your key.' } },
      },
      security: [{ WebApiKey: [] }],
    },
    transformObject: (given) =>
      nameSchemas('openapiObject' in given ? given.openapiObject : given.swaggerObject, webhooks),
    transform: ({ schema, url, route }) => {
      const text = textAnswers[url]
      if (text) return { url, schema: { ...schema, response: text } }
      const scoped = {
        ...schema,
        ...scopeText(schema?.description, route.config?.scope),
        ...wholeNumbers(schema?.querystring),
      }
      if (route.method !== 'POST' || schema?.security?.length === 0) return { url, schema: scoped }
      return { url, schema: { ...scoped, headers: /Create/.test(url) ? createHeaders : postHeaders } }
    },
  })
  // The plugin's own policy names a third party and upgrades to https, which breaks the page without TLS.
  const policy = [
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; font-src 'self'",
    `connect-src 'self' ${new URL(publicUrl).origin}`,
    "base-uri 'none'; form-action 'none'; frame-ancestors 'none'",
  ].join('; ')
  await app.register(swaggerUi, {
    routePrefix: '/documentation',
    staticCSP: policy,
    theme: { title: 'transferd API' },
    uiConfig: { validatorUrl: null },
  })
  for (const { method, url, scope, schema } of routes) {
    if (method === 'HEAD' || !schema || !('operationId' in schema)) continue
    app.route({ method, url, schema, config: { ...(scope && { scope }) }, handler: nothing })
  }
  await app.ready()
  return app
}

function nothing(): never {
  throw new Error('only described here')
}

/** A query parameter is text whose schema checks the digits, but a generated client should accept a number. */
function wholeNumbers(querystring: unknown): { readonly querystring?: object } {
  const { properties } = (querystring ?? {}) as { readonly properties?: { readonly limit?: object } }
  if (!properties?.limit) return {}
  const limit = { type: 'integer', minimum: 1, maximum: maxLimit, default: defaultLimit }
  return { querystring: { type: 'object', properties: { ...properties, limit } } }
}

function scopeText(description: string | undefined, scope: Scope | undefined): { readonly description?: string } {
  if (scope === undefined) return description === undefined ? {} : { description }
  return { description: [description, `The WebApiKey needs the scope \`${scope}\`.`].filter(Boolean).join(' ') }
}

function page(description: string): object {
  return { description, content: { 'text/html': { schema: { type: 'string' } } } }
}

/** For the document only: as response schemas they would be serialised as JSON. */
const textAnswers: { readonly [url: string]: object } = {
  '/pay/:link': {
    200: page('The page.'),
    404: page('The link does not exist, as a page.'),
    410: page('The deposit has expired, as a page.'),
  },
  '/device/:link': {
    200: page('The question, or its confirmation.'),
    404: page('The link does not exist, as a page.'),
    410: page('The link has expired, as a page.'),
  },
  '/sandbox/outbox': {
    200: page('The messages.'),
    404: { description: 'Not in sandbox mode, not on this machine, or a wrong token.' },
  },
  '/receipts/:name': {
    200: { description: 'A PDF, a PNG or a JPEG.' },
    404: { description: 'The receipt does not exist.' },
  },
  '/pay/:link/logo': {
    200: { description: 'The image, as a file.' },
    404: { description: 'No such deposit, or its merchant has no logo.' },
  },
  '/pay/assets/:version/:file': { 200: { description: 'A script, a style sheet or an icon.' } },
  '/metrics': { 200: { description: 'Metrics.', content: { 'text/plain': { schema: { type: 'string' } } } } },
}

/** For the document only: a schema check of headers would cost every request, and the routes read them strictly. */
const postHeaders = {
  type: 'object',
  properties: {
    'X-Request-Id': {
      type: 'string',
      pattern: '^[A-Za-z0-9._-]{1,64}$',
      description: 'Returned in the response and as the correlationId in the history; generated if omitted.',
    },
  },
}

const createHeaders = {
  type: 'object',
  properties: {
    'X-Signature': {
      type: 'string',
      pattern: '^t=\\d{1,12},v1=[0-9a-fA-F]{64}$',
      description:
        'Optional unless your settings require it: `t=<unix seconds>,v1=<hex HMAC-SHA256 of "<t>.<raw body>", keyed with the SecretKey>`; at most five minutes old.',
    },
    ...postHeaders.properties,
  },
}

/**
 * Moves every schema with a title into the components of the document under that name, so that a generated client has one type for
 * each. Adds the webhooks. @throws Error if two different schemas have the same name
 */
export function nameSchemas<Document extends object>(document: Document, webhooks: object): Document {
  const schemas = new Map<string, object>()
  const visit = (node: unknown): unknown => {
    if (Array.isArray(node)) return node.map(visit)
    if (node === null || typeof node !== 'object') return node
    const visited = Object.fromEntries(Object.entries(node).map(([key, value]) => [key, visit(value)]))
    if (typeof visited.title !== 'string') return visited
    // A description of a use does not belong to the schema itself.
    const { title, description, examples: _, ...schema } = visited
    const before = schemas.get(title)
    if (before && JSON.stringify(before) !== JSON.stringify(schema)) throw new Error(`two schemas are called ${title}`)
    schemas.set(title, schema)
    return { $ref: `#/components/schemas/${title}`, ...(description !== undefined && { description }) }
  }
  const { paths, components }: { readonly paths?: unknown; readonly components?: object } = document
  const named = { paths: visit(paths), webhooks: visit(webhooks) }
  const sorted = Object.fromEntries([...schemas].sort(([a], [b]) => (a < b ? -1 : 1)))
  return { ...document, ...named, components: { ...components, schemas: sorted } }
}
