import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox'
import type { Static } from '@sinclair/typebox'
import type { FastifyRequest } from 'fastify'
import { formatAmount } from '../../../domain/money.js'
import { isAllowed } from '../../../domain/user/permissions.js'
import { type Cell, type PeopleCsv, peopleCsv, peopleCsvHead } from '../../../kernel/csv.js'
import { Type } from '../../../kernel/typebox.js'
import type { Page } from '../../../queries/list-page.js'
import { changesOf } from '../../../queries/recent-changes.js'
import { search } from '../../../queries/search.js'
import { transferHistory } from '../../../queries/transfer-history.js'
import { SearchError, searchTransfers, type TransferSearch } from '../../../queries/transfer-search.js'
import type { TransferDocument } from '../../../read-models/documents.js'
import { invalidFields } from '../../refusals.js'
import { limitOf, timeOf } from '../../v1/requests.js'
import {
  ChangesAnswer,
  TransferParams as params,
  SearchAnswer,
  StoryAnswer,
  TransferDetail,
  TransfersAnswer,
  TransfersQuery,
} from '../api.js'
import { holdWhileSent, limitPerUser, sendLines } from '../downloads.js'
import { actorNames, merchantsOf, requireOwn, seenMerchants } from '../session-guard.js'
import { detailOf, rowOf, seenTransfer } from './dashboard-transfer-view.js'

const exportPage = 500
const maxExports = 2

/** Adds the lists of transfers, one transfer with its history, the changes to merchants and users, and the search of the command palette. */
export const transferRoutes: FastifyPluginAsyncTypebox = async (app) => {
  const { eventStore, readModels, transfers, directory, users, userDirectory } = app.services
  const read = app.viewers.allow('transfers:read')
  const exporting = limitPerUser(maxExports)

  app.get('/transfers/:trackingId', read({ params }, TransferDetail), async (request) =>
    detailOf(request, await seenTransfer(request, request.params.trackingId)),
  )
  app.get('/transfers', read({ querystring: TransfersQuery }, TransfersAnswer), async (request) => {
    const { limit, cursor } = request.query
    const { items, nextCursor } = await searched(request, request.query, limitOf(limit), cursor)
    return { items: items.map((document) => rowOf(request, document)), nextCursor }
  })
  app.get('/transfers.csv', read({ querystring: TransfersQuery }), async (request, reply) => {
    const pageAfter = (cursor: string | undefined) => searched(request, request.query, exportPage, cursor)
    holdWhileSent(exporting, reply)
    // Reject an invalid request before the file starts.
    const first = await pageAfter(undefined)
    return sendLines(reply, 'transfers', 'csv', linesOf(first, pageAfter, cellsOf(request)))
  })
  app.get('/transfers/:trackingId/story', read({ params }, StoryAnswer), async (request) => {
    const trackingId = request.params.trackingId.toLowerCase()
    requireOwn(request, (await transfers.find(trackingId))?.transfer.merchantId, 'unknown-transfer')
    const nameOf = actorNames(request)
    const showsAccounts = request.viewer.merchantIds === null
    const story = await transferHistory(eventStore, trackingId, { showsAccounts })
    // Claims and approvals contain the id of a user.
    const named = (data: { readonly [field: string]: unknown }) =>
      typeof data.by === 'string' ? { ...data, by: nameOf(data.by) } : data
    return { items: story.map((each) => ({ ...each, actor: nameOf(each.actor), data: named(each.data) })) }
  })
  const ofSubject = Type.Object({ subject: Type.Optional(Type.String({ maxLength: 64 })) })
  app.get('/changes', app.viewers.allow('users:read')({ querystring: ofSubject }, ChangesAnswer), async (request) => {
    const { subject } = request.query
    await userDirectory.catchUp()
    const of = (ids: Iterable<string>) => [...ids].filter((id) => subject === undefined || id === subject)
    const userIds = of(userDirectory.all().map(({ userId }) => userId))
    const changes = await changesOf(eventStore, { merchantIds: of(directory.ids()), userIds })
    const nameOf = actorNames(request)
    return { items: changes.map((change) => ({ ...change, actor: nameOf(change.actor) })) }
  })
  const forText = Type.Object({ text: Type.String({ minLength: 1, maxLength: 128 }) })
  app.get('/search', read({ querystring: forText }, SearchAnswer), async (request) => {
    const merchants = seenMerchants(request).map(({ merchantId: id, settings: { name } }) => ({ id, name, also: id }))
    const people = isAllowed(request.viewer.role, 'users:read') ? userDirectory.all() : []
    const known = people.map((user) => ({ id: user.userId, name: user.name, also: users.shownEmailOf(user) }))
    return { items: await search({ transfers, readModels, merchants, users: known }, request.query.text) }
  })
}

