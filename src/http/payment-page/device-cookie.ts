import type { FastifyReply, FastifyRequest } from 'fastify'

/** Browsers keep a cookie for at most 400 days. */
const maxAgeSeconds = 180 * 24 * 60 * 60
const loopbackHost = /^(localhost|127\.\d+\.\d+\.\d+|\[::1\])$/

/** Returns the value that an earlier login left in this browser, or `undefined`. */
export function deviceCookieOf({ headers }: FastifyRequest, publicUrl: string): string | undefined {
  const name = `${nameFor(publicUrl)}=`
  const found = headers.cookie?.split(';').find((pair) => pair.trimStart().startsWith(name))
  return found?.trim().slice(name.length)
}

/** `SameSite=Strict`: only the page itself sends the cookie, not a frame of another site. */
export function setDeviceCookie(reply: FastifyReply, publicUrl: string, value: string): void {
  const secure = isLoopback(publicUrl) ? '' : ' Secure;'
  const cookie = `${nameFor(publicUrl)}=${value}; Path=/; Max-Age=${maxAgeSeconds}; HttpOnly;${secure} SameSite=Strict`
  reply.header('set-cookie', cookie)
}

/** The prefix prevents other hosts of the domain from setting the cookie. Browsers accept it only over HTTPS. */
function nameFor(publicUrl: string): string {
  return isLoopback(publicUrl) ? 'wallet-device' : '__Host-wallet-device'
}

/** Without TLS, for a trial on this machine. */
export function isLoopback(publicUrl: string): boolean {
  const { protocol, hostname } = new URL(publicUrl)
  return protocol === 'http:' && loopbackHost.test(hostname)
}
