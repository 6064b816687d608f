/** In this order, because a user agent also contains the names of the browsers below it. */
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

function findName(names: Readonly<Record<string, string>>, userAgent: string): string | undefined {
  return Object.entries(names).find(([sign]) => userAgent.includes(sign))?.[1]
}

/** Shows the browser and the system of a user agent, or the whole user agent if either is unknown. */
export function BrowserName({ userAgent }: { readonly userAgent: string }) {
  const names = [findName(browsers, userAgent), findName(systems, userAgent)].filter((name) => name !== undefined)
  return <bdi title={userAgent}>{names.length === 2 ? names.join(' · ') : userAgent}</bdi>
}
