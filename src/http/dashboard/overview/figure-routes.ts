import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox'
import type { Static } from '@sinclair/typebox'
import type { FastifyRequest } from 'fastify'
import { type Currency, formatAmount } from '../../../domain/money.js'
import { peopleCsv, peopleCsvHead } from '../../../kernel/csv.js'
import { dayMs } from '../../../kernel/time.js'
import { Type } from '../../../kernel/typebox.js'
import { type OverviewRange, withTexts } from '../../../queries/overview.js'
import type { StatementLine } from '../../../queries/statement.js'
import { invalid } from '../../refusals.js'
import { knownZone, timeOf } from '../../v1/requests.js'
import { OpenAnswer, OverviewAnswer, RangeQuery, StatementAnswer, StatementQuery } from '../api.js'
import { sendFile } from '../downloads.js'
import { merchantsOf, readBy } from '../session-guard.js'
import { rowOf } from '../transfers/dashboard-transfer-view.js'

const maxRangeMs = 400 * dayMs
const OfMerchant = Type.Object({ merchantId: Type.Optional(Type.String()) })

export const figureRoutes: FastifyPluginAsyncTypebox = async (app) => {
  const { readers, currency, clock } = app.services
  const read = app.viewers.allow('transfers:read')
  app.get('/overview', read({ querystring: RangeQuery }, OverviewAnswer), async (request) => {
    const { oldestPending, compared, ...figures } = await readers.page(
      readBy(request),
      'overview',
      rangeOf(request, request.query),
      clock(),
    )
    return {
      ...figures,
      buckets: figures.buckets.map(withTexts),
      compared: {
        ...compared,
        now: compared.now.map(withTexts),
        earlier: compared.earlier.map(withTexts),
        before: compared.before.map(withTexts),
      },
      oldestPending: oldestPending.map((document) => rowOf(request, document)),
    }
  })
  app.get('/open', read({ querystring: OfMerchant }, OpenAnswer), async (request) =>
    readers.page(readBy(request), 'open', merchantsOf(request, request.query.merchantId)),
  )
  const statement = (request: FastifyRequest<{ Querystring: Static<typeof StatementQuery> }>) => {
    const range = rangeOf(request, request.query)
    const period = { ...range, timeZone: knownZone(request.query.timeZone ?? 'UTC'), now: clock() }
    return readers.page(readBy(request), 'statement', range.merchantIds, period)
  }
  app.get('/statement', read({ querystring: StatementQuery }, StatementAnswer), async (request) => {
    return { items: (await statement(request)).map(withTexts) }
  })
  app.get('/statement.csv', read({ querystring: StatementQuery }), async (request, reply) =>
    sendFile(reply, 'statement.csv', 'text/csv; charset=utf-8', statementCsv(await statement(request), currency)),
  )
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
  ...['day', 'kind', 'currency', 'requestedCount', 'requested', 'opening', 'received', 'completedCount', 'completed'],
  ...['mismatch', 'returned', 'resolved', 'held', 'openCount', 'open'],
]

function statementCsv(lines: readonly StatementLine[], currency: Currency): string {
  const amount = (minor: bigint) => (minor < 0n ? '-' : '') + formatAmount(currency, minor < 0n ? -minor : minor)
  const rows = lines.map((line) => [
    ...[line.day, line.kind, currency.code, line.requestedCount, amount(line.requestedMinor)],
    ...[amount(line.openingMinor), amount(line.receivedMinor), line.completedCount, amount(line.completedMinor)],
    ...[amount(line.mismatchMinor), amount(line.returnedMinor), amount(line.resolvedMinor), amount(line.heldMinor)],
    ...[line.openCount, amount(line.openMinor)],
  ])
  return peopleCsvHead(statementHeader) + peopleCsv(rows)
}
