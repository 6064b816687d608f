import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox'
import type { Static } from '@sinclair/typebox'
import type { FastifyInstance, FastifyRequest } from 'fastify'
import type { MerchantDirectory } from '../../../commands/merchant/merchant-directory.js'
import type { UserDirectory } from '../../../commands/user/user-commands.js'
import { type Currency, formatAmount } from '../../../domain/money.js'
import { csvLine } from '../../../kernel/csv.js'
import type { Page } from '../../../queries/list-page.js'
import { SearchError, searchTransfers, type TransferSearch } from '../../../queries/transfer-search.js'
import type { TransferDocument } from '../../../read-models/documents.js'
import type { ReadModels } from '../../../read-models/read-models.js'
import { transferOf } from '../../../read-models/transfer-document.js'
import { invalidFields, RequestError } from '../../refusals.js'
import { limitOf, timeOf } from '../../v1/query-values.js'
import { actorNames } from '../actor-names.js'
import { type TransferRowView, TransfersAnswer, TransfersQuery } from '../api.js'
import { limitPerUser } from '../concurrency-limit.js'
import { sendCsv } from '../csv-response.js'
import { rowOf } from './transfer-row.js'

export interface ListOptions {
  readonly readModels: ReadModels
  readonly directory: MerchantDirectory
  readonly userDirectory: UserDirectory
  readonly currency: Currency
  readonly clock: () => string
}

type Query = Static<typeof TransfersQuery>

const exportPage = 500
const maxExports = 2

export const listRoutes: FastifyPluginAsyncTypebox<ListOptions> = async (app, options) => {
  const exporting = limitPerUser(maxExports)
  const search = (query: Query, request: FastifyRequest, page: Pick<TransferSearch, 'limit' | 'cursor'>) =>
    searched(options, { ...searchOf(app, request, query), ...page })

  app.route({
    method: 'GET',
    url: '/transfers',
    ...app.viewers.allow('transfers:read'),
    schema: { hide: true, querystring: TransfersQuery, response: { 200: TransfersAnswer } },
    handler: async (request) => {
      const { limit, cursor } = request.query
      const { items, nextCursor } = await search(request.query, request, { limit: limitOf(limit), cursor })
      return { items: viewOfRows(items, request, options), nextCursor }
    },
  })
  app.route({
    method: 'GET',
    url: '/transfers.csv',
    ...app.viewers.allow('transfers:read'),
    schema: { hide: true, querystring: TransfersQuery },
    handler: async (request, reply) => {
      const pageAfter = (cursor: string | undefined) => search(request.query, request, { limit: exportPage, cursor })
      const end = exporting.hold(request.viewer.userId)
      reply.raw.once('close', end)
      // A reader that left during the session check triggers no further close event.
      if (reply.raw.closed) end()
      // Reject an invalid request before the file starts.
      const first = await pageAfter(undefined)
      const rowsOf = (page: Page<TransferDocument>) => viewOfRows(page.items, request, options)
      return sendCsv(reply, 'transfers', linesOf(first, pageAfter, rowsOf, options.currency))
    },
  })
}

async function* linesOf(
  first: Page<TransferDocument>,
  pageAfter: (cursor: string) => Promise<Page<TransferDocument>>,
  rowsOf: (page: Page<TransferDocument>) => readonly TransferRowView[],
  currency: Currency,
): AsyncGenerator<string> {
  yield csvLine(header)
  let page = first
  for (;;) {
    const lines = rowsOf(page).map((row) => csvLine(cellsOf(row, currency)))
    if (lines.length > 0) yield lines.join('')
    if (page.nextCursor === null) return
    page = await pageAfter(page.nextCursor)
  }
}

const header = [
  ...['createdAt', 'updatedAt', 'kind', 'status', 'amount', 'transactionAmount', 'currency', 'hasAmountMismatch'],
  ...['needsAttention', 'paymentMethod', 'referenceId', 'trackingId', 'merchantId', 'userId', 'name', 'username'],
  'accountNumber',
]

function cellsOf(row: TransferRowView, currency: Currency) {
  const amount = (minor: number) => formatAmount(currency, BigInt(minor))
  return [
    ...[row.createdAt, row.updatedAt, row.kind, row.status, amount(row.amountMinor)],
    ...[amount(row.transactionAmountMinor), currency.code, String(row.hasAmountMismatch), String(row.needsAttention)],
    ...[row.paymentMethod, row.referenceId, row.trackingId, row.merchantId, row.userId, row.name, row.username],
    row.accountNumber ?? '',
  ]
}

export function viewOfRows(
  documents: readonly TransferDocument[],
  request: FastifyRequest,
  options: Pick<ListOptions, 'directory' | 'userDirectory' | 'clock'>,
): TransferRowView[] {
  const { viewer } = request
  const viewing = { viewer, nameOf: actorNames(options.userDirectory, viewer), at: options.clock() }
  return documents.map((document) => rowOf({ transfer: transferOf(document), revision: document.revision }, viewing))
}

/** Returns the merchants of a request, or `undefined` for all. @throws RequestError if the viewer has no access to the merchant */
export function merchantsOf(
  app: FastifyInstance,
  request: FastifyRequest,
  merchantId: string | undefined,
): readonly string[] | undefined {
  if (merchantId === undefined) return request.viewer.merchantIds ?? undefined
  if (!app.viewers.sees(request, merchantId)) throw new RequestError('unknown-merchant')
  return [merchantId]
}

function searchOf(
  app: FastifyInstance,
  request: FastifyRequest,
  query: Query,
): Omit<TransferSearch, 'limit' | 'cursor'> {
  const { kind, status, merchantId, from, to, attention, method, minAmount, maxAmount, text, sort } = query
  const numberOf = (digits: string | undefined) => (digits === undefined ? undefined : Number(digits))
  return {
    ...{ merchantIds: merchantsOf(app, request, merchantId), kind, status, attention, sort },
    ...{ from: timeOf('from', from), to: timeOf('to', to), method: numberOf(method) },
    ...{ minAmountMinor: numberOf(minAmount), maxAmountMinor: numberOf(maxAmount) },
    text: text?.trim() || undefined,
  }
}

const parameterOf: { readonly [field in keyof TransferSearch]?: string } = {
  merchantIds: 'merchantId',
  minAmountMinor: 'minAmount',
  maxAmountMinor: 'maxAmount',
}

/** @throws RequestError that names the filters without an index */
async function searched({ readModels, directory }: ListOptions, search: TransferSearch) {
  try {
    return await searchTransfers(readModels, () => directory.all().map(({ merchantId }) => merchantId), search)
  } catch (error) {
    if (error instanceof SearchError)
      throw invalidFields([{ field: parameterOf[error.field] ?? error.field, ...error.violation }])
    throw error
  }
}
