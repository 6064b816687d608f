import fp from 'fastify-plugin'
import { Counter, type Registry } from 'prom-client'
import { bucketOf } from '../../security/token-buckets.js'
import type { TrustedProxies } from './trusted-proxies.js'

const idleCheckIntervalMs = 50

export interface ConnectionOptions {
  readonly connections: {
    /** The longest time from the first byte of a request to its last, headers and body. */
    readonly requestTimeoutMs: number
    readonly maxConnections: number
    /** The most connections of one peer that is not a trusted proxy. */
    readonly maxConnectionsPerAddress: number
  }
  readonly proxies: TrustedProxies
  readonly metrics: Registry
}

/** How often Node checks for late requests. With its default of 30 s, a slow body was held for twice the allowed time. */
export function checkingIntervalMs(requestTimeoutMs: number): number {
  return Math.min(1_000, requestTimeoutMs / 10)
}

/** Rejects connections beyond the limits as they arrive, which costs only the handshake, and closes idle ones at the end. */
export const connections = fp<ConnectionOptions>(
  async (app, { connections: limits, proxies, metrics }) => {
    const refused = new Counter({
      name: 'transferd_http_connections_refused_total',
      help: 'Connections closed on arrival, because there were too many in total or from one address.',
      labelNames: ['limit'],
      registers: [metrics],
    })
    const { server } = app
    server.maxConnections = limits.maxConnections
    server.on('drop', () => refused.inc({ limit: 'all' }))
    const open = new Map<string, number>()
    server.on('connection', (socket) => {
      const { remoteAddress } = socket
      // A proxy's connections belong to many callers.
      if (remoteAddress === undefined || proxies.includes(remoteAddress)) return
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
    // Node closes idle connections only once, when the server closes. A busy one would keep the server open for a minute.
    app.addHook('preClose', (done) => {
      const timer = setInterval(() => server.closeIdleConnections(), idleCheckIntervalMs)
      server.once('close', () => clearInterval(timer))
      if (!server.listening) clearInterval(timer)
      done()
    })
  },
  { name: 'connections' },
)
