import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox'
import type { FastifySchema } from 'fastify'
import { Type } from '../../kernel/typebox.js'
import { tooManyRequests } from '../envelope.js'
import type { HttpServices } from '../services.js'

const missingTransferId = '00000000-0000-0000-0000-000000000000'
const readinessTimeoutMs = 2_000
/** The most sentences of one source, so that a source with many does not hide the others. */
const maxDetails = 20

const Health = Type.Object(
  { status: Type.String({ examples: ['ok'] }), problems: Type.Array(Type.String()) },
  { title: 'Health', description: 'Ready.' },
)
const Readiness = {
  ...Health.properties,
  details: Type.Array(Type.String(), {
    description: 'Problems that need attention but do not prevent the service from serving requests.',
  }),
}

export const observability: FastifyPluginAsyncTypebox = async (app) => {
  const { services } = app
  const documented = <Schema extends FastifySchema>(
    operationId: string,
    summary: string,
    description: string,
    schema: Schema,
  ) => ({
    tags: ['Health'],
    security: [],
    operationId,
    summary,
    description,
    ...schema,
  })
  const onRequest = app.gate.limitObserver()
  const live = documented(
    'getLiveness',
    'Check that the process responds',
    'Checks nothing else: restart the process if it fails.',
    { response: { 200: Health, ...tooManyRequests } },
  )
  app.get('/health/live', { onRequest, schema: live }, async () => ({ status: 'ok', problems: [] }))
  const ready = documented(
    'getReadiness',
    'Check that the service can serve requests',
    'Checks the stores: send requests to another node while it fails.',
    {
      response: {
        200: Type.Object(Readiness, { title: 'Readiness', description: 'Ready.' }),
        ...tooManyRequests,
        503: Type.Object(Readiness, { title: 'Readiness', description: 'Not ready; `problems` states why.' }),
      },
    },
  )
  app.get('/health/ready', { onRequest, schema: ready }, async (_request, reply) => {
    const [problems, details] = await Promise.all([readinessProblems(services), readinessDetails(services)])
    if (problems.length > 0) reply.code(503).header('retry-after', '2')
    return { status: problems.length === 0 ? 'ok' : 'unavailable', problems, details }
  })
  const metrics = documented('getMetrics', 'Get the Prometheus metrics', 'In the text format of Prometheus.', {})
  app.get('/metrics', { onRequest: app.gate.limitObserver(), schema: metrics }, async (_request, reply) => {
    reply.header('content-type', services.metrics.contentType)
    return services.metrics.metrics()
  })
}

async function readinessProblems({ transfers, readiness }: HttpServices): Promise<string[]> {
  const [log, rest] = await Promise.all([
    inTime(transfers.find(missingTransferId)).then(
      () => [],
      () => ['the event log cannot be read'],
    ),
    inTime(readiness()).catch(() => ['readiness is unknown']),
  ])
  return [...log, ...rest]
}

async function readinessDetails({ details }: HttpServices): Promise<string[]> {
  const found = details.map(async ({ what, read }) => {
    const problems = await inTime(read()).catch(() => [`${what} cannot be checked now`])
    const more = problems.length - maxDetails
    return more > 0 ? [...problems.slice(0, maxDetails), `and ${more} more`] : problems
  })
  return (await Promise.all(found)).flat()
}

async function inTime<Result>(response: Promise<Result>): Promise<Result> {
  let timer: NodeJS.Timeout | undefined
  const late = new Promise<never>((_, reject) => {
    timer = setTimeout(() => reject(new Error('too late')), readinessTimeoutMs)
  })
  return Promise.race([response, late]).finally(() => clearTimeout(timer))
}
