/** A range of names in the order of their UTF-8 bytes, from `from` (inclusive) to `to` (exclusive) or to the end. */
export interface NameRange {
  readonly from: string
  readonly to?: string
}

const notSystem: readonly NameRange[] = [{ from: '', to: '$' }, { from: '%' }]

/**
 * Returns the ranges of stream names that a read covers. They include system streams (`$…`) only if a prefix requests them. A list
 * without a prefix matches nothing, as in EventStoreDB.
 */
export function nameRanges(streamPrefixes: readonly string[] | undefined): readonly NameRange[] {
  if (streamPrefixes === undefined || streamPrefixes.includes('')) {
    const system = (streamPrefixes ?? []).filter((prefix) => prefix.startsWith('$'))
    return [...notSystem, ...system.map(rangeOf)]
  }
  return streamPrefixes.map(rangeOf)
}

function rangeOf(prefix: string): NameRange {
  if (/\p{Surrogate}/u.test(prefix)) throw new TypeError('a stream prefix must be well-formed text')
  const to = successor(prefix)
  return to === undefined ? { from: prefix } : { from: prefix, to }
}

/** Returns the smallest text that follows every text with this prefix. */
function successor(prefix: string): string | undefined {
  const points = Array.from(prefix, (character) => character.codePointAt(0) ?? 0)
  while (points.at(-1) === 0x10ffff) points.pop()
  const last = points.pop()
  if (last === undefined) return undefined
  // Well-formed text contains no surrogates.
  return String.fromCodePoint(...points, last === 0xd7ff ? 0xe000 : last + 1)
}
