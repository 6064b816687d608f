import { monitorEventLoopDelay } from 'node:perf_hooks'
import type { FastifyReply, FastifyRequest, HookHandlerDoneFunction } from 'fastify'
import { Counter, Gauge, Histogram } from 'prom-client'
import type { App } from '../app.js'
import type { HttpDependencies } from '../dependencies.js'

export interface HttpMetrics {
  created(channel: 'hosted' | 'native' | 'withdrawal'): void
  answeredUnknownRoute(reply: FastifyReply): void
}

/** Durations by route and status, creates, event loop lag. Labels are routes and statuses only: never an id. */
export function registerMetrics(app: App, { metrics: registry }: HttpDependencies): HttpMetrics {
  const registers = [registry]
  const durations = new Histogram({
    name: 'transferd_http_request_duration_seconds',
    help: 'From the request line to the end of the answer.',
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
  watchEventLoop(app, registers)
  const observe = (route: string, reply: FastifyReply) =>
    durations.observe({ route, status: reply.statusCode }, reply.elapsedTime / 1000)
  const recorder = (route: string) => (_: FastifyRequest, reply: FastifyReply, done: HookHandlerDoneFunction) => {
    observe(route, reply)
    done()
  }
  // A hook of each route knows its label; asking the request for its route builds an object every time.
  app.addHook('onRoute', (route) => {
    const others = route.onResponse === undefined ? [] : [route.onResponse].flat()
    route.onResponse = [...others, recorder(route.url)]
  })
  return {
    created: (channel) => creates.inc({ channel }),
    answeredUnknownRoute: (reply) => observe('unknown', reply),
  }
}

function watchEventLoop(app: App, registers: HttpDependencies['metrics'][]): void {
  const delay = monitorEventLoopDelay({ resolution: 20 })
  delay.enable()
  app.addHook('onClose', (_, done) => {
    delay.disable()
    done()
  })
  new Gauge({
    name: 'transferd_http_event_loop_lag_seconds',
    help: '99th percentile since the last scrape.',
    registers,
    collect() {
      this.set(delay.percentile(99) / 1e9 || 0)
      delay.reset()
    },
  })
}
