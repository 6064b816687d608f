import type { EventContent } from '../file/event-body.js'

/** An event as a client of the protocol sees it. */
export interface StoredEvent extends EventContent {
  readonly stream: string
  /** The event's revision; `tombstoneRevision` for the event that ended the stream. */
  readonly revision: number
  readonly position: number
  readonly recordedAtMs: number
}
