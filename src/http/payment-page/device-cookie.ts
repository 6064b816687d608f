import type { FastifyReply, FastifyRequest } from 'fastify'

/** 400 days is the most that browsers keep one for. */
const maxAgeSeconds = 180 * 24 * 60 * 60
const loopbackHost = /^(localhost|127\.\d+\.\d+\.\d+|\[::1\])$/

/** What the page's log-in left in this browser; undefined when there is nothing. */
export function deviceCookieOf({ headers }: FastifyRequest, publicUrl: string): string | undefined {
  const name = `${nameFor(publicUrl)}=`
  const found = headers.cookie?.split(';').find((pair) => pair.trimStart().startsWith(name))
  return found?.trim().slice(name.length)
}

/** Only for the page itself, not in a frame of another site: `SameSite=Strict`. */
export function setDeviceCookie(reply: FastifyReply, publicUrl: string, value: string): void {
  const secure = isLoopback(publicUrl) ? '' : ' Secure;'
  const cookie = `${nameFor(publicUrl)}=${value}; Path=/; Max-Age=${maxAgeSeconds}; HttpOnly;${secure} SameSite=Strict`
  reply.header('set-cookie', cookie)
}

/** With the prefix no other host of the domain can plant one; browsers take it over HTTPS only. */
function nameFor(publicUrl: string): string {
  return isLoopback(publicUrl) ? 'wallet-device' : '__Host-wallet-device'
}

/** Without TLS, on this machine: where somebody tries the service out. */
export function isLoopback(publicUrl: string): boolean {
  const { protocol, hostname } = new URL(publicUrl)
  return protocol === 'http:' && loopbackHost.test(hostname)
}
