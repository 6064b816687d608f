/** A filter by stream. On the wire it is a list of prefixes or a regular expression, or `undefined` for all streams. */
export interface StreamFilter {
  readonly wire: { readonly prefixes: readonly string[] } | { readonly regex: string } | undefined
  /** Stricter than the server's filter, which lets system streams pass. */
  matches(stream: string): boolean
}

/** Without prefixes, the filter matches every stream except system streams (`$…`), which match only a prefix that starts with `$`. */
export function streamFilter(streamPrefixes: readonly string[] | undefined): StreamFilter {
  const prefixes = streamPrefixes ?? ['']
  const forSystem = prefixes.filter((prefix) => prefix.startsWith('$'))
  return {
    wire: wireFilter(prefixes, forSystem.length > 0),
    matches: (stream) => (stream.startsWith('$') ? forSystem : prefixes).some((prefix) => stream.startsWith(prefix)),
  }
}

function wireFilter(prefixes: readonly string[], withSystem: boolean): StreamFilter['wire'] {
  if (!prefixes.includes('')) return { prefixes }
  return withSystem ? undefined : { regex: '^[^$]' }
}
