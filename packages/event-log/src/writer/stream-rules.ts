import type { ExpectedRevision } from '../event-log-types.js'

export interface StreamState {
  /** The revision of the last event, or -1 if the stream is empty. */
  readonly current: number
  readonly isTombstoned: boolean
  readonly isSoftDeleted: boolean
  /** Whether the stream has metadata, which alone makes a stream exist. */
  readonly hasMetadata: boolean
}

export interface StoredIds {
  /** Returns whether the stream has exactly these ids from this revision on. */
  matchFrom(revision: number, ids: readonly string[]): boolean
  /** Returns the revision of the first event with this id, if it is remembered. */
  firstRevisionOf(id: string): number | undefined
}

type Decision =
  | { readonly kind: 'write' }
  /** The same events were stored earlier. `revision` is that of the last one. */
  | { readonly kind: 'already_stored'; readonly revision: number }
  | { readonly kind: 'wrong_revision' }
  | { readonly kind: 'deleted' }

const write: Decision = { kind: 'write' }
const wrongRevision: Decision = { kind: 'wrong_revision' }
const deleted: Decision = { kind: 'deleted' }

/** Decides about an append. With an exact revision, the position of the events detects a repetition; otherwise their ids do. */
export function decideAppend(
  expected: ExpectedRevision,
  ids: readonly string[],
  state: StreamState,
  stored: StoredIds,
): Decision {
  if (state.isTombstoned) return deleted
  if (expected === 'stream_exists') {
    if (state.isSoftDeleted) return deleted
    if (state.current < 0 && !state.hasMetadata) return wrongRevision
  }
  if (expected === 'any' || expected === 'stream_exists') return decideByIds(ids, stored)
  const [first] = ids
  const isNew = first !== undefined && expected === 'no_stream' && state.isSoftDeleted && !stored.matchFrom(0, [first])
  return isNew ? write : decideExactAppend(expected === 'no_stream' ? -1 : expected, ids, state.current, stored)
}

/**
 * Decides about an append at an exact revision. At the current revision it is written regardless of its ids. At a lower one it counts
 * as stored if the stream has exactly these ids, in this order, directly after the expected revision. Otherwise it is rejected.
 */
export function decideExactAppend(
  expected: number,
  ids: readonly string[],
  current: number,
  stored: StoredIds,
): Decision {
  if (expected === current) return write
  const last = expected + ids.length
  if (expected > current || ids.length === 0 || last > current) return wrongRevision
  return stored.matchFrom(expected + 1, ids) ? { kind: 'already_stored', revision: last } : wrongRevision
}

function decideByIds(ids: readonly string[], stored: StoredIds): Decision {
  const [first] = ids
  if (first === undefined || stored.firstRevisionOf(first) === undefined) return write
  let revision = 0
  for (const id of ids) {
    const found = stored.firstRevisionOf(id)
    if (found === undefined) return wrongRevision
    revision = found
  }
  return { kind: 'already_stored', revision }
}

/** Decides about a soft deletion, or about a tombstone, which a stream that never existed can have as well. */
export function decideRemoval(kind: 'delete' | 'tombstone', expected: ExpectedRevision, state: StreamState): Decision {
  const { current, isSoftDeleted, isTombstoned, hasMetadata } = state
  if (isTombstoned) return deleted
  const exists = current >= 0 || hasMetadata
  if (kind === 'delete' && !exists) return wrongRevision
  switch (expected) {
    case 'any':
      return write
    case 'no_stream':
      return current < 0 || isSoftDeleted ? write : wrongRevision
    case 'stream_exists':
      if (isSoftDeleted) return deleted
      return exists ? write : wrongRevision
    default:
      return expected === current ? write : wrongRevision
  }
}
