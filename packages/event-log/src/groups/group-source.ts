import type { StoredEvent } from '../reader/stored-event.js'

/** An event with the properties that a group's rules use. */
export interface Item<E> {
  readonly event: E
  /** The id that an ack names. */
  readonly id: string
  /** The position in the log, or the revision in the group's stream. Positions ascend. */
  readonly position: number
  /** The lane of related events. A Pinned group delivers each lane to a single consumer. */
  readonly lane: string
  /** The approximate size in memory, in bytes. */
  readonly size: number
  /** The number of events of the page before this one that did not match, and the last of their positions. Defaults to none. */
  readonly unmatchedBefore?: { readonly count: number; readonly through: number }
}

export interface SourcePage<E> {
  readonly items: readonly Item<E>[]
  /** The position up to which the source was scanned, matching or not. */
  readonly through: number
  /** The number of scanned events that do not match but count towards a checkpoint. */
  readonly unmatched: number
  readonly atEnd: boolean
}

/** Parses the link to an event, `<revision>@<stream>`. */
export function parseLink(link: string): { readonly revision: number; readonly stream: string } {
  const separator = link.indexOf('@')
  return { revision: Number(link.slice(0, separator)), stream: link.slice(separator + 1) }
}

/** The source of a group's events. */
export interface GroupSource<E> {
  /** Whether the source had ended when the group was loaded, so that it never has another event. */
  readonly hasEnded: boolean
  read(after: number, maxCount: number): Promise<SourcePage<E>>
  /** Calls `wake` whenever there may be new events, until the signal aborts. @throws StoreUnavailableError */
  listen(wake: () => void, signal: AbortSignal): Promise<void>
  /** Counts the events between `after` and `through` that did not match and that `read` does not report, and returns its progress. */
  countUnmatched?(after: number, through: number, maxCount: number): Promise<{ count: number; seen: number }>
  /** Returns the link to a parked event (`<revision>@<stream>`) and the event's number in the group's stream. */
  parkedAs(event: E): { readonly link: string; readonly number: number }
  /** Returns the original of a parked event for redelivery, or `undefined` if none exists. */
  original(parked: StoredEvent, link: string): Promise<E | undefined>
  laneOf(event: E): string
}
