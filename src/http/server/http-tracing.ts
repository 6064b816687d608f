import type { FastifyReply, FastifyRequest, HookHandlerDoneFunction } from 'fastify'
import fp from 'fastify-plugin'
import { installedTracer, type OpenSpan } from '../../tracing/tracing.js'

/** Requests that are frequent or never end are not traced. */
const untraced = /^\/(health\/|metrics$|dashboard\/api\/live$|(v1|dashboard\/api)\/callbacks\/stream$)/

const tracingPlugin = { name: 'tracing', dependencies: ['gate'] }

/** Adds a span around each request. It is registered only if requests are traced. */
export const tracing = fp(async (app) => {
  const spans = new WeakMap<FastifyRequest, OpenSpan>()
  const enter = (request: FastifyRequest, _reply: FastifyReply, done: HookHandlerDoneFunction) => {
    const span = spans.get(request)
    if (span) span.enter(done)
    else done()
  }
  app.addHook('onRequest', (request, reply, done) => {
    const { method, headers, id, routeOptions } = request
    const route = routeOptions.url ?? 'unknown'
    if (untraced.test(route)) return done()
    const attributes = { 'http.request.method': method, 'http.route': route, 'transferd.correlation_id': id }
    const start = { name: `${method} ${route}`, kind: 'server', attributes } as const
    const { traceparent } = headers
    const span = installedTracer()?.start(start, typeof traceparent === 'string' ? traceparent : undefined)
    if (span) spans.set(request, span)
    enter(request, reply, done)
  })
  // The body arrives in the context of the connection, not of the request.
  app.addHook('preValidation', enter)
  app.addHook('onResponse', (request, { statusCode }, done) => {
    const merchantId = request.merchant?.merchantId
    spans.get(request)?.end(
      {
        'http.response.status_code': statusCode,
        ...(merchantId !== undefined && { 'transferd.merchant_id': merchantId }),
      },
      statusCode >= 500,
    )
    done()
  })
}, tracingPlugin)
