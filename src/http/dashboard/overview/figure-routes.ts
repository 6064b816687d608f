import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox'
import type { Static } from '@sinclair/typebox'
import type { FastifyInstance, FastifyRequest } from 'fastify'
import type { CallbackCommands } from '../../../commands/callback/callback-commands.js'
import { type Currency, formatAmount } from '../../../domain/money.js'
import { isAllowed } from '../../../domain/user/permissions.js'
import { csvLine } from '../../../kernel/csv.js'
import { dayMs } from '../../../kernel/time.js'
import { bucketsOf, countOpen, type OverviewRange, oldestPending, timeToCompletion } from '../../../queries/overview.js'
import { type StatementLine, statementOf } from '../../../queries/statement.js'
import { invalid } from '../../refusals.js'
import { timeOf } from '../../v1/query-values.js'
import { OverviewAnswer, RangeQuery, StatementAnswer } from '../api.js'
import { sendCsv } from '../csv-response.js'
import { type ListOptions, merchantsOf, viewOfRows } from '../transfers/list-routes.js'

/** The lag of a projection. */
export interface ProjectionLag {
  readonly name: string
  readonly behind: boolean
  /** The time of the last applied event, or null if unknown. */
  readonly lagMs: number | null
}

export interface FiguresOptions extends ListOptions {
  readonly callbacks: CallbackCommands
  readonly projectionLags: () => Promise<readonly ProjectionLag[]>
}

const maxRangeMs = 400 * dayMs

export const figureRoutes: FastifyPluginAsyncTypebox<FiguresOptions> = async (app, options) => {
  const read = app.viewers.allow('transfers:read')
  app.route({
    method: 'GET',
    url: '/overview',
    ...read,
    schema: { hide: true, querystring: RangeQuery, response: { 200: OverviewAnswer } },
    handler: async (request) => overviewOf(rangeOf(app, request, request.query), request, options),
  })
  app.route({
    method: 'GET',
    url: '/statement',
    ...read,
    schema: { hide: true, querystring: RangeQuery, response: { 200: StatementAnswer } },
    handler: async (request) => {
      const range = rangeOf(app, request, request.query)
      return { items: [...(await statementOf(options.readModels, range.merchantIds, range))] }
    },
  })
  app.route({
    method: 'GET',
    url: '/statement.csv',
    ...read,
    schema: { hide: true, querystring: RangeQuery },
    handler: async (request, reply) => {
      const range = rangeOf(app, request, request.query)
      const lines = await statementOf(options.readModels, range.merchantIds, range)
      return sendCsv(reply, 'statement', statementCsv(lines, options.currency))
    },
  })
}

/** @throws RequestError */
function rangeOf(app: FastifyInstance, request: FastifyRequest, query: Static<typeof RangeQuery>): OverviewRange {
  const merchantIds = merchantsOf(app, request, query.merchantId)
  const [from, to] = [timeOf('from', query.from)!, timeOf('to', query.to)!]
  if (from >= to) throw invalid('to', 'not-after', { other: 'from' })
  if (Date.parse(to) - Date.parse(from) > maxRangeMs)
    throw invalid('to', 'range-too-long', { days: maxRangeMs / dayMs })
  return { merchantIds, from, to }
}

async function overviewOf(
  range: OverviewRange,
  request: FastifyRequest,
  options: FiguresOptions,
): Promise<Static<typeof OverviewAnswer>> {
  const { readModels } = options
  const { merchantIds } = range
  const { bucketMs, buckets } = await bucketsOf(readModels, range)
  const { pending, needingAttention, parkedCallbacks } = await countOpen(readModels, merchantIds)
  const maySeeLags = isAllowed(request.viewer.role, 'operations:read')
  return {
    ...{ bucketMs, buckets: [...buckets], pending: [...pending], needingAttention, parkedCallbacks },
    timeToCompletion: await timeToCompletion(readModels, range),
    oldestPending: viewOfRows(await oldestPending(readModels, merchantIds), request, options),
    failingEndpoints: await failingEndpoints(merchantIds, options),
    projections: maySeeLags ? [...(await options.projectionLags())] : [],
  }
}

/** Counts the endpoints that fail or are disabled. */
async function failingEndpoints(
  merchantIds: readonly string[] | undefined,
  { callbacks, directory }: FiguresOptions,
): Promise<number> {
  const merchants = directory.all().filter(({ merchantId }) => merchantIds?.includes(merchantId) ?? true)
  const failing = await Promise.all(
    merchants.map(
      async ({ merchantId, callbacksDisabled }) =>
        callbacksDisabled !== null || (await callbacks.endpointFailingSince(merchantId)) !== null,
    ),
  )
  return failing.filter(Boolean).length
}

const statementHeader = [
  ...['day', 'kind', 'currency', 'requestedCount', 'requested', 'completedCount', 'completed', 'mismatch', 'returned'],
  ...['openCount', 'open'],
]

async function* statementCsv(lines: readonly StatementLine[], currency: Currency): AsyncGenerator<string> {
  const amount = (minor: number) => (minor < 0 ? '-' : '') + formatAmount(currency, BigInt(Math.abs(minor)))
  yield csvLine(statementHeader)
  for (const line of lines) {
    yield csvLine([
      ...[line.day, line.kind, currency.code, line.requestedCount, amount(line.requestedMinor), line.completedCount],
      ...[amount(line.completedMinor), amount(line.mismatchMinor), amount(line.returnedMinor), line.openCount],
      amount(line.openMinor),
    ])
  }
}
