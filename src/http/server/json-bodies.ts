import type { IncomingHttpHeaders } from 'node:http'
import fp from 'fastify-plugin'
import { RequestError } from '../refusals.js'
import { JsonBodyError, parseJsonBody } from './json-body.js'

declare module 'fastify' {
  interface FastifyRequest {
    /** The bytes as received; null without a body. */
    rawBody: Buffer | null
    /** See {@link parseJsonBody}. */
    amountText: string | undefined
  }
}

/** All are plain JSON. A schema for only one of them could be bypassed by sending the other. */
export const jsonTypes = ['application/json', 'application/json-patch+json']

/** Adds one parser for every accepted content type. */
export const jsonBodies = fp(
  async (app) => {
    app.decorateRequest('rawBody', null)
    app.decorateRequest('amountText', undefined)
    app.removeAllContentTypeParsers()
    app.addContentTypeParser(jsonTypes, { parseAs: 'buffer' }, (request, body, done) => {
      const encoding = encodingProblem(request.headers)
      if (encoding) return done(new RequestError('unsupported-media-type', { details: encoding }))
      const bytes = body as Buffer
      // A request without a body, regardless of its content type. The route's schema decides whether it is allowed.
      if (bytes.length === 0) return done(null, undefined)
      try {
        const { value, amountText } = parseJsonBody(bytes)
        request.rawBody = bytes
        request.amountText = amountText
        done(null, value)
      } catch (error) {
        done(error instanceof JsonBodyError ? malformed(error) : (error as Error))
      }
    })
  },
  { name: 'json-bodies' },
)

/** A body in a different encoding would be misread as UTF-8. */
function encodingProblem(headers: IncomingHttpHeaders): string | undefined {
  const charsets = (headers['content-type'] ?? '').matchAll(/;\s*charset\s*=\s*"?([^\s;"]*)/gi)
  if ([...charsets].some(([, charset]) => !/^utf-?8$/i.test(charset!))) return 'The charset must be UTF-8.'
  const encoding = headers['content-encoding'] ?? 'identity'
  return encoding.toLowerCase() === 'identity' ? undefined : 'Send the body without a Content-Encoding.'
}

function malformed({ field, violation }: JsonBodyError): RequestError {
  return new RequestError('malformed-body', { violation, fields: [{ field, ...violation }] })
}
