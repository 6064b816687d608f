import { randomUUID } from 'node:crypto'
import type { IncomingMessage } from 'node:http'
import { type FastifyInstance, fastify } from 'fastify'
import { type DashboardOptions, dashboard } from './dashboard/dashboard.js'
import { type DocumentationOptions, documentation } from './documentation/documentation.js'
import { type MerchantApiOptions, merchantApi } from './merchant-api/merchant-api.js'
import { type PaymentPageOptions, paymentPageRoutes } from './payment-page/payment-page-routes.js'
import { answerClientError } from './server/client-errors.js'
import { type ConnectionOptions, checkingIntervalMs, connections } from './server/connections.js'
import { answerFailure, type FailingOptions, failing } from './server/error-handler.js'
import { type MetricsOptions, metrics } from './server/http-metrics.js'
import { tracing } from './server/http-tracing.js'
import { jsonBodies } from './server/json-bodies.js'
import { type GateOptions, gate } from './server/merchant-gate.js'
import { type ObservabilityOptions, observability } from './server/observability.js'
import { type SandboxOutboxOptions, sandboxOutbox } from './server/sandbox-outbox.js'
import { setSchemaCompilers } from './server/schema-compilers.js'
import { knownCallers, TrustedProxies } from './server/trusted-proxies.js'
import { unknownRoutes } from './server/unknown-routes.js'
import { type V1Options, v1 } from './v1/v1-api.js'
import { type WalletFlowOptions, walletFlow } from './wallet-flow/wallet-flow.js'

const bodyLimit = 16 * 1024
const requestIdPattern = /^[A-Za-z0-9._-]{1,64}$/

/** The options of all plugins and modules; each defines its own. */
export type HttpDependencies = Omit<ConnectionOptions, 'proxies'> &
  FailingOptions &
  GateOptions &
  MetricsOptions &
  DocumentationOptions &
  MerchantApiOptions &
  WalletFlowOptions &
  V1Options &
  PaymentPageOptions &
  SandboxOutboxOptions &
  DashboardOptions &
  ObservabilityOptions & {
    /** The CIDR ranges of the proxies whose X-Forwarded-For is trusted; none if empty. */
    readonly trustedProxies: readonly string[]
    /** Whether a tracer is installed in this thread. */
    readonly traced: boolean
    /** `false` serves only health and metrics. */
    readonly merchantsServed: boolean
  }

/** Builds the HTTP application. It never listens: the caller does. `close()` lets requests in flight finish. */
export async function buildApp(options: HttpDependencies): Promise<FastifyInstance> {
  const { requestTimeoutMs } = options.connections
  const proxies = new TrustedProxies(options.trustedProxies)
  const app: FastifyInstance = fastify({
    // Fastify's own request log costs 40 % of the throughput. Relevant events are logged where they happen.
    logger: false,
    trustProxy: options.trustedProxies.length > 0 && ((address) => proxies.includes(address)),
    bodyLimit,
    requestTimeout: requestTimeoutMs,
    http: { headersTimeout: requestTimeoutMs, connectionsCheckingInterval: checkingIntervalMs(requestTimeoutMs) },
    // During a shutdown, open connections still serve requests while others finish. The listener is already closed.
    return503OnClosing: false,
    genReqId,
    requestIdHeader: false,
    clientErrorHandler: answerClientError,
    frameworkErrors: (error, request, reply) => answerFailure(app, error, request, reply),
  })
  setSchemaCompilers(app)
  app.addHook('onRequest', (request, reply, done) => {
    // No cache may store a merchant's responses: it does not know that the WebApiKey distinguishes merchants.
    reply.header('x-request-id', request.id).header('cache-control', 'no-store')
    done()
  })
  app.register(connections, { ...options, proxies })
  app.register(knownCallers)
  app.register(jsonBodies)
  app.register(gate, options)
  app.register(failing, options)
  app.register(metrics, options)
  if (options.traced) app.register(tracing)
  app.register(unknownRoutes)
  if (options.merchantsServed) {
    app.register(documentation, options)
    app.register(merchantApi, options)
    app.register(walletFlow, options)
    app.register(v1, options)
    app.register(paymentPageRoutes, options)
    app.register(sandboxOutbox, options)
    app.register(dashboard, options)
  }
  app.register(observability, options)
  await app.ready()
  return app
}

/** Returns the caller's X-Request-Id if it is safe to log and store. It becomes the correlation id of events. */
function genReqId(raw: IncomingMessage): string {
  const sent = raw.headers['x-request-id']
  return typeof sent === 'string' && requestIdPattern.test(sent) ? sent : randomUUID()
}
