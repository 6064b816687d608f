import { listedStreamsStream, streamPrefix } from '../domain/streams.js'
import { type EventStore, eventAt, type Place, type StreamRevision } from './event-store.js'
import { readableEvent } from './read-event.js'

/** The prefixes of listed streams: there are few of them among many transfers, and a start reads all of them. */
export const listedPrefixes = [streamPrefix.merchant, streamPrefix.user, streamPrefix.privacy] as const

export type StreamList = Awaited<ReturnType<typeof readStreamList>>

/**
 * Reads the log's own list of streams. It is in the log, with the place up to which it is complete, because the states that decisions need
 * must not depend on read models. It holds only names: a start reads each merchant's stream, and the log after the place, and so
 * knows as much as a reader of the whole log.
 *
 * Each event of the list continues at the place where the previous one ended. One that does not is ignored (two processes wrote
 * simultaneously, or an event between them is unreadable), so the list has no gaps.
 *
 * Returns the names of all streams with an event up to the place `through`, and perhaps of some that start after it; that place and its
 * position, which are `undefined` if the list is empty and the log must be read from its start; and the revision of the list's own stream.
 * @throws StoreUnavailableError
 */
export async function readStreamList(store: Pick<EventStore, 'readStream'>) {
  const recorded = await store.readStream(listedStreamsStream)
  const revision: StreamRevision = recorded.at(-1)?.revision ?? 'no_stream'
  let streams = new Set<string>()
  let through: Place | undefined
  for (const each of recorded) {
    const event = readableEvent(each)
    if (event?.type !== 'StreamsListed') continue
    const { after, streams: more } = event.data
    if (after === null) streams = new Set()
    else if (after.stream !== through?.stream || after.revision !== through.revision) continue
    for (const stream of more) streams.add(stream)
    through = event.data.through
  }
  const position = through && (await eventAt(store, through))?.position
  // The log was restored to an earlier state, which does not contain the event.
  if (!position) return { streams: new Set<string>(), through: undefined, position: undefined, revision }
  return { streams, through, position, revision }
}
