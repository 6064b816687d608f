import type { FastifyReply, FastifyRequest } from 'fastify'
import { isLoopback } from '../payment-page/device-cookie.js'

/** The cookies of the dashboard: the session, and the mark of a known browser (docs/decisions/0020-login-throttling.md). */
export interface DashboardCookies {
  session(request: FastifyRequest): string | undefined
  device(request: FastifyRequest): string | undefined
  setSession(reply: FastifyReply, token: string): void
  setDevice(reply: FastifyReply, value: string): void
  clearSession(reply: FastifyReply): void
}

const deviceMaxAgeSeconds = 180 * 24 * 60 * 60

/**
 * The prefix `__Host-` prevents other hosts of the domain from setting them, and browsers accept it over HTTPS only. For trials without HTTPS
 * on this machine the names have no prefix, because not every browser accepts it there (docs/decisions/0026-dashboard.md).
 */
export function dashboardCookies(publicUrl: string): DashboardCookies {
  const secure = !isLoopback(publicUrl)
  const prefix = secure ? '__Host-' : ''
  const session = `${prefix}transferd`
  const device = `${prefix}transferd-device`
  const options = { path: '/', httpOnly: true, secure, sameSite: 'strict' } as const
  return {
    session: ({ cookies }) => cookies[session],
    device: ({ cookies }) => cookies[device],
    setSession: (reply, token) => reply.setCookie(session, token, options),
    setDevice: (reply, value) => reply.setCookie(device, value, { ...options, maxAge: deviceMaxAgeSeconds }),
    clearSession: (reply) => reply.clearCookie(session, options),
  }
}
