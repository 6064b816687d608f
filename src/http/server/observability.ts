import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox'
import type { Registry } from 'prom-client'
import type { TransferCommands } from '../../commands/transfer/transfers.js'
import { Type } from '../../kernel/typebox.js'

export interface ObservabilityOptions {
  readonly transfers: TransferCommands
  readonly metrics: Registry
  /** What keeps the rest of the process from being ready, in words; empty when nothing does. */
  readonly readiness: () => Promise<readonly string[]>
  /** What needs a person but keeps nobody from being served, in words. */
  readonly details: () => Promise<readonly string[]>
}

const nobody = '00000000-0000-0000-0000-000000000000'
const readinessTimeoutMs = 2_000
const maxDetails = 20

const Health = Type.Object(
  { status: Type.String({ examples: ['ok'] }), problems: Type.Array(Type.String()) },
  { description: 'Yes.' },
)
const Readiness = {
  ...Health.properties,
  details: Type.Array(Type.String(), { description: 'What needs a person but keeps nobody from being served.' }),
}

export const observability: FastifyPluginAsyncTypebox<ObservabilityOptions> = async (app, options) => {
  const common = { tags: ['Health'], security: [] }
  const limitHealth = app.gate.limitObserver()
  app.route({
    method: 'GET',
    url: '/health/live',
    onRequest: limitHealth,
    schema: { ...common, operationId: 'getLiveness', summary: 'The process answers', response: { 200: Health } },
    handler: async () => ({ status: 'ok', problems: [] }),
  })
  app.route({
    method: 'GET',
    url: '/health/ready',
    onRequest: limitHealth,
    schema: {
      ...common,
      operationId: 'getReadiness',
      summary: 'Requests can be served',
      response: {
        200: Type.Object(Readiness, { description: 'Yes.' }),
        503: Type.Object(Readiness, { description: 'Not now; `problems` says why.' }),
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
    schema: { ...common, operationId: 'getMetrics', summary: 'Prometheus metrics' },
    handler: async (_request, reply) => {
      reply.header('content-type', options.metrics.contentType)
      return options.metrics.metrics()
    },
  })
}

async function readinessProblems({ transfers, readiness }: ObservabilityOptions): Promise<string[]> {
  const [log, rest] = await Promise.all([
    inTime(transfers.find(nobody)).then(
      () => [],
      () => ['the event log cannot be read'],
    ),
    inTime(readiness()).catch(() => ['readiness is unknown']),
  ])
  return [...log, ...rest]
}

async function readinessDetails({ details }: ObservabilityOptions): Promise<string[]> {
  const told = await inTime(details()).catch(() => [])
  const more = told.length - maxDetails
  return more > 0 ? [...told.slice(0, maxDetails), `and ${more} more`] : [...told]
}

async function inTime<Result>(answer: Promise<Result>): Promise<Result> {
  let timer: NodeJS.Timeout | undefined
  const late = new Promise<never>((_, reject) => {
    timer = setTimeout(() => reject(new Error('too late')), readinessTimeoutMs)
  })
  return Promise.race([answer, late]).finally(() => clearTimeout(timer))
}
