import { Readable } from 'node:stream'
import type { FastifyReply } from 'fastify'
import { KeyedLimit } from '../../kernel/keyed-limit.js'
import { violate } from '../../kernel/rules.js'
import { RequestError } from '../refusals.js'

/** Limits the concurrent operations per user in this process. A further operation is rejected with RequestError. */
export function limitPerUser(most: number): KeyedLimit {
  return new KeyedLimit({ concurrency: most, maxWaiting: 0 }, () => {
    const violation = violate('too-many-open', { most })
    return new RequestError('too-many-requests', { violation, retryAfterSeconds: 5 })
  })
}

/** Occupies a place of the user until the response has been sent, or its reader has left. @throws RequestError */
export function holdWhileSent(limit: KeyedLimit, reply: FastifyReply): void {
  const end = limit.hold(reply.request.viewer.userId)
  reply.raw.once('close', end)
  // A reader that left during the session check triggers no further close event.
  if (reply.raw.closed) end()
}

const types = { csv: 'text/csv; charset=utf-8', ndjson: 'application/x-ndjson' }

/** Sends lines as they are produced, no faster than the reader reads. */
export function sendLines(reply: FastifyReply, name: string, format: keyof typeof types, lines: AsyncIterable<string>) {
  return sendFile(
    reply,
    `${name}.${format}`,
    types[format],
    Readable.from(lines, { objectMode: false, highWaterMark: 1 }),
  )
}

/** Sends a file for the browser to save. */
export function sendFile(reply: FastifyReply, name: string, type: string, content: string | Readable): FastifyReply {
  return reply.type(type).header('content-disposition', `attachment; filename="${name}"`).send(content)
}
