import type { MessagePort } from 'node:worker_threads'
import type { Body } from '../file/event-body.js'
import type { Expected } from './stream-rules.js'

/** What travels between the protocol's thread and its log writer. */

export type Operation =
  | {
      readonly kind: 'append'
      readonly stream: string
      readonly expected: Expected
      readonly ids: readonly string[]
      readonly bodies: readonly Body[]
    }
  | { readonly kind: 'delete'; readonly stream: string; readonly expected: Expected }
  | { readonly kind: 'tombstone'; readonly stream: string; readonly expected: Expected }

export type Outcome =
  /** `position` is absent where the event can no longer be read. */
  | { readonly kind: 'ok'; readonly revision: number; readonly position?: number }
  /** `actual` is -1 when the stream has no event. */
  | { readonly kind: 'wrong_revision'; readonly actual: number }
  | { readonly kind: 'deleted' }

export interface WriterStart {
  readonly directory: string
  readonly port: MessagePort
}

export type ToStreamWriter =
  | { readonly kind: 'operations'; readonly operations: readonly Operation[] }
  | { readonly kind: 'close' }

export type FromStreamWriter =
  /** Answers the oldest unanswered message. */
  | { readonly kind: 'outcomes'; readonly outcomes: readonly Outcome[]; readonly committed: number }
  /** Nothing of the oldest unanswered message was stored. */
  | { readonly kind: 'failed'; readonly reason: string }
