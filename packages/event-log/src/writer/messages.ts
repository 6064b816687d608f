import type { MessagePort } from 'node:worker_threads'

/**
 * What travels between the threads of a process that append and its log writer. Flat arrays of strings and numbers:
 * a structured clone of them costs a fifth of one of nested objects.
 */

/**
 * Units, one after the other. A unit is what one call appends in order:
 * the number of its appends; of each append the stream, the expected revision (-1: none), the number of its events;
 * of each event its body, the JSON text of `[id, type, data, metadata]`.
 */
export type Batch = (string | number)[]

/** Where the id stands in a body: an id is a UUID, so nothing of it is escaped. */
export const idInBody = { from: 2, length: 36 } as const

export const answered = { appended: 0, refused: 1, notTried: 2 } as const

/** Numbers in an answer for one append: one of {@link answered}, then revision and position (refused: the actual revision, 0). */
export const answerLength = 3

export type FromWriter =
  /** Answers the oldest unanswered batch of this port. The log is committed up to `committed`. */
  | { readonly kind: 'answers'; readonly answers: Float64Array; readonly committed: number }
  /** Nothing of the oldest unanswered batch of this port was stored. */
  | { readonly kind: 'failed'; readonly reason: string }
  | { readonly kind: 'committed'; readonly committed: number }

export type ToWriter = { readonly kind: 'connect'; readonly port: MessagePort } | { readonly kind: 'close' }
