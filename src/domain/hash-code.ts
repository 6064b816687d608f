import { formatShortest, parseAmount } from './money.js'

/**
 * A hashCode has no delimiter between amount and referenceId, names no kind, and is published again in callbacks, so one hash
 * could stand for several requests. Each request therefore claims the texts that its hashes are made of, behind whatever
 * SecretKey: every text has a stream of its own, which takes one event only (`HashCodeSeen`).
 */

/** The amount texts a request's hashes are made of: the shortest, which its callbacks use, and that of its own hashCode. */
export function hashedTexts(amountMinor: bigint, ownText: string | undefined): readonly string[] {
  const shortest = formatShortest(amountMinor)
  return ownText === undefined || ownText === shortest ? [shortest] : [shortest, ownText]
}

export interface HashedRequest {
  readonly amountMinor: bigint
  readonly referenceId: string
}

/** Twelve digits, the point and two decimals. */
const longestAmount = 15

/** Every amount and referenceId that a text may have been joined from: `123` is `1` with `23`, and `12` with `3`. */
export function requestsIn(joined: string): readonly HashedRequest[] {
  const found: HashedRequest[] = []
  for (let length = 1; length < joined.length && length <= longestAmount; length++) {
    const amountMinor = parseAmount(joined.slice(0, length))
    const referenceId = joined.slice(length)
    if (amountMinor !== undefined && !referenceId.includes('.')) found.push({ amountMinor, referenceId })
  }
  return found
}

/** An amount at the beginning of a text, as long as it can be. */
const longestAmountText = /^(?:0|[1-9]\d{0,11})(?:\.\d{1,2})?/

/**
 * The referenceIds of {@link requestsIn}, and perhaps some that go with an amount of nothing: every create needs them, and the amounts only
 * one whose hash may be another's.
 */
export function referencesIn(joined: string): readonly string[] {
  const amount = longestAmountText.exec(joined)?.[0] ?? ''
  const point = amount.indexOf('.')
  // No referenceId has a point, so before one nothing is split.
  const shortest = point < 0 ? 1 : point + 2
  const found: string[] = []
  for (let length = shortest; length <= amount.length && length < joined.length; length++) {
    const referenceId = joined.slice(length)
    if (!referenceId.includes('.')) found.push(referenceId)
  }
  return found
}
