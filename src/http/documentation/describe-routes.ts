import swagger from '@fastify/swagger'
import { type FastifyInstance, fastify } from 'fastify'
import type { Scope } from '../../domain/merchant/api-key.js'
import { tooManyRequests, unknownTransfer } from '../envelope.js'
import { defaultLimit, maxLimit } from '../query-parameters.js'
import { setSchemaCompilers } from '../server/validation.js'
import type { HttpServices } from '../services.js'
import { webhooks } from '../v1/callback-schemas.js'
import { asOpenApi30, completeDocument } from './openapi-document.js'

const description = `Create deposits and withdrawals, follow them, and read the callbacks sent about them.

Every failure has the same envelope with a stable \`error.code\`. A create that is repeated with the same body gets the first response again.`

const serviceDescription = 'The pages that customers see, receipts, and the health of the service.'

const merchantTags = [
  { name: 'Merchant API', description: 'Create transfers, and perform the steps of a native wallet deposit.' },
  { name: 'Queries', description: 'Transfers, their history and their callbacks.' },
  { name: 'Settlement', description: 'Pay withdrawals with your own program.' },
  { name: 'Callbacks', description: 'The callbacks that you receive.' },
]
const serviceTags = [
  { name: 'Payment page', description: 'The pages that customers see.' },
  { name: 'Files', description: 'Receipts, to which callbacks may lead.' },
  { name: 'Health', description: 'For operators.' },
]

/** The documents of one part of the API. */
interface Documents {
  /** OpenAPI 3.1. */
  readonly json: object
  readonly yaml: string
  /** OpenAPI 3.0, for generators that do not read 3.1. */
  readonly json30: object
}

/**
 * Builds the documents from the routes' schemas: those of the operations which a merchant's program calls, or those of all other routes.
 * The routes have no handlers here.
 */
export async function describeRoutes(
  routes: FastifyInstance['knownRoutes'],
  { publicUrl, installationName }: Pick<HttpServices, 'publicUrl' | 'installationName'>,
  isService: boolean,
): Promise<Documents> {
  const tags = isService ? serviceTags : merchantTags
  const app = fastify({ exposeHeadRoutes: false })
  setSchemaCompilers(app)
  await app.register(swagger, {
    openapi: {
      openapi: '3.1.0',
      info: {
        title: `${isService ? 'transferd: pages and health' : 'transferd'} · ${installationName}`,
        version: '1',
        description: isService ? serviceDescription : description,
        contact: { name: 'transferd', url: 'https://github.com/transferd/transferd' },
        // OpenAPI 3.0 has no `identifier`, and 3.1 allows only one of both.
        license: { name: 'Apache-2.0', url: 'https://www.apache.org/licenses/LICENSE-2.0' },
      },
      servers: [{ url: publicUrl }],
      tags,
      ...(!isService && {
        components: {
          securitySchemes: {
            WebApiKey: {
              type: 'apiKey',
              in: 'header',
              name: 'WebApiKey',
              description:
                'Your key. Without it, you can only create a hosted deposit: the allow-list and the SecretKey of the hashCode identify you.',
            },
          },
        },
        security: [{ WebApiKey: [] }],
      }),
    },
    transformObject: (given) =>
      completeDocument('openapiObject' in given ? given.openapiObject : given.swaggerObject, isService ? {} : webhooks),
    transform: ({ schema, url, route }) => {
      const text = textAnswers[url]
      if (text) return { url, schema: { ...schema, response: text } }
      const scoped = {
        ...schema,
        ...scopeText(schema?.description, route.config?.scope),
        ...wholeNumbers(schema?.querystring),
      }
      if (route.method !== 'POST' || schema?.security?.length === 0) return { url, schema: scoped }
      return {
        url,
        schema: {
          ...scoped,
          headers: url.startsWith('/v1/') ? headersOf('<t>.POST <path>.<raw body>') : headersOf('<t>.<raw body>'),
        },
      }
    },
  })
  for (const { method, url, scope, schema } of routes) {
    if (method === 'HEAD' || !schema || !('operationId' in schema)) continue
    if (!tags.some(({ name }) => (schema as { tags?: string[] }).tags?.includes(name))) continue
    app.route({ method, url, schema, config: { ...(scope && { scope }) }, handler: nothing })
  }
  await app.ready()
  const json = app.swagger()
  return { json, yaml: app.swagger({ yaml: true }), json30: asOpenApi30({ ...json }) }
}

function nothing(): never {
  throw new Error('only described here')
}

/** A query parameter is text whose schema checks the digits, but a generated client should accept a number. */
function wholeNumbers(querystring: unknown): { readonly querystring?: object } {
  const { properties } = (querystring ?? {}) as {
    readonly properties?: { readonly limit?: { readonly description: string } }
  }
  if (!properties?.limit) return {}
  const { description } = properties.limit
  const limit = { type: 'integer', minimum: 1, maximum: maxLimit, default: defaultLimit, description }
  return { querystring: { type: 'object', properties: { ...properties, limit } } }
}

function scopeText(description: string | undefined, scope: Scope | undefined): { readonly description?: string } {
  if (scope === undefined) return description === undefined ? {} : { description }
  return { description: [description, `The WebApiKey needs the scope \`${scope}\`.`].filter(Boolean).join(' ') }
}

function page(description: string): object {
  return { description, content: { 'text/html': { schema: { type: 'string' } } } }
}

function file(description: string, ...types: string[]): object {
  const schema = { type: 'string', format: 'binary' }
  return { description, content: Object.fromEntries(types.map((type) => [type, { schema }])) }
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
    200: file('A PDF, a PNG or a JPEG.', 'application/pdf', 'image/png', 'image/jpeg'),
    404: { ...unknownTransfer[404], description: 'The receipt does not exist.' },
    ...tooManyRequests,
  },
  '/pay/:link/logo': {
    200: file('The image.', 'image/png', 'image/jpeg', 'image/webp'),
    404: { ...unknownTransfer[404], description: 'No such deposit, or its merchant has no logo.' },
    ...tooManyRequests,
  },
  '/pay/assets/:version/:file': {
    200: file('A script, a style sheet or an icon.', 'text/javascript', 'text/css', 'image/svg+xml'),
    404: { ...unknownTransfer[404], description: 'The file does not exist.' },
    ...tooManyRequests,
  },
  '/metrics': {
    200: { description: 'Metrics.', content: { 'text/plain': { schema: { type: 'string' } } } },
    ...tooManyRequests,
  },
}

/** For the document only: a schema check of headers would cost every request, and the routes read them strictly. */
const headersOf = (signedText: string) => ({
  type: 'object',
  properties: {
    'X-Signature': {
      type: 'string',
      pattern: '^t=\\d{1,12},v1=[0-9a-fA-F]{64}$',
      description: `Optional unless your settings require it: \`t=<unix seconds>,v1=<hex HMAC-SHA256 of "${signedText}", keyed with the SecretKey>\`; at most five minutes old.`,
    },
    'X-Request-Id': {
      type: 'string',
      pattern: '^[A-Za-z0-9._-]{1,64}$',
      description: 'Returned in the response and as the correlationId in the history; generated if omitted.',
    },
  },
})
