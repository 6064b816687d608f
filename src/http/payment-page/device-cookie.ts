import type { FastifyReply, FastifyRequest } from 'fastify'
import { cookieScope } from '../public-url.js'

/** Browsers keep a cookie for at most 400 days. */
const maxAgeSeconds = 180 * 24 * 60 * 60

/** Returns the value that an earlier login left in this browser, or `undefined`. */
export function deviceCookieOf({ headers }: FastifyRequest, publicUrl: string): string | undefined {
  const name = `${nameFor(publicUrl)}=`
  const found = headers.cookie?.split(';').find((pair) => pair.trimStart().startsWith(name))
  return found?.trim().slice(name.length)
}

/** `SameSite=Strict`: only the page itself sends the cookie, not a frame of another site. */
export function setDeviceCookie(reply: FastifyReply, publicUrl: string, value: string): void {
  const { path, secure } = cookieScope(publicUrl)
  const place = `Path=${path}; Max-Age=${maxAgeSeconds}; HttpOnly;${secure ? ' Secure;' : ''} SameSite=Strict`
  const cookie = `${nameFor(publicUrl)}=${value}; ${place}`
  reply.header('set-cookie', cookie)
}

function nameFor(publicUrl: string): string {
  return `${cookieScope(publicUrl).prefix}wallet-device`
}
