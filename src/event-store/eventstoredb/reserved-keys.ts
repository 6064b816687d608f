import { hash, randomUUID } from 'node:crypto'
import { reservedKeyStream } from '../../domain/streams.js'
import { KeyReservedError, type LogAppend, WrongExpectedRevisionError } from '../event-store.js'
import type { Appender } from './appender.js'
import type { Connection } from './eventstoredb-connection.js'
import { readStream } from './eventstoredb-reads.js'

/** Returns the stream whose first event names the owner of a key. */
const streamOf = (key: string) => reservedKeyStream(hash('sha256', key, 'base64url').slice(0, digestLength))
/** 132 bits. */
const digestLength = 22

/**
 * Reserves the keys of an append before it, because the server has no transactions across streams. If the append is lost, its keys remain reserved for its owner, who appends again. Only a conflict
 * reads a stream. @throws KeyReservedError, StoreUnavailableError
 */
export async function reserveKeys(
  { stream, reserves = [], reservedFor: owner = stream }: LogAppend,
  connection: Connection,
  appender: Appender,
): Promise<void> {
  const reserve = async (key: string) => {
    const event = { id: randomUUID(), type: 'KeyReserved', data: { key, owner }, metadata: {} }
    try {
      await appender.append({ stream: streamOf(key), expectedRevision: 'no_stream', events: [event] })
    } catch (error) {
      if (!(error instanceof WrongExpectedRevisionError)) throw error
      const [first] = await readStream(connection, streamOf(key), { maxCount: 1 })
      if (first?.data.owner !== owner) throw new KeyReservedError(stream)
    }
  }
  await Promise.all(reserves.map(reserve))
}
