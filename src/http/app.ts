import { randomUUID } from 'node:crypto'
import type { IncomingMessage } from 'node:http'
import type { TypeBoxTypeProvider } from '@fastify/type-provider-typebox'
import {
  type FastifyBaseLogger,
  type FastifyInstance,
  fastify,
  type RawReplyDefaultExpression,
  type RawRequestDefaultExpression,
  type RawServerDefault,
} from 'fastify'
import type { HttpDependencies } from './dependencies.js'
import { failureEnvelope } from './errors.js'
import { registerMerchantApi } from './merchant-api/routes.js'
import { registerDocumentation } from './operations/documentation.js'
import { registerObservability } from './operations/observability.js'
import { registerSandboxOutbox } from './operations/sandbox-outbox.js'
import { registerDevicePage } from './payment-page/device-page-routes.js'
import { registerPayPage } from './payment-page/routes.js'
import { registerPaySteps } from './payment-page/steps.js'
import { answerClientError } from './plugins/client-errors.js'
import { checkingIntervalMs, limitConnections } from './plugins/connections.js'
import { registerFailing } from './plugins/failing.js'
import { registerGate } from './plugins/gate.js'
import { registerJsonBodies } from './plugins/json-bodies.js'
import { registerMetrics } from './plugins/metrics.js'
import { refuseUnknownCallers, TrustedProxies } from './plugins/trusted-proxies.js'
import { registerUnknownRoutes } from './plugins/unknown-routes.js'
import { registerV1 } from './v1/routes.js'
import { registerWalletFlow } from './wallet-flow/routes.js'

export type App = FastifyInstance<
  RawServerDefault,
  RawRequestDefaultExpression<RawServerDefault>,
  RawReplyDefaultExpression<RawServerDefault>,
  FastifyBaseLogger,
  TypeBoxTypeProvider
>

const bodyLimit = 16 * 1024
const idleCheckIntervalMs = 50
const requestIdPattern = /^[A-Za-z0-9._-]{1,64}$/

/** The whole HTTP surface. It never listens: the caller does, and `close()` lets requests under way finish. */
export async function buildApp(deps: HttpDependencies): Promise<App> {
  const { connections: limits } = deps
  const proxies = new TrustedProxies(deps.trustedProxies)
  const app: App = fastify({
    // Fastify's own request log costs 40 % of the throughput; what is worth a line is logged where it happens.
    logger: false,
    trustProxy: deps.trustedProxies.length > 0 && ((address) => proxies.holds(address)),
    bodyLimit,
    requestTimeout: limits.requestTimeoutMs,
    http: { headersTimeout: limits.requestTimeoutMs, connectionsCheckingInterval: checkingIntervalMs(limits) },
    // Requests on connections that are still open are served while others finish; the listener is closed already.
    return503OnClosing: false,
    genReqId,
    requestIdHeader: false,
    ajv: { customOptions: { coerceTypes: false, removeAdditional: false, useDefaults: false, allErrors: true } },
    clientErrorHandler: answerClientError,
    frameworkErrors: (error, request, reply) => {
      const { failure, particulars } = failWith(error, request, reply)
      reply.type('application/json; charset=utf-8').send(failureEnvelope(failure, particulars) as never)
    },
  }).withTypeProvider<TypeBoxTypeProvider>()
  app.addHook('onRequest', (request, reply, done) => {
    // No cache on the way may keep what one merchant was answered: it does not know that WebApiKey tells them apart.
    reply.header('x-request-id', request.id).header('cache-control', 'no-store')
    done()
  })
  closeConnectionsAsTheyFallIdle(app)
  limitConnections(app, limits, proxies, deps.metrics)
  refuseUnknownCallers(app)
  registerJsonBodies(app)
  const gate = registerGate(app, deps)
  const failWith = registerFailing(app, deps, gate)
  const metrics = registerMetrics(app, deps)
  registerUnknownRoutes(app, metrics)
  if (deps.merchantsServed) {
    await registerDocumentation(app, deps.publicUrl, gate)
    registerMerchantApi(app, deps, gate, metrics)
    registerWalletFlow(app, deps, gate)
    registerV1(app, deps, gate)
    registerPayPage(app, deps, gate, failWith)
    registerPaySteps(app, deps, gate, failWith)
    registerDevicePage(app, deps, gate, failWith)
    registerSandboxOutbox(app, deps, gate)
  }
  registerObservability(app, deps, gate)
  await app.ready()
  return app
}

/** Node closes connections that are idle as the server closes; one that was busy then would hold it open for a minute. */
function closeConnectionsAsTheyFallIdle(app: App): void {
  app.addHook('preClose', (done) => {
    const timer = setInterval(() => app.server.closeIdleConnections(), idleCheckIntervalMs)
    app.server.once('close', () => clearInterval(timer))
    if (!app.server.listening) clearInterval(timer)
    done()
  })
}

/** The caller's X-Request-Id where it is harmless to log and store; it becomes the events' correlation id. */
function genReqId(raw: IncomingMessage): string {
  const sent = raw.headers['x-request-id']
  return typeof sent === 'string' && requestIdPattern.test(sent) ? sent : randomUUID()
}
