import { comparePositions, type EventStore, type Position, type RecordedEvent } from './event-store.js'

/** The location of an event, which survives a move of the log to another engine. */
export type Place = Pick<RecordedEvent, 'stream' | 'revision'>

/** Returns the position of the event at a place, or `undefined` if there is none. @throws StoreUnavailableError */
export async function positionOfPlace(
  store: Pick<EventStore, 'readStream'>,
  { stream, revision }: Place,
): Promise<Position | undefined> {
  const [event] = await store.readStream(stream, { fromRevision: revision, maxCount: 1 })
  return event?.revision === revision ? event.position : undefined
}

/**
 * The progress of a reader of some streams, as the place of an event: a position is valid in one engine only, and the reader itself sees
 * hardly any events. Each advance reads one event.
 */
export class ReadProgress {
  readonly #store: Pick<EventStore, 'readAll'>
  #previous: Position | undefined

  constructor(store: Pick<EventStore, 'readAll'>, from: Position | undefined) {
    this.#store = store
    this.#previous = from
  }

  /** Returns the first event after the previous position, or `undefined` if none is at or before this one. @throws StoreUnavailableError */
  async advanceTo(position: Position): Promise<Place | undefined> {
    const after = this.#previous && { after: this.#previous }
    const [event] = (await this.#store.readAll({ maxCount: 1, ...after })).events
    this.#previous = position
    if (!event || comparePositions(event.position, position) > 0) return undefined
    const { stream, revision } = event
    return { stream, revision }
  }
}
