import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox'
import type { Registry } from 'prom-client'
import type { TransferCommands } from '../../commands/transfer/transfers.js'
import { Type } from '../../kernel/typebox.js'

export interface ObservabilityOptions {
  readonly transfers: TransferCommands
  readonly metrics: Registry
  /** The human-readable reasons why the rest of the process is not ready; empty if it is. */
  readonly readiness: () => Promise<readonly string[]>
  /** The human-readable problems that need attention but do not prevent the service from serving requests. */
  readonly details: () => Promise<readonly string[]>
}

const missingTransferId = '00000000-0000-0000-0000-000000000000'
const readinessTimeoutMs = 2_000
const maxDetails = 20

const Health = Type.Object(
  { status: Type.String({ examples: ['ok'] }), problems: Type.Array(Type.String()) },
  { description: 'Ready.' },
)
const Readiness = {
  ...Health.properties,
  details: Type.Array(Type.String(), {
    description: 'Problems that need attention but do not prevent the service from serving requests.',
  }),
}

export const observability: FastifyPluginAsyncTypebox<ObservabilityOptions> = async (app, options) => {
  const common = { tags: ['Health'], security: [] }
  const limitHealth = app.gate.limitObserver()
  app.route({
    method: 'GET',
    url: '/health/live',
    onRequest: limitHealth,
    schema: {
      ...common,
      operationId: 'getLiveness',
      summary: 'Check that the process responds',
      response: { 200: Health },
    },
    handler: async () => ({ status: 'ok', problems: [] }),
  })
  app.route({
    method: 'GET',
    url: '/health/ready',
    onRequest: limitHealth,
    schema: {
      ...common,
      operationId: 'getReadiness',
      summary: 'Check that the service can serve requests',
      response: {
        200: Type.Object(Readiness, { description: 'Ready.' }),
        503: Type.Object(Readiness, { description: 'Not ready; `problems` states why.' }),
      },
    },
    handler: async (_request, reply) => {
      const [problems, details] = await Promise.all([readinessProblems(options), readinessDetails(options)])
      if (problems.length > 0) reply.code(503).header('retry-after', '2')
      return { status: problems.length === 0 ? 'ok' : 'unavailable', problems, details }
    },
  })
  app.route({
    method: 'GET',
    url: '/metrics',
    onRequest: app.gate.limitObserver(),
    schema: { ...common, operationId: 'getMetrics', summary: 'Get the Prometheus metrics' },
    handler: async (_request, reply) => {
      reply.header('content-type', options.metrics.contentType)
      return options.metrics.metrics()
    },
  })
}

async function readinessProblems({ transfers, readiness }: ObservabilityOptions): Promise<string[]> {
  const [log, rest] = await Promise.all([
    inTime(transfers.find(missingTransferId)).then(
      () => [],
      () => ['the event log cannot be read'],
    ),
    inTime(readiness()).catch(() => ['readiness is unknown']),
  ])
  return [...log, ...rest]
}

async function readinessDetails({ details }: ObservabilityOptions): Promise<string[]> {
  const problems = await inTime(details()).catch(() => [])
  const more = problems.length - maxDetails
  return more > 0 ? [...problems.slice(0, maxDetails), `and ${more} more`] : [...problems]
}

async function inTime<Result>(answer: Promise<Result>): Promise<Result> {
  let timer: NodeJS.Timeout | undefined
  const late = new Promise<never>((_, reject) => {
    timer = setTimeout(() => reject(new Error('too late')), readinessTimeoutMs)
  })
  return Promise.race([answer, late]).finally(() => clearTimeout(timer))
}
