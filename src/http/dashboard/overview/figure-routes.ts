import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox'
import type { Static } from '@sinclair/typebox'
import type { FastifyRequest } from 'fastify'
import type { CsvReader } from '../../../kernel/csv.js'
import { dateIn, dayMs } from '../../../kernel/time.js'
import { Type } from '../../../kernel/typebox.js'
import { type Bucket, type OverviewRange, withTexts } from '../../../queries/overview.js'
import { knownZone, timeOf } from '../../query-parameters.js'
import { invalid } from '../../refusals.js'
import {
  OpenResponse,
  OverviewResponse,
  RangeQuery,
  StatementFileQuery,
  StatementQuery,
  StatementResponse,
} from '../api.js'
import { csvType, peopleOf, sendFile } from '../downloads.js'
import { merchantsOf, readBy } from '../session-guard.js'
import { rowsOf } from '../transfers/dashboard-transfer-view.js'
import { statementCsv } from './statement-csv.js'

const maxRangeMs = 400 * dayMs
const OfMerchant = Type.Object({ merchantId: Type.Optional(Type.String()) })

export const figureRoutes: FastifyPluginAsyncTypebox = async (app) => {
  const { readers, currency, clock, directory } = app.services
  const read = app.viewers.allow('transfers:read')
  app.get('/overview', read({ querystring: RangeQuery }, OverviewResponse), async (request) => {
    const query = { ...rangeOf(request, request.query), now: clock() }
    const { oldestPending, compared, ...figures } = await readers.page(readBy(request), 'overview', query)
    return {
      ...figures,
      buckets: figures.buckets.map(bucketOf),
      compared: {
        ...compared,
        now: compared.now.map(bucketOf),
        earlier: compared.earlier.map(bucketOf),
        before: compared.before.map(bucketOf),
      },
      oldestPending: await rowsOf(request, oldestPending),
    }
  })
  app.get('/open', read({ querystring: OfMerchant }, OpenResponse), async (request) => {
    const merchantIds = merchantsOf(request, request.query.merchantId)
    const { pending, toPay, failingEndpoints } = await readers.page(readBy(request), 'open', { merchantIds })
    return { pending, toPay, failingEndpoints }
  })
  const statement = async (request: FastifyRequest<{ Querystring: Static<typeof StatementQuery> }>) => {
    const range = rangeOf(request, request.query)
    const timeZone = knownZone(request.query.timeZone ?? 'UTC')
    const query = { ...range, timeZone, now: clock() }
    return { range, timeZone, lines: await readers.page(readBy(request), 'statement', query) }
  }
  app.get('/statement', read({ querystring: StatementQuery }, StatementResponse), async (request) => {
    return { items: (await statement(request)).lines.map(withTexts) }
  })
  const file = async (request: Parameters<typeof statement>[0], reader: CsvReader) => {
    const { range, timeZone, lines } = await statement(request)
    const [merchantId, ...others] = range.merchantIds ?? []
    const merchant = others.length === 0 && merchantId !== undefined ? directory.byId(merchantId) : undefined
    const lastMs = Date.parse(range.to) - 1
    const head = {
      merchant: merchant && { merchantId: merchant.merchantId, name: merchant.settings.name },
      timeZone,
      currency,
      firstDay: dateIn(timeZone, range.from),
      lastDay: dateIn(timeZone, new Date(lastMs).toISOString()),
    }
    return statementCsv(lines, head, reader)
  }
  app.get('/statement.csv', read({ querystring: StatementFileQuery }), async (request, reply) =>
    sendFile(reply, 'statement.csv', csvType, await file(request, peopleOf(request.query))),
  )
  app.get('/statement-exact.csv', read({ querystring: StatementQuery }), async (request, reply) =>
    sendFile(reply, 'statement-exact.csv', csvType, await file(request, 'programs')),
  )
}

export function bucketOf({ receivedMinor: _, ...bucket }: Bucket) {
  return withTexts(bucket)
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
