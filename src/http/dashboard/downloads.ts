import { Readable } from 'node:stream'
import type { Static } from '@sinclair/typebox'
import type { FastifyReply, FastifyRequest } from 'fastify'
import type { People } from '../../kernel/csv.js'
import { knownZone } from '../query-parameters.js'
import { RequestError } from '../refusals.js'
import { endDeadline } from '../server/request-deadline.js'
import type { FileForPeople } from './api.js'

/** The time after which a reader that does not read is disconnected. */
const stalledAfterMs = 60_000

export const csvType = 'text/csv; charset=utf-8'
const types = { csv: csvType, ndjson: 'application/x-ndjson' }

/** Returns the language and the zone of the page that requests a file. @throws RequestError for an unknown zone */
export function peopleOf({ language = 'en', timeZone = 'UTC' }: Static<typeof FileForPeople>): People {
  return { language, timeZone: knownZone(timeZone) }
}

/** The options of a route whose response can be long: a HEAD request would produce it in vain. */
export const withoutHead = { exposeHeadRoute: false } as const

/** Returns a signal that aborts when the response has been sent or its reader has left. Until then, a long read may take its time. */
export function closeOf({ raw, request }: FastifyReply): AbortSignal {
  endDeadline(request)
  const closing = new AbortController()
  raw.once('close', () => closing.abort())
  // A reader that left during the session check triggers no further close event.
  if (raw.closed) closing.abort()
  return closing.signal
}

/** Sends the pages of a file as they are produced, no faster than the reader reads, and while its session lasts. */
export function sendPages(
  reply: FastifyReply,
  name: string,
  format: keyof typeof types,
  pages: AsyncIterable<Uint8Array>,
): FastifyReply {
  const content = Readable.from(watched(reply, pages), { objectMode: false, highWaterMark: 1 })
  return sendFile(reply, `${name}.${format}`, types[format], content)
}

/** Throws when the session has ended, which breaks the transfer: a file that only ended early would look complete. */
async function* watched({ request, raw }: FastifyReply, pages: AsyncIterable<Uint8Array>): AsyncGenerator<Uint8Array> {
  for await (const page of pages) {
    await checkSession(request)
    const stalled = setTimeout(() => raw.destroy(), stalledAfterMs)
    try {
      if (page.length > 0) yield page
    } finally {
      clearTimeout(stalled)
    }
  }
}

/** @throws RequestError if the session of the user has ended since the request started */
export async function checkSession({ viewer, server }: FastifyRequest): Promise<void> {
  // Unavailable read models end no session. The next check decides.
  const isActive = await server.viewers.sessions.isActive(viewer.sessionId).catch(() => true)
  if (!isActive) throw new RequestError('not-signed-in')
}

/** Sends a file for the browser to save. Only `filename*` (RFC 6266) can contain letters outside ASCII. */
export function sendFile(
  reply: FastifyReply,
  name: string,
  type: string,
  content: string | Buffer | Readable,
): FastifyReply {
  const ascii = name.replaceAll(/[^\x20-\x7e]/g, '-')
  const exact = ascii === name ? '' : `; filename*=UTF-8''${encodeURIComponent(name)}`
  return reply.type(type).header('content-disposition', `attachment; filename="${ascii}"${exact}`).send(content)
}
