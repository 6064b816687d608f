import type { MessagePort } from 'node:worker_threads'
import type { Body } from '../file/event-body.js'
import type { Expected } from './stream-rules.js'

/**
 * What travels between the threads of a process that append and its log writer. Flat arrays of strings and numbers:
 * a structured clone of them costs a fifth of one of nested objects.
 */

/**
 * Units, one after the other. A unit is an operation, or what one call appends in order:
 * the number of its appends; of each append the stream, the expected revision (-1: none), the number of its events;
 * of each event its body, the JSON text of `[id, type, data, metadata]`.
 */
export type Batch = (string | number | Operation)[]

/** Executed by the rules of EventStoreDB's streams: with metadata, soft deletion and appends that name no revision. */
export type Operation =
  | { readonly kind: 'append'; readonly stream: string; readonly expected: Expected; readonly bodies: readonly Body[] }
  | { readonly kind: 'delete' | 'tombstone'; readonly stream: string; readonly expected: Expected }

/** The revision of a stream without events, and what `no_stream` expects. */
export const noRevision = -1

/** `deleted`: the stream was ended for ever, or is soft-deleted where it must exist; only operations are answered so. */
export const answered = { appended: 0, refused: 1, notTried: 2, deleted: 3 } as const

/**
 * Numbers in an answer for one append or operation: one of {@link answered}, then revision and position; refused: the actual
 * revision, 0. The position is 0 where the events were appended before and can no longer be read.
 */
export const answerLength = 3

export type FromWriter =
  /** Answers the oldest unanswered batch of this port. The log is committed up to `committed`. */
  | { readonly kind: 'answers'; readonly answers: Float64Array; readonly committed: number }
  /** Nothing of the oldest unanswered batch of this port was stored. */
  | { readonly kind: 'failed'; readonly reason: string }
  | { readonly kind: 'committed'; readonly committed: number }

export type ToWriter = { readonly kind: 'connect'; readonly port: MessagePort } | { readonly kind: 'close' }
