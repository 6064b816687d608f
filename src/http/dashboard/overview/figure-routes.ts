import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox'
import type { Static } from '@sinclair/typebox'
import type { FastifyRequest } from 'fastify'
import { type Currency, formatAmount } from '../../../domain/money.js'
import { isAllowed } from '../../../domain/user/permissions.js'
import { type PeopleCsv, peopleCsv, peopleCsvHead } from '../../../kernel/csv.js'
import { dayMs } from '../../../kernel/time.js'
import { bucketsOf, countOpen, type OverviewRange, oldestPending, timeToCompletion } from '../../../queries/overview.js'
import { type StatementLine, statementOf } from '../../../queries/statement.js'
import { invalid } from '../../refusals.js'
import { timeOf } from '../../v1/requests.js'
import { OverviewAnswer, RangeQuery, StatementAnswer } from '../api.js'
import { sendLines } from '../downloads.js'
import { merchantsOf, seenMerchants } from '../session-guard.js'
import { rowOf } from '../transfers/dashboard-transfer-view.js'

const maxRangeMs = 400 * dayMs

export const figureRoutes: FastifyPluginAsyncTypebox = async (app) => {
  const { readModels, callbacks, currency, projectionLags } = app.services
  const read = app.viewers.allow('transfers:read')
  app.get('/overview', read({ querystring: RangeQuery }, OverviewAnswer), async (request) => {
    const range = rangeOf(request, request.query)
    const { merchantIds } = range
    const oldest = await oldestPending(readModels, merchantIds)
    return {
      ...(await bucketsOf(readModels, range)),
      ...(await countOpen(readModels, merchantIds)),
      timeToCompletion: await timeToCompletion(readModels, range),
      oldestPending: oldest.map((document) => rowOf(request, document)),
      failingEndpoints: await failingEndpoints(request, merchantIds),
      projections: isAllowed(request.viewer.role, 'operations:read') ? await projectionLags() : [],
    }
  })
  app.get('/statement', read({ querystring: RangeQuery }, StatementAnswer), async (request) => {
    const range = rangeOf(request, request.query)
    return { items: await statementOf(readModels, range.merchantIds, range) }
  })
  app.get('/statement.csv', read({ querystring: RangeQuery }), async (request, reply) => {
    const range = rangeOf(request, request.query)
    const lines = await statementOf(readModels, range.merchantIds, range)
    return sendLines(reply, 'statement', 'csv', statementCsv(lines, currency))
  })

  /** Counts the endpoints that fail or are disabled. */
  async function failingEndpoints(request: FastifyRequest, merchantIds: readonly string[] | undefined) {
    const merchants = seenMerchants(request).filter(({ merchantId }) => merchantIds?.includes(merchantId) ?? true)
    const failing = await Promise.all(
      merchants.map(
        async ({ merchantId, callbacksDisabled }) =>
          callbacksDisabled !== null || (await callbacks.endpointFailingSince(merchantId)) !== null,
      ),
    )
    return failing.filter(Boolean).length
  }
}

/** @throws RequestError */
function rangeOf(request: FastifyRequest, query: Static<typeof RangeQuery>): OverviewRange {
  const merchantIds = merchantsOf(request, query.merchantId)
  const [from, to] = [timeOf('from', query.from)!, timeOf('to', query.to)!]
  if (from >= to) throw invalid('to', 'not-after', { other: 'from' })
  if (Date.parse(to) - Date.parse(from) > maxRangeMs) {
    throw invalid('to', 'range-too-long', { days: maxRangeMs / dayMs })
  }
  return { merchantIds, from, to }
}

const statementHeader = [
  ...['day', 'kind', 'currency', 'requestedCount', 'requested', 'completedCount', 'completed', 'mismatch', 'returned'],
  ...['openCount', 'open'],
]

async function* statementCsv(lines: readonly StatementLine[], currency: Currency): AsyncGenerator<PeopleCsv> {
  const amount = (minor: number) => (minor < 0 ? '-' : '') + formatAmount(currency, BigInt(Math.abs(minor)))
  yield peopleCsvHead(statementHeader)
  for (const line of lines) {
    const cells = [
      ...[line.day, line.kind, currency.code, line.requestedCount, amount(line.requestedMinor), line.completedCount],
      ...[amount(line.completedMinor), amount(line.mismatchMinor), amount(line.returnedMinor), line.openCount],
      amount(line.openMinor),
    ]
    yield peopleCsv([cells])
  }
}
