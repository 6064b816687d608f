/** Names from `from` (inclusive) to `to` (exclusive; none: to the end), in the order of their UTF-8 bytes. */
export interface NameRange {
  readonly from: string
  readonly to?: string
}

const notSystem: readonly NameRange[] = [{ from: '', to: '$' }, { from: '%' }]

/**
 * The streams a read is to see. System streams (`$…`) only where a prefix asks for them; a list without a prefix
 * matches nothing, as in EventStoreDB.
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

/** The smallest text behind all that begin with this one. */
function successor(prefix: string): string | undefined {
  const points = Array.from(prefix, (character) => character.codePointAt(0) ?? 0)
  while (points.at(-1) === 0x10ffff) points.pop()
  const last = points.pop()
  if (last === undefined) return undefined
  // Surrogates are no code points of well-formed text.
  return String.fromCodePoint(...points, last === 0xd7ff ? 0xe000 : last + 1)
}
