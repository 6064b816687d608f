import { listedStreamsStream, streamPrefix } from '../domain/streams.js'
import { type Place, positionOfPlace } from './event-location.js'
import type { EventStore, ExpectedRevision, Position } from './event-store.js'
import { readableEvent } from './read-event.js'

/** Few, among any number of transfers, and a start has to know all of them. */
export const listedPrefixes = [streamPrefix.merchant, streamPrefix.user, streamPrefix.privacy] as const

export interface StreamList {
  /** The names of all listed streams that have an event up to the place; one of them may have begun after it. */
  readonly streams: ReadonlySet<string>
  /** Undefined where nothing is listed: then the log is read from its start. */
  readonly through: Place | undefined
  /** Of that place. */
  readonly position: Position | undefined
  /** Of the list's own stream. */
  readonly revision: ExpectedRevision
}

/**
 * What the log's own list of streams says. It names them and nothing else: what happened to a merchant is read from the merchant's stream
 * and from what came after the place, so whoever starts with it knows what one knows who has read the whole log.
 *
 * Each event of the list goes on from the place that the one before it came to. One that does not (two processes wrote at once, or one
 * between them cannot be read) counts for nothing, so what is listed has no gaps. @throws StoreUnavailableError
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
  // Its event is gone from a log that was cut elsewhere.
  if (!position) return { streams: new Set(), through: undefined, position: undefined, revision }
  return { streams, through, position, revision }
}
