import { EventEmitter, once } from 'node:events'
import { skippedEventsStream, streamPrefix } from '../../domain/streams.js'
import { comparePositions, type Page, type Position, type RecordedEvent } from '../../event-store/event-store.js'
import { mayTriggerCallback } from '../callback-trigger.js'

/** An event without its data, most of its memory. */
export type EventOfTransfer = Pick<RecordedEvent, 'id' | 'type' | 'stream' | 'revision' | 'position' | 'metadata'>

/** A part of the log that was followed. */
export interface FollowedPart {
  /** The position up to which it was followed. */
  readonly through: Position
  /** Its last event of a transfer or decision to skip an event. */
  readonly last: Pick<RecordedEvent, 'stream' | 'revision' | 'id' | 'recordedAtMs'> | undefined
}

/** About 20 MB. The subscription records most events some milliseconds after they are followed. */
const maxUnrecorded = 20_000
/** A page is taken every 20 ms while the log is busy, so these cover more than the delay of the sweep. */
const maxParts = 1_000

/** The followed events that may trigger a callback and are not yet known to be recorded, and the decisions to skip an event. */
export class UnrecordedEvents {
  readonly #events = new Map<string, EventOfTransfer | RecordedEvent>()
  readonly #parts: FollowedPart[] = []
  readonly #taken = new EventEmitter()

  /** `from` is the position after which every event is taken. It moves when too many events are unrecorded: then they must be read again. */
  constructor(public from: Position | undefined) {}

  /** Takes the next page, which includes the streams of transfers and of decisions to skip events. */
  take({ events, checkpoint }: Page): void {
    // Following starts with the page that ends at `from`.
    if (!checkpoint || this.#precedes(checkpoint)) return
    let last: FollowedPart['last']
    for (const event of events) {
      if (event.stream === skippedEventsStream) this.#events.set(event.id, event)
      else if (!event.stream.startsWith(streamPrefix.transfer)) continue
      else if (mayTriggerCallback(event)) this.#events.set(event.id, withoutData(event))
      last = { stream: event.stream, revision: event.revision, id: event.id, recordedAtMs: event.recordedAtMs }
    }
    // The next part then also covers the previous one.
    const covered = this.#parts.length >= maxParts ? this.#parts.pop() : undefined
    this.#parts.push({ through: checkpoint, last: last ?? covered?.last })
    if (this.#events.size > maxUnrecorded) {
      this.#events.clear()
      this.#parts.length = 0
      this.from = checkpoint
    }
    this.#taken.emit('page')
  }

  /** Notes that an event no longer needs recording. */
  remove({ id }: Pick<RecordedEvent, 'id'>): void {
    this.#events.delete(id)
  }

  /** Returns the events up to a position, in the order of the log, or `undefined` if they must be read again. */
  upTo(position: Position): readonly (EventOfTransfer | RecordedEvent)[] | undefined {
    if (this.#precedes(position)) return undefined
    const found: (EventOfTransfer | RecordedEvent)[] = []
    for (const event of this.#events.values()) {
      if (comparePositions(event.position, position) > 0) break
      found.push(event)
    }
    return found
  }

  /** Returns the oldest part, and waits for it. Returns `undefined` if the signal aborts first, or if the part must be read. */
  async nextPart(signal: AbortSignal): Promise<FollowedPart | undefined> {
    // Rejects only if the signal aborts.
    if (this.#parts.length === 0) await once(this.#taken, 'page', { signal }).catch(() => undefined)
    return this.#parts[0]
  }

  /** Discards the parts up to a position. */
  removeParts(through: Position): void {
    const after = this.#parts.findIndex((part) => comparePositions(part.through, through) > 0)
    this.#parts.splice(0, after === -1 ? this.#parts.length : after)
  }

  /** Returns whether the events up to a position are not among those that were taken. */
  #precedes(position: Position): boolean {
    return this.from !== undefined && comparePositions(position, this.from) <= 0
  }
}

function withoutData({ id, type, stream, revision, position, metadata }: RecordedEvent): EventOfTransfer {
  return { id, type, stream, revision, position, metadata }
}
