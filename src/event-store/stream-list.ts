import { listedStreamsStream, streamPrefix } from '../domain/streams.js'
import { type EventStore, type ExpectedRevision, type Place, type Position, positionOfPlace } from './event-store.js'
import { readableEvent } from './read-event.js'

/** The prefixes of listed streams: there are few of them among many transfers, and a start reads all of them. */
export const listedPrefixes = [streamPrefix.merchant, streamPrefix.user, streamPrefix.privacy] as const

export interface StreamList {
  /** The names of all streams with an event up to the place. Some of the listed streams may start after it. */
  readonly streams: ReadonlySet<string>
  /** The last event that the list covers; `undefined` if it is empty, and the log must be read from its start. */
  readonly through: Place | undefined
  /** The position of that event. */
  readonly position: Position | undefined
  /** The revision of the list's own stream. */
  readonly revision: ExpectedRevision
}

/**
 * Reads the log's own list of streams. It holds only names: a start reads each merchant's stream, and the log after the place, and so
 * knows as much as a reader of the whole log.
 *
 * Each event of the list continues at the place where the previous one ended. One that does not is ignored (two processes wrote
 * simultaneously, or an event between them is unreadable), so the list has no gaps. @throws StoreUnavailableError
 */
export async function readStreamList(store: Pick<EventStore, 'readStream'>): Promise<StreamList> {
  const recorded = await store.readStream(listedStreamsStream)
  const revision = recorded.at(-1)?.revision ?? 'no_stream'
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
  const position = through && (await positionOfPlace(store, through))
  // The log was restored to an earlier state, which does not contain the event.
  if (!position) return { streams: new Set(), through: undefined, position: undefined, revision }
  return { streams, through, position, revision }
}
