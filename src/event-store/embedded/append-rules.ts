/** The revision of a stream without events, and what `no_stream` expects. */
export const noRevision = -1

export type Verdict = 'append' | 'already_done' | 'refuse'

/**
 * What an append is to do on a stream whose last event has the revision `current`.
 * At the expected revision it is appended whatever its ids; below it, it is done already if the log holds exactly
 * its ids, in their order, right behind the expected revision; anything else is refused.
 * @param storedIds the ids of `count` events from a revision on
 */
export function judgeAppend(
  expected: number,
  current: number,
  ids: readonly string[],
  storedIds: (fromRevision: number, count: number) => readonly string[],
): Verdict {
  if (expected > current) return 'refuse'
  if (expected === current) return 'append'
  if (ids.length === 0 || expected + ids.length > current) return 'refuse'
  const stored = storedIds(expected + 1, ids.length)
  return ids.every((id, i) => id === stored[i]) ? 'already_done' : 'refuse'
}