const header = [
  ...['createdAt', 'updatedAt', 'kind', 'status', 'amount', 'transactionAmount', 'currency', 'hasAmountMismatch'],
  ...['needsAttention', 'paymentMethod', 'referenceId', 'trackingId', 'merchant', 'userId', 'name', 'username'],
  'accountNumber',
]

async function* linesOf(
  first: Page<TransferDocument>,
  pageAfter: (cursor: string) => Promise<Page<TransferDocument>>,
  cellsOf: (row: TransferDocument) => readonly Cell[],
): AsyncGenerator<PeopleCsv> {
  yield peopleCsvHead(header)
  let page = first
  for (;;) {
    if (page.items.length > 0) yield peopleCsv(page.items.map(cellsOf))
    if (page.nextCursor === null) return
    page = await pageAfter(page.nextCursor)
  }
}

/** Shows merchants and payment methods by their names, because people read the file. */
function cellsOf({ server }: FastifyRequest): (row: TransferDocument) => readonly Cell[] {
  const { currency, directory, paymentMethods } = server.services
  const amount = (minor: number) => formatAmount(currency, BigInt(minor))
  const methodName = (code: number) => paymentMethods.find((method) => method.code === code)?.name ?? code
  const merchantName = (id: string) => directory.byId(id)?.settings.name ?? id
  return (row) => [
    ...[row.createdAt, row.updatedAt, row.kind, row.status, amount(row.amountMinor)],
    ...[
      amount(row.transactionAmountMinor),
      currency.code,
      String(row.hasAmountMismatch),
      String(row.attention === 'open'),
    ],
    ...[methodName(row.paymentMethod), row.referenceId, row._id, merchantName(row.merchantId)],
    ...[row.userId, row.name, row.username],
    row.accountNumber ?? '',
  ]
}

const parameterOf: { readonly [field in keyof TransferSearch]?: string } = {
  merchantIds: 'merchantId',
  minAmountMinor: 'minAmount',
  maxAmountMinor: 'maxAmount',
}

/** @throws RequestError that names the filters without an index */
async function searched(
  request: FastifyRequest,
  query: Static<typeof TransfersQuery>,
  limit: number,
  cursor: string | undefined,
): Promise<Page<TransferDocument>> {
  const { readModels, directory } = request.server.services
  const { kind, status, merchantId, from, to, attention, method, minAmount, maxAmount, text, sort } = query
  const numberOf = (digits: string | undefined) => (digits === undefined ? undefined : Number(digits))
  const wanted = {
    ...{ merchantIds: merchantsOf(request, merchantId), kind, status, attention, sort, limit, cursor },
    ...{ from: timeOf('from', from), to: timeOf('to', to), method: numberOf(method) },
    ...{ minAmountMinor: numberOf(minAmount), maxAmountMinor: numberOf(maxAmount) },
    text: text?.trim() || undefined,
  }
  try {
    return await searchTransfers(readModels, () => directory.all().map(({ merchantId }) => merchantId), wanted)
  } catch (error) {
    if (!(error instanceof SearchError)) throw error
    throw invalidFields([{ field: parameterOf[error.field] ?? error.field, ...error.violation }])
  }
}
