import { comparePositions, type EventStore, type Position, type RecordedEvent } from './event-store.js'

/** An event, by what outlasts a move of the log to another engine. */
export type Place = Pick<RecordedEvent, 'stream' | 'revision'>

/** Undefined where there is no such event. @throws StoreUnavailableError */
export async function positionOfPlace(
  store: Pick<EventStore, 'readStream'>,
  { stream, revision }: Place,
): Promise<Position | undefined> {
  const [event] = await store.readStream(stream, { fromRevision: revision, maxCount: 1 })
  return event?.revision === revision ? event.position : undefined
}

/**
 * How far the log was looked at by a reader of some of its streams, as an event: a position is good in one engine only, and of what was
 * looked at the reader sees next to nothing. Each time it costs the reading of one event.
 */
export class ReadProgress {
  readonly #store: Pick<EventStore, 'readAll'>
  #before: Position | undefined

  constructor(store: Pick<EventStore, 'readAll'>, from: Position | undefined) {
    this.#store = store
    this.#before = from
  }

  /** The first event behind the position of the call before; undefined where none is up to this one. @throws StoreUnavailableError */
  async advanceTo(position: Position): Promise<Place | undefined> {
    const after = this.#before && { after: this.#before }
    const [event] = (await this.#store.readAll({ maxCount: 1, ...after })).events
    this.#before = position
    if (!event || comparePositions(event.position, position) > 0) return undefined
    const { stream, revision } = event
    return { stream, revision }
  }
}
