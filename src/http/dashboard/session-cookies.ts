import type { FastifyReply, FastifyRequest } from 'fastify'
import { isLoopback } from '../payment-page/device-cookie.js'

/** Of the dashboard: its session, and what makes this browser a known one (docs/decisions/0020). */
export interface DashboardCookies {
  session(request: FastifyRequest): string | undefined
  device(request: FastifyRequest): string | undefined
  setSession(reply: FastifyReply, token: string): void
  setDevice(reply: FastifyReply, value: string): void
  clearSession(reply: FastifyReply): void
}

const deviceMaxAgeSeconds = 180 * 24 * 60 * 60

/**
 * Under `__Host-` names no other host of the domain can plant them, and browsers take them over HTTPS only. Without HTTPS on this machine,
 * where somebody tries the service out, the names have no prefix: not every browser takes them there (docs/decisions/0026).
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
