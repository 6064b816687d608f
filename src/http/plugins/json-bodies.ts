import type { IncomingHttpHeaders } from 'node:http'
import type { App } from '../app.js'
import { failures, RequestError } from '../errors.js'
import { JsonBodyError, parseJsonBody } from './json-body.js'

declare module 'fastify' {
  interface FastifyRequest {
    /** As received; null without a body. */
    rawBody: Buffer | null
    /** See {@link parseJsonBody}. */
    amountText: string | undefined
  }
}

/** One parser for every content type taken: a schema that covers only one of them can be gone around by the other. */
export function registerJsonBodies(app: App): void {
  app.decorateRequest('rawBody', null)
  app.decorateRequest('amountText', undefined)
  app.removeAllContentTypeParsers()
  const types = ['application/json', 'application/json-patch+json']
  app.addContentTypeParser(types, { parseAs: 'buffer' }, (request, body, done) => {
    const encoding = encodingProblem(request.headers)
    if (encoding) return done(new RequestError(failures.unsupportedMediaType, { details: encoding }))
    const bytes = body as Buffer
    // Nothing is what a body-less request sends, whatever its content type; the route's schema says if that will do.
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
}

/** Read as UTF-8 all the same, a body in another encoding would say something else than its sender meant. */
function encodingProblem(headers: IncomingHttpHeaders): string | undefined {
  const charsets = (headers['content-type'] ?? '').matchAll(/;\s*charset\s*=\s*"?([^\s;"]*)/gi)
  if ([...charsets].some(([, charset]) => !/^utf-?8$/i.test(charset!))) return 'The charset must be UTF-8.'
  const encoding = headers['content-encoding'] ?? 'identity'
  return encoding.toLowerCase() === 'identity' ? undefined : 'Send the body without a Content-Encoding.'
}

function malformed({ message, member }: JsonBodyError): RequestError {
  return new RequestError(failures.malformedBody, {
    details: message,
    validationErrors: [{ message, members: [member] }],
  })
}
