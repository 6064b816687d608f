import { Type } from '@sinclair/typebox'
import type { App } from '../app.js'
import type { HttpDependencies } from '../dependencies.js'
import type { Gate } from '../plugins/gate.js'

const nobody = '00000000-0000-0000-0000-000000000000'
const readinessTimeoutMs = 2_000
const maxDetails = 20

export function registerObservability(app: App, deps: HttpDependencies, gate: Gate): void {
  const Health = Type.Object(
    { status: Type.String({ examples: ['ok'] }), problems: Type.Array(Type.String()) },
    { description: 'Yes.' },
  )
  const Readiness = {
    ...Health.properties,
    details: Type.Array(Type.String(), { description: 'What keeps nobody from being served but needs a person.' }),
  }

  app.route({
    method: 'GET',
    url: '/health/live',
    onRequest: gate.limitObserver('health'),
    schema: {
      tags: ['Health'],
      operationId: 'getLiveness',
      summary: 'The process answers',
      security: [],
      response: { 200: Health },
    },
    handler: async () => ({ status: 'ok', problems: [] }),
  })
  app.route({
    method: 'GET',
    url: '/health/ready',
    onRequest: gate.limitObserver('health'),
    schema: {
      tags: ['Health'],
      operationId: 'getReadiness',
      summary: 'Requests can be served',
      security: [],
      response: {
        200: Type.Object(Readiness, { description: 'Yes.' }),
        503: Type.Object(Readiness, { description: 'Not now; `problems` says why.' }),
      },
    },
    handler: async (_request, reply) => {
      const [problems, details] = await Promise.all([readinessProblems(deps), readinessDetails(deps)])
      if (problems.length > 0) reply.code(503).header('retry-after', '2')
      return { status: problems.length === 0 ? 'ok' : 'unavailable', problems: [...problems], details }
    },
  })
  app.route({
    method: 'GET',
    url: '/metrics',
    onRequest: gate.limitObserver('metrics'),
    schema: { tags: ['Health'], operationId: 'getMetrics', summary: 'Prometheus metrics', security: [] },
    handler: async (_request, reply) => {
      reply.header('content-type', deps.metrics.contentType)
      return deps.metrics.metrics()
    },
  })
}

async function readinessProblems({ transfers, readiness }: HttpDependencies): Promise<readonly string[]> {
  const [log, rest] = await Promise.all([
    inTime(transfers.find(nobody)).then(
      () => [],
      () => ['the event log cannot be read'],
    ),
    inTime(readiness()).catch(() => ['readiness cannot be told']),
  ])
  return [...log, ...rest]
}

async function readinessDetails({ details }: HttpDependencies): Promise<string[]> {
  const told = await inTime(details()).catch(() => [])
  const more = told.length - maxDetails
  return more > 0 ? [...told.slice(0, maxDetails), `and ${more} more`] : [...told]
}

async function inTime<Result>(work: Promise<Result>): Promise<Result> {
  let timer: NodeJS.Timeout | undefined
  const late = new Promise<never>((_, reject) => {
    timer = setTimeout(() => reject(new Error('too late')), readinessTimeoutMs)
  })
  return Promise.race([work, late]).finally(() => clearTimeout(timer))
}
