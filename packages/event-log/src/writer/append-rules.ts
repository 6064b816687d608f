/** The revision of a stream without events, and what `no_stream` expects. */
export const noRevision = -1

export type Verdict = 'append' | 'already_done' | 'refuse'

/**
 * What an append is to do on a stream whose last event has the revision `current`.
 * At the expected revision it is appended whatever its ids; below it, it is done already if the log holds exactly
 * the ids of its events, in their order, right behind the expected revision; anything else is refused.
 * @param holdsIdsFrom whether the log holds those ids from this revision on
 */
export function judgeAppend(
  expected: number,
  current: number,
  count: number,
  holdsIdsFrom: (revision: number) => boolean,
): Verdict {
  if (expected > current) return 'refuse'
  if (expected === current) return 'append'
  if (count === 0 || expected + count > current) return 'refuse'
  return holdsIdsFrom(expected + 1) ? 'already_done' : 'refuse'
}
