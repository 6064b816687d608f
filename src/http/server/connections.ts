import fp from 'fastify-plugin'
import { Counter, type Registry } from 'prom-client'
import { bucketOf } from '../../security/token-buckets.js'
import type { TrustedProxies } from './trusted-proxies.js'

const idleCheckIntervalMs = 50

export interface ConnectionOptions {
  readonly connections: {
    /** From the first byte of a request to its last, headers and body, however slowly it arrives. */
    readonly requestTimeoutMs: number
    readonly maxConnections: number
    /** Of one peer that is no trusted proxy. */
    readonly maxConnectionsPerAddress: number
  }
  readonly proxies: TrustedProxies
  readonly metrics: Registry
}

/** How often Node looks for late requests. At its default of 30 s a trickling body was held for twice as long as it may take. */
export function checkingIntervalMs(requestTimeoutMs: number): number {
  return Math.min(1_000, requestTimeoutMs / 10)
}

/** Refuses connections beyond the limits as they come in, which costs only the handshake, and closes idle ones at the end. */
export const connections = fp<ConnectionOptions>(
  async (app, { connections: limits, proxies, metrics }) => {
    const refused = new Counter({
      name: 'transferd_http_connections_refused_total',
      help: 'Connections closed as they came in: there were too many in all, or of one address.',
      labelNames: ['limit'],
      registers: [metrics],
    })
    const { server } = app
    server.maxConnections = limits.maxConnections
    server.on('drop', () => refused.inc({ limit: 'all' }))
    const open = new Map<string, number>()
    server.on('connection', (socket) => {
      const { remoteAddress } = socket
      // The connections of a proxy are those of many callers.
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
    // Node closes idle connections once, as the server closes: one that is busy then would hold it open for a minute.
    app.addHook('preClose', (done) => {
      const timer = setInterval(() => server.closeIdleConnections(), idleCheckIntervalMs)
      server.once('close', () => clearInterval(timer))
      if (!server.listening) clearInterval(timer)
      done()
    })
  },
  { name: 'connections' },
)
