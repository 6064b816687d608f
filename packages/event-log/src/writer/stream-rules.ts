/** What a client of the protocol may expect of a stream. A number is the revision of its last event. */
export type Expected = 'any' | 'no_stream' | 'stream_exists' | number

export interface StreamState {
  /** Revision of the last event, -1 when there is none. */
  readonly current: number
  readonly isTombstoned: boolean
  readonly isSoftDeleted: boolean
  /** Metadata alone makes a stream exist. */
  readonly hasMetadata: boolean
}

/** How ids are looked up in a stream. */
export interface StoredIds {
  /** Whether the log holds exactly these ids from this revision on. */
  holdsFrom(revision: number, ids: readonly string[]): boolean
  /** Revision of the first event with this id, if it is remembered. */
  firstWith(id: string): number | undefined
}

export type Verdict =
  | { readonly kind: 'write' }
  /** `revision` is that of the last event of the list as it was stored. */
  | { readonly kind: 'done'; readonly revision: number }
  | { readonly kind: 'wrong_revision' }
  | { readonly kind: 'deleted' }

const write: Verdict = { kind: 'write' }
const wrong: Verdict = { kind: 'wrong_revision' }
const deleted: Verdict = { kind: 'deleted' }

/** With an exact revision the place of the events decides what was done already, otherwise their ids do. */
export function judgeStreamAppend(
  expected: Expected,
  ids: readonly string[],
  state: StreamState,
  stored: StoredIds,
): Verdict {
  if (state.isTombstoned) return deleted
  if (expected === 'stream_exists') {
    if (state.isSoftDeleted) return deleted
    if (state.current < 0 && !state.hasMetadata) return wrong
  }
  if (expected === 'any' || expected === 'stream_exists') return judgeByMemory(ids, stored)
  const [first] = ids
  const isNew = first !== undefined && expected === 'no_stream' && state.isSoftDeleted && !stored.holdsFrom(0, [first])
  return isNew ? write : judgeExact(expected === 'no_stream' ? -1 : expected, ids, state.current, stored)
}

/**
 * At the expected revision a list is written whatever its ids; below it, it is done already if the log holds exactly these ids,
 * in their order, right behind the expected revision; anything else is refused.
 */
export function judgeExact(expected: number, ids: readonly string[], current: number, stored: StoredIds): Verdict {
  if (expected === current) return write
  const last = expected + ids.length
  if (expected > current || ids.length === 0 || last > current) return wrong
  return stored.holdsFrom(expected + 1, ids) ? { kind: 'done', revision: last } : wrong
}

function judgeByMemory(ids: readonly string[], stored: StoredIds): Verdict {
  const [first] = ids
  if (first === undefined || stored.firstWith(first) === undefined) return write
  let revision = 0
  for (const id of ids) {
    const at = stored.firstWith(id)
    if (at === undefined) return wrong
    revision = at
  }
  return { kind: 'done', revision }
}

export function judgeDelete(expected: Expected, state: StreamState): Verdict {
  if (state.isTombstoned) return deleted
  if (state.current < 0 && !state.hasMetadata) return wrong
  return judgeRemoval(expected, state)
}

/** A stream that never existed can be tombstoned. */
export function judgeTombstone(expected: Expected, state: StreamState): Verdict {
  if (state.isTombstoned) return deleted
  return judgeRemoval(expected, state)
}

function judgeRemoval(expected: Expected, { current, isSoftDeleted, hasMetadata }: StreamState): Verdict {
  switch (expected) {
    case 'any':
      return write
    case 'no_stream':
      return current < 0 || isSoftDeleted ? write : wrong
    case 'stream_exists':
      if (isSoftDeleted) return deleted
      return current >= 0 || hasMetadata ? write : wrong
    default:
      return expected === current ? write : wrong
  }
}
