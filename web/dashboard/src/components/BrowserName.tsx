/** In this order: each also says the names of those below it. */
const browsers = { Edg: 'Edge', OPR: 'Opera', Firefox: 'Firefox', Chrome: 'Chrome', Safari: 'Safari' }
const systems = {
  Android: 'Android',
  iPhone: 'iOS',
  iPad: 'iPadOS',
  Windows: 'Windows',
  Mac: 'macOS',
  CrOS: 'ChromeOS',
  Linux: 'Linux',
}

function found(names: Readonly<Record<string, string>>, userAgent: string): string | undefined {
  return Object.entries(names).find(([sign]) => userAgent.includes(sign))?.[1]
}

/** What a user agent says of itself; all of it when that is no browser that is known. */
export function BrowserName({ userAgent }: { readonly userAgent: string }) {
  const names = [found(browsers, userAgent), found(systems, userAgent)].filter((name) => name !== undefined)
  return <bdi title={userAgent}>{names.length === 2 ? names.join(' · ') : userAgent}</bdi>
}
