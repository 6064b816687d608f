/** Which streams are wanted: on the wire a list of prefixes or a regular expression, `undefined` for all of them. */
export interface StreamFilter {
  readonly wire: { readonly prefixes: readonly string[] } | { readonly regex: string } | undefined
  /** The server's filter lets system streams through where ours does not. */
  matches(stream: string): boolean
}

/** No prefixes at all: every stream but the system's (`$…`). Those come only when a prefix begins with `$`. */
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
