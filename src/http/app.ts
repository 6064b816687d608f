import { randomUUID } from 'node:crypto'
import type { IncomingMessage } from 'node:http'
import { type FastifyInstance, fastify } from 'fastify'
import { callbackStreams } from './callback-stream.js'
import { dashboard } from './dashboard/dashboard.js'
import { documentation } from './documentation/documentation.js'
import { merchantApi } from './merchant-api/creates.js'
import { paymentPageRoutes } from './payment-page/payment-page-routes.js'
import { receiptFiles } from './receipt-files.js'
import { checkingIntervalMs, connections, knownCallers, TrustedProxies } from './server/connections.js'
import { failing, sendClientError, sendFailure } from './server/error-handler.js'
import { metrics } from './server/http-metrics.js'
import { tracing } from './server/http-tracing.js'
import { jsonBodies } from './server/json-body.js'
import { gate } from './server/merchant-gate.js'
import { observability } from './server/observability.js'
import { requestDeadline } from './server/request-deadline.js'
import { sandboxOutbox } from './server/sandbox-outbox.js'
import { unknownRoutes } from './server/unknown-routes.js'
import { setSchemaCompilers } from './server/validation.js'
import type { HttpServices } from './services.js'
import { v1 } from './v1/v1-api.js'
import { walletFlow } from './wallet-flow/wallet-flow.js'

/** Routes with larger bodies have their own limit. */
const bodyLimit = 16 * 1024
const requestIdPattern = /^[A-Za-z0-9._-]{1,64}$/

/** Builds the HTTP application. It never listens: the caller does. `close()` lets requests in flight finish. */
export async function buildApp(services: HttpServices): Promise<FastifyInstance> {
  const { requestTimeoutMs } = services.connections
  const proxies = new TrustedProxies(services.trustedProxies)
  const app: FastifyInstance = fastify({
    // Fastify's own request log costs 40 % of the throughput. Relevant events are logged where they happen.
    logger: false,
    trustProxy: services.trustedProxies.length > 0 && ((address) => proxies.includes(address)),
    bodyLimit,
    requestTimeout: requestTimeoutMs,
    http: { headersTimeout: requestTimeoutMs, connectionsCheckingInterval: checkingIntervalMs(requestTimeoutMs) },
    // During a shutdown, open connections still serve requests while others finish. The listener is already closed.
    return503OnClosing: false,
    genReqId,
    requestIdHeader: false,
    clientErrorHandler: sendClientError,
    frameworkErrors: (error, request, reply) => sendFailure(app, error, request, reply),
  })
  app.decorate('services', services)
  setSchemaCompilers(app)
  app.addHook('onRequest', (request, reply, done) => {
    // No cache may store a merchant's responses: it does not know that the WebApiKey distinguishes merchants.
    reply.header('x-request-id', request.id).header('cache-control', 'no-store')
    done()
  })
  app.register(connections, { proxies })
  for (const part of [knownCallers, jsonBodies, gate, failing, requestDeadline]) app.register(part)
  app.register(metrics, services)
  if (services.traced) app.register(tracing)
  app.register(unknownRoutes)
  app.register(callbackStreams)
  if (services.merchantsServed) {
    for (const routes of [
      documentation,
      merchantApi,
      walletFlow,
      v1,
      paymentPageRoutes,
      receiptFiles,
      sandboxOutbox,
      dashboard,
    ]) {
      app.register(routes)
    }
  }
  app.register(observability)
  await app.ready()
  return app
}

/** Returns the caller's X-Request-Id if it is safe to log and store. It becomes the correlation id of events. */
function genReqId(raw: IncomingMessage): string {
  const sent = raw.headers['x-request-id']
  return typeof sent === 'string' && requestIdPattern.test(sent) ? sent : randomUUID()
}
