/** Parses a query string. All values stay text, so that references such as 0012 and 1e5 are not turned into numbers. */
export function parseSearch(search: string): Record<string, string> {
  return Object.fromEntries(new URLSearchParams(search))
}

export function stringifySearch(search: Record<string, unknown>): string {
  const given = Object.entries(search).filter(([, value]) => typeof value === 'string' && value !== '')
  const query = new URLSearchParams(given as [string, string][]).toString()
  return query && `?${query}`
}

/** Returns the named parameters that are non-empty text. */
export function pickSearch<const Name extends string>(
  search: Record<string, unknown>,
  names: readonly Name[],
): { [name in Name]?: string | undefined } {
  const found: { [name in Name]?: string | undefined } = {}
  for (const name of names) {
    const value = search[name]
    if (typeof value === 'string' && value !== '') found[name] = value
  }
  return found
}
