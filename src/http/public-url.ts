const loopbackHost = /^(localhost|127\.\d+\.\d+\.\d+|\[::1\])$/

/** Returns the path that precedes every route in the addresses that browsers use: empty, or such as `/payments`. */
export function pathOf(publicUrl: string): string {
  return new URL(publicUrl).pathname.replace(/\/$/, '')
}

/** Without TLS, for a trial on this machine. */
function isLoopback(publicUrl: string): boolean {
  const { protocol, hostname } = new URL(publicUrl)
  return protocol === 'http:' && loopbackHost.test(hostname)
}

/**
 * Returns the prefix of cookies' names, and the path to which browsers send them. `__Host-` prevents other hosts of the domain from setting
 * a cookie, but requires the path `/`. Below a path, `__Secure-` keeps the cookies from the other programs of the host, and those of two
 * installations apart. Browsers accept both prefixes only over HTTPS.
 */
export function cookieScope(publicUrl: string) {
  const path = pathOf(publicUrl) || '/'
  const secure = !isLoopback(publicUrl)
  const prefix = path === '/' ? '__Host-' : '__Secure-'
  return { prefix: secure ? prefix : '', path, secure }
}
