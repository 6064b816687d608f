import type { MessagePort } from 'node:worker_threads'
import type { ExpectedRevision } from '../event-log-types.js'
import type { Body } from '../file/event-body.js'

/**
 * The messages between the writer thread and the threads that append through it. They are flat arrays of strings and numbers: a
 * structured clone of them costs a fifth of one of nested objects.
 */

/**
 * A sequence of units. A unit is an operation, or the appends of one call: the number of appends; for each append the stream, the
 * expected revision ({@link encodeExpected}), the number of events and the number of reserved keys; for each event its body, the JSON text
 * of `[id, type, data, metadata]`; and with keys, their owner and each key.
 */
export type Batch = (string | number | Operation)[]

/** An operation with EventStoreDB's semantics: stream metadata, soft deletion and appends without an expected revision. */
export type Operation =
  | {
      readonly kind: 'append'
      readonly stream: string
      readonly expected: ExpectedRevision
      readonly bodies: readonly Body[]
    }
  | { readonly kind: 'delete' | 'tombstone'; readonly stream: string; readonly expected: ExpectedRevision }

/** The revision of a stream without events, which is also what `no_stream` expects. */
export const noRevision = -1
/** EventStoreDB's numbers for expectations other than a revision. */
const anyRevision = -2
const existingStream = -4

/** @throws TypeError */
export function encodeExpected(expected: ExpectedRevision): number {
  switch (expected) {
    case 'no_stream':
      return noRevision
    case 'any':
      return anyRevision
    case 'stream_exists':
      return existingStream
    default:
      if (!Number.isSafeInteger(expected) || expected < 0) throw new TypeError(`${expected} is not a revision`)
      return expected
  }
}

export function decodeExpected(number: number): ExpectedRevision {
  if (number === noRevision) return 'no_stream'
  if (number === anyRevision) return 'any'
  return number === existingStream ? 'stream_exists' : number
}

/**
 * The kind of a result. `deleted` means that the stream is tombstoned, or soft-deleted although it must exist. `reserved` means that a key
 * belongs to a different owner.
 */
export const resultKind = { appended: 0, rejected: 1, notTried: 2, deleted: 3, reserved: 4 } as const

/**
 * The result of an append or operation is three numbers: a {@link resultKind}, a revision and a position. For a rejected append, the
 * revision is the actual one. The position is 0 if the append was rejected, or if its events were stored earlier and are hidden now.
 */
export const resultLength = 3

export type FromWriter =
  /** Responds to the oldest unanswered batch of this port. `committed` is the last position of the log. */
  | { readonly kind: 'results'; readonly results: Float64Array; readonly committed: number }
  /** Reports that nothing of the oldest unanswered batch of this port was stored. */
  | { readonly kind: 'failed'; readonly reason: string }
  | { readonly kind: 'committed'; readonly committed: number }

export type ToWriter = { readonly kind: 'connect'; readonly port: MessagePort } | { readonly kind: 'close' }
