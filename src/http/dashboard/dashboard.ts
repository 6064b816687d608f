import type { TSchema } from '@sinclair/typebox'
import type { FastifyPluginAsync } from 'fastify'
import { sendFailure } from '../server/error-handler.js'
import { requestTurns } from '../server/request-turns.js'
import { auditEvidenceRoutes } from './audit/audit-evidence-routes.js'
import { auditHistoryRoutes } from './audit/audit-history-routes.js'
import { auditIntegrityRoutes } from './audit/audit-integrity-routes.js'
import { bankRoutes } from './bank/bank-routes.js'
import { callbackRoutes } from './callbacks/dashboard-callback-routes.js'
import { dashboardFailure } from './dashboard-failure.js'
import { dashboardPages } from './dashboard-pages.js'
import { merchantLogoRoutes } from './merchants/merchant-logo-routes.js'
import { merchantRoutes } from './merchants/merchant-routes.js'
import { operationsRoutes } from './operations/operations-routes.js'
import { figureRoutes } from './overview/figure-routes.js'
import { liveRoutes } from './overview/live-routes.js'
import { payoutRoutes } from './payouts/payout-routes.js'
import { receiptUpload } from './payouts/receipt-upload.js'
import { settlementRoutes } from './payouts/settlement-routes.js'
import { userRoutes } from './people/user-routes.js'
import { privacyRoutes } from './privacy/privacy-routes.js'
import { guard } from './session-guard.js'
import { sessionRoutes } from './sign-in/session-routes.js'
import { transferRoutes } from './transfers/transfer-routes.js'

const apiRoutes = [
  sessionRoutes,
  userRoutes,
  transferRoutes,
  settlementRoutes,
  payoutRoutes,
  receiptUpload,
  bankRoutes,
  figureRoutes,
  liveRoutes,
  merchantRoutes,
  merchantLogoRoutes,
  callbackRoutes,
  auditHistoryRoutes,
  auditIntegrityRoutes,
  auditEvidenceRoutes,
  privacyRoutes,
  operationsRoutes,
]

const requestsPerTurn = 4

/** Adds the pages and their API under `/dashboard/api`. */
export const dashboard: FastifyPluginAsync = async (app) => {
  app.addHook('onRequest', requestTurns(requestsPerTurn))
  app.addHook('onRoute', (route) => {
    if (route.schema?.body) route.schema = { ...route.schema, body: closed(route.schema.body as TSchema) }
  })
  app.setErrorHandler((error, request, reply) => sendFailure(app, error, request, reply, dashboardFailure))
  app.register(dashboardPages)
  await app.register(guard)
  for (const routes of apiRoutes) app.register(routes, { prefix: '/dashboard/api' })
}

/** Rejects unknown fields. Commands are built from bodies, and an unknown `type` field once changed a command. */
function closed(schema: TSchema): TSchema {
  if (schema.anyOf) return { ...schema, anyOf: schema.anyOf.map(closed) }
  if (schema.type === 'array') return { ...schema, items: closed(schema.items) }
  if (![schema.type].flat().includes('object')) return schema
  const properties = Object.entries<TSchema>(schema.properties).map(([name, each]) => [name, closed(each)])
  return { ...schema, properties: Object.fromEntries(properties), additionalProperties: false }
}
