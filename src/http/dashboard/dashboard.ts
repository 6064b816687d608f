import type { TSchema } from '@sinclair/typebox'
import type { FastifyPluginAsync } from 'fastify'
import { answerFailure } from '../server/error-handler.js'
import { type AuditHistoryOptions, auditHistoryRoutes } from './audit/audit-history-routes.js'
import { type AuditIntegrityOptions, auditIntegrityRoutes } from './audit/audit-integrity-routes.js'
import { callbackRoutes, type DashboardCallbackOptions } from './callbacks/dashboard-callback-routes.js'
import { dashboardFailure } from './dashboard-failure.js'
import { type DashboardPagesOptions, dashboardPages } from './dashboard-pages.js'
import { type DashboardMerchantOptions, merchantRoutes } from './merchants/merchant-routes.js'
import { type WatchingOptions, watchingRoutes } from './operations/monitoring-routes.js'
import { type OperationsOptions, operationsRoutes } from './operations/operations-routes.js'
import { type FiguresOptions, figureRoutes } from './overview/figure-routes.js'
import { type LiveOptions, liveRoutes } from './overview/live-routes.js'
import { payingRoutes } from './paying/paying-routes.js'
import { type ReceiptsOptions, receiptFiles, receiptUpload } from './paying/receipt-routes.js'
import { type SettlingOptions, settlingRoutes } from './paying/settling-routes.js'
import { type UsersOptions, userRoutes } from './people/user-routes.js'
import { type PrivacyOptions, privacyRoutes } from './privacy/privacy-routes.js'
import { type GuardOptions, guard } from './session-guard.js'
import { type AccountOptions, accountRoutes } from './sign-in/account-routes.js'
import { type OwnSessionsOptions, ownSessionRoutes } from './sign-in/own-session-routes.js'
import { type SessionOptions, sessionRoutes } from './sign-in/session-routes.js'
import { type StoryOptions, storyRoutes } from './transfers/history-routes.js'
import { type ListOptions, listRoutes } from './transfers/list-routes.js'
import { type SearchOptions, searchRoutes } from './transfers/search-routes.js'
import { type TransferOptions, transferRoutes } from './transfers/transfer-routes.js'

export type DashboardOptions = AccountOptions &
  AuditHistoryOptions &
  AuditIntegrityOptions &
  DashboardPagesOptions &
  FiguresOptions &
  DashboardCallbackOptions &
  DashboardMerchantOptions &
  GuardOptions &
  ListOptions &
  LiveOptions &
  OperationsOptions &
  OwnSessionsOptions &
  PrivacyOptions &
  ReceiptsOptions &
  SettlingOptions &
  TransferOptions &
  SearchOptions &
  SessionOptions &
  StoryOptions &
  UsersOptions &
  WatchingOptions

/** Adds the pages and their API under `/dashboard/api`. */
export const dashboard: FastifyPluginAsync<DashboardOptions> = async (app, options) => {
  app.addHook('onRoute', (route) => {
    if (route.schema?.body) route.schema = { ...route.schema, body: closed(route.schema.body as TSchema) }
  })
  app.setErrorHandler((error, request, reply) => answerFailure(app, error, request, reply, dashboardFailure))
  app.register(dashboardPages, options)
  await app.register(guard, options)
  const below = { ...options, prefix: '/dashboard/api' }
  app.register(sessionRoutes, below)
  app.register(accountRoutes, below)
  app.register(ownSessionRoutes, below)
  app.register(userRoutes, below)
  app.register(transferRoutes, below)
  app.register(settlingRoutes, below)
  app.register(payingRoutes, below)
  app.register(receiptUpload, below)
  app.register(receiptFiles, options)
  app.register(listRoutes, below)
  app.register(figureRoutes, below)
  app.register(liveRoutes, below)
  app.register(merchantRoutes, below)
  app.register(callbackRoutes, below)
  app.register(storyRoutes, below)
  app.register(searchRoutes, below)
  app.register(auditHistoryRoutes, below)
  app.register(privacyRoutes, below)
  app.register(auditIntegrityRoutes, below)
  app.register(watchingRoutes, below)
  app.register(operationsRoutes, below)
}

/** Rejects unknown fields. Commands are built from bodies, and an unknown `type` field once changed a command. */
function closed(schema: TSchema): TSchema {
  if (schema.anyOf) return { ...schema, anyOf: schema.anyOf.map(closed) }
  if (schema.type === 'array') return { ...schema, items: closed(schema.items) }
  if (schema.type !== 'object') return schema
  const properties = Object.entries<TSchema>(schema.properties).map(([name, each]) => [name, closed(each)])
  return { ...schema, properties: Object.fromEntries(properties), additionalProperties: false }
}
