import type { FastifyReply, FastifyRequest, HookHandlerDoneFunction } from 'fastify'
import fp from 'fastify-plugin'
import { Counter, Histogram, type Registry } from 'prom-client'
import { BoundedLabel } from '../../tracing/tracing.js'

declare module 'fastify' {
  interface FastifyInstance {
    /** Counts a new transfer; a repeated create is not counted. */
    readonly countCreate: (channel: 'hosted' | 'native' | 'withdrawal', merchantId: string) => void
    /** Records a response to a request without a route. */
    readonly observeUnknownRoute: (reply: FastifyReply) => void
  }
}

const metricsPlugin = { name: 'metrics' }

/** Measures durations by route and status, except those of server-sent events, and counts creates. Only merchants' ids are labels, in a bounded number. */
export const metrics = fp<{ readonly metrics: Registry }>(async (app, { metrics: registry }) => {
  const registers = [registry]
  const durations = new Histogram({
    name: 'transferd_http_request_duration_seconds',
    help: 'From the request line to the end of the response.',
    labelNames: ['route', 'status'],
    buckets: [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 1, 5],
    registers,
  })
  const creates = new Counter({
    name: 'transferd_transfers_created_total',
    help: 'Transfers created; repeats of a create do not count.',
    labelNames: ['channel'],
    registers,
  })
  const byMerchant = new Counter({
    name: 'transferd_merchant_transfers_created_total',
    help: 'The same by merchant: the first fifty of the process individually, all others together.',
    labelNames: ['merchant'],
    registers,
  })
  const merchants = new BoundedLabel()
  const observe = (route: string, reply: FastifyReply) =>
    durations.observe({ route, status: reply.statusCode }, reply.elapsedTime / 1000)
  // A hook per route knows its label. Reading the request's route would build an object every time.
  app.addHook('onRoute', (route) => {
    const record = (_request: FastifyRequest, reply: FastifyReply, done: HookHandlerDoneFunction) => {
      // A stream lasts for as long as its reader listens.
      if (!String(reply.getHeader('content-type')).startsWith('text/event-stream')) observe(route.url, reply)
      done()
    }
    route.onResponse = [...[route.onResponse ?? []].flat(), record]
  })
  app.decorate('countCreate', (channel, merchantId) => {
    creates.inc({ channel })
    byMerchant.inc({ merchant: merchants.of(merchantId) })
  })
  app.decorate('observeUnknownRoute', (reply) => observe('unknown', reply))
}, metricsPlugin)
