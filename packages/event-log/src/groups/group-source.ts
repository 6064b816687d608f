import type { StoredEvent } from '../reader/event-rows.js'

/** An event, and what a group's rules go by. */
export interface Item<E> {
  readonly event: E
  /** What an ack names. */
  readonly id: string
  /** Position in the log, or revision in the group's stream: ascending. */
  readonly place: number
  /** What belongs together: a Pinned group gives one lane to one consumer. */
  readonly lane: string
  /** Bytes it takes in memory, about. */
  readonly size: number
  /** How many events of its page before it did not match, and up to where; none when absent. */
  readonly unmatchedBefore?: { readonly count: number; readonly through: number }
}

export interface SourcePage<E> {
  readonly items: readonly Item<E>[]
  /** Everything up to this place has been looked at, matching or not. */
  readonly through: number
  /** Of what was looked at, how many events count towards a checkpoint though they do not match. */
  readonly unmatched: number
  readonly atEnd: boolean
}

/** Where a group's events come from. */
export interface GroupSource<E> {
  /** It had ended when the group was loaded, and will never have an event. */
  readonly isOver: boolean
  read(after: number, maxCount: number): Promise<SourcePage<E>>
  /** Calls `wake` whenever there may be more, until the signal aborts. @throws StoreUnavailableError */
  listen(wake: () => void, signal: AbortSignal): Promise<void>
  /** How many of the events behind `after`, up to `through`, did not match, where `read` does not tell; and how far it looked. */
  countUnmatched?(after: number, through: number, maxCount: number): Promise<{ count: number; seen: number }>
  /** How a parked event is written down: `<revision>@<stream>`, and its number in the group's stream. */
  parkedAs(event: E): { readonly link: string; readonly number: number }
  /** The event that a parked one stands for, to be delivered again; undefined when there is none. */
  original(parked: StoredEvent, link: string): Promise<E | undefined>
  laneOf(event: E): string
}
