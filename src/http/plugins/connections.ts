import type { Server } from 'node:http'
import { Counter, type Registry } from 'prom-client'
import type { App } from '../app.js'
import { bucketOf } from './address-bucket.js'
import type { TrustedProxies } from './trusted-proxies.js'

export interface ConnectionLimits {
  /** From the first byte of a request to its last, headers and body, however it trickles in. */
  readonly requestTimeoutMs: number
  readonly maxConnections: number
  /** Of one peer that is no trusted proxy. */
  readonly maxConnectionsPerAddress: number
}

/**
 * Node looks for requests that are late this often, 30 s unless told: a body in drips was then held for a minute and more, twice as
 * long as it may.
 */
export function checkingIntervalMs({ requestTimeoutMs }: ConnectionLimits): number {
  return Math.min(1_000, requestTimeoutMs / 10)
}

/** Refuses connections beyond the limits as they come in: one more costs nothing but the handshake. */
export function limitConnections(
  app: App,
  limits: ConnectionLimits,
  proxies: TrustedProxies,
  registry: Registry,
): void {
  const refused = new Counter({
    name: 'transferd_http_connections_refused_total',
    help: 'Connections closed as they came in: there were too many in all, or of one address.',
    labelNames: ['limit'],
    registers: [registry],
  })
  const server: Server = app.server
  server.maxConnections = limits.maxConnections
  server.on('drop', () => refused.inc({ limit: 'all' }))
  const open = new Map<string, number>()
  server.on('connection', (socket) => {
    const { remoteAddress } = socket
    // The connections of a proxy are those of many callers.
    if (remoteAddress === undefined || proxies.holds(remoteAddress)) return
    const peer = bucketOf(remoteAddress)
    const count = open.get(peer) ?? 0
    if (count >= limits.maxConnectionsPerAddress) {
      refused.inc({ limit: 'address' })
      socket.destroy()
      return
    }
    open.set(peer, count + 1)
    socket.once('close', () => {
      const left = (open.get(peer) ?? 1) - 1
      if (left === 0) open.delete(peer)
      else open.set(peer, left)
    })
  })
}
