import type { EventStore, Position, RecordedEvent } from '../../event-store.js'

/** What groups need of the engine beneath them. */
export interface GroupLog extends Pick<EventStore, 'append' | 'readStream' | 'readAll'> {
  /** Of the last recorded event, whichever stream it is in; undefined while there is none. */
  endPosition(): Position | undefined
  /** The last event of a stream. */
  readLast(stream: string): RecordedEvent | undefined
  /** Calls `listener` after commits, also of other processes. @returns how to stop. */
  onCommit(listener: () => void): () => void
}
