import type { ServerResponse } from 'node:http'
import type { Socket } from 'node:net'
import type { FastifyInstance } from 'fastify'
import fp from 'fastify-plugin'
import { Counter } from 'prom-client'
import { AddressIndex, isAddress } from '../../commands/merchant/addresses.js'
import { bucketOf } from '../../security/token-buckets.js'
import { RequestError } from '../refusals.js'

const idleCheckIntervalMs = 50
/** The time for the requests in progress after a stop. It is longer than a request's deadline, and leaves time to stop the other parts. */
const lastRequestsMs = 10_000

/** The proxies whose X-Forwarded-For is trusted. */
export class TrustedProxies {
  readonly #ranges = new AddressIndex<'trusted'>()

  constructor(ranges: readonly string[]) {
    for (const range of ranges) this.#ranges.add(range, 'trusted')
  }

  /** Returns `false` for text that is not an address. It then counts as the caller, which {@link knownCallers} rejects. */
  includes(address: string): boolean {
    return isAddress(address) && this.#ranges.holds(address, 'trusted')
  }
}

/**
 * Rejects a request if a trusted proxy's X-Forwarded-For does not contain an address: the caller is then unknown, and the proxy's own
 * address could pass an allow-list. The part of the header before the caller was written by the caller and is ignored.
 */
export const knownCallers = fp(async (app) => {
  app.addHook('onRequest', ({ ip, socket }, _reply, done) => {
    if (ip === socket.remoteAddress || isAddress(ip)) return done()
    const details = 'X-Forwarded-For does not name the caller by an IP address.'
    done(new RequestError('malformed-request', { details }))
  })
})

/** How often Node checks for late requests. With its default of 30 s, a slow body was held for twice the allowed time. */
export function checkingIntervalMs(requestTimeoutMs: number): number {
  return Math.min(1_000, requestTimeoutMs / 10)
}

/** Rejects connections beyond the limits as they arrive, which costs only the handshake, and closes the open ones at the end. */
export const connections = fp<{ readonly proxies: TrustedProxies }>(async (app, { proxies }) => {
  const { connections: limits, metrics } = app.services
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
  closeAtStop(app)
})

/**
 * The responses to the last two requests of a connection. A client can send a request before the previous one has its response
 * (pipelining). Responses are sent in order, so the previous one is the last of those to complete requests.
 */
interface LastResponses {
  readonly previous?: ServerResponse | undefined
  readonly latest?: ServerResponse
}

function isBusy({ previous, latest }: LastResponses): boolean {
  if (previous && !previous.writableFinished) return true
  return latest !== undefined && !latest.writableFinished && (latest.req.complete || latest.headersSent)
}

/**
 * Closes the connections of a server that stops: immediately those without a complete request, the others after their responses. Node
 * waits for a request that never becomes complete, because a server that closes no longer checks for late requests. A client that does not
 * read its response is disconnected after {@link lastRequestsMs}.
 */
function closeAtStop(app: FastifyInstance): void {
  const { server, services } = app
  const responses = new Map<Socket, LastResponses>()
  server.on('connection', (socket) => {
    responses.set(socket, {})
    socket.once('close', () => responses.delete(socket))
  })
  server.prependListener('request', (request, latest) => {
    const last = responses.get(request.socket)
    // A request can still be parsed after its connection was closed.
    if (last) responses.set(request.socket, { previous: last.latest, latest })
  })
  app.addHook('preClose', (done) => {
    if (!server.listening) return done()
    const stoppedMs = services.monotonicMs()
    const close = () => {
      const isOverdue = services.monotonicMs() - stoppedMs > lastRequestsMs
      for (const [socket, last] of responses) if (isOverdue || !isBusy(last)) socket.destroy()
    }
    close()
    const timer = setInterval(close, idleCheckIntervalMs)
    server.once('close', () => clearInterval(timer))
    done()
  })
}
