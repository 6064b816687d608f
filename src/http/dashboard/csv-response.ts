import { Readable } from 'node:stream'
import type { FastifyReply } from 'fastify'

/** Sends lines as they are produced, no faster than the reader reads. */
export function sendCsv(reply: FastifyReply, name: string, chunks: AsyncIterable<string>): FastifyReply {
  return reply
    .type('text/csv; charset=utf-8')
    .header('content-disposition', `attachment; filename="${name}.csv"`)
    .send(Readable.from(chunks, { objectMode: false, highWaterMark: 1 }))
}
