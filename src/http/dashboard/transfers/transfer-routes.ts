import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox'
import type { Static } from '@sinclair/typebox'
import type { FastifyReply, FastifyRequest } from 'fastify'
import { isAllowed } from '../../../domain/user/permissions.js'
import type { CsvReader } from '../../../kernel/csv.js'
import { Type } from '../../../kernel/typebox.js'
import { maxSearchedLength } from '../../../kernel/typed-text.js'
import { storedUuid } from '../../../kernel/uuid.js'
import { withTexts } from '../../../queries/overview.js'
import { transferHistory } from '../../../queries/transfer-history.js'
import type { TransferSearch } from '../../../queries/transfer-search.js'
import { limitOf, searched, timeOf } from '../../query-parameters.js'
import {
  ChangesResponse,
  TransferParams as params,
  SearchResponse,
  StoryResponse,
  TransferDetail,
  TransfersFileQuery,
  TransfersQuery,
  TransfersResponse,
  TransfersSum,
} from '../api.js'
import { closeOf, peopleOf, sendPages, withoutHead } from '../downloads.js'
import { actorNames, merchantsOf, readBy, requireOwn, seenMerchants, withNamedActors } from '../session-guard.js'
import { detailOf, rowOf, rowsOf, seenTransfer } from './dashboard-transfer-view.js'

/** Adds the lists of transfers, one transfer with its history, the changes to merchants and users, and the search of the command palette. */
export const transferRoutes: FastifyPluginAsyncTypebox = async (app) => {
  const { eventStore, readers, transfers, directory, users, userDirectory, currency, paymentMethods } = app.services
  const read = app.viewers.allow('transfers:read')

  app.get('/transfers/:trackingId', read({ params }, TransferDetail), async (request) =>
    detailOf(request, await seenTransfer(request, request.params.trackingId)),
  )
  app.get('/transfers', read({ querystring: TransfersQuery }, TransfersResponse), async (request) => {
    const { limit, cursor } = request.query
    const wanted = { ...searchOf(request, request.query), limit: limitOf(limit), cursor }
    const { items, nextCursor } = await searched(readers.page(readBy(request), 'transfers', wanted), parameterOf)
    return { items: await rowsOf(request, items), nextCursor }
  })
  app.get('/transfers/sum', read({ querystring: TransfersQuery }, TransfersSum), async (request) =>
    withTexts(
      await searched(readers.page(readBy(request), 'transfersSum', searchOf(request, request.query)), parameterOf),
    ),
  )
  const sendCsv = async (request: Searching, reply: FastifyReply, name: string, reader: CsvReader) => {
    const query = { search: searchOf(request, request.query), currency, paymentMethods, reader }
    const pages = await searched(readers.file(readBy(request), closeOf(reply), 'transfers', query), parameterOf)
    return sendPages(reply, name, 'csv', pages)
  }
  app.get('/transfers.csv', { ...withoutHead, ...read({ querystring: TransfersFileQuery }) }, (request, reply) =>
    sendCsv(request, reply, 'transfers', peopleOf(request.query)),
  )
  app.get('/transfers-exact.csv', { ...withoutHead, ...read({ querystring: TransfersQuery }) }, (request, reply) =>
    sendCsv(request, reply, 'transfers-exact', 'programs'),
  )
  app.get('/transfers/:trackingId/story', read({ params }, StoryResponse), async (request) => {
    const trackingId = storedUuid(request.params.trackingId)
    requireOwn(request, (await transfers.find(trackingId))?.transfer.merchantId, 'unknown-transfer')
    const nameOf = actorNames(request)
    const showsAccounts = request.viewer.merchantIds === null
    const story = await transferHistory(eventStore, trackingId, { showsAccounts })
    return {
      items: story.map(({ stream: _s, position: _p, recordedAt: _r, ...each }) => ({
        ...each,
        actor: nameOf(each.actor),
        data: withNamedActors(each.data, nameOf),
      })),
    }
  })
  const ofSubject = Type.Object({ subject: Type.Optional(Type.String({ maxLength: 64 })) })
  app.get('/changes', app.viewers.allow('users:read')({ querystring: ofSubject }, ChangesResponse), async (request) => {
    const { subject } = request.query
    await userDirectory.catchUp()
    const of = (ids: Iterable<string>) => [...ids].filter((id) => subject === undefined || id === subject)
    const userIds = of(userDirectory.all().map(({ userId }) => userId))
    const streams = { merchantIds: of(directory.ids()), userIds }
    const changes = await readers.page(readBy(request), 'changes', streams)
    const nameOf = actorNames(request)
    return { items: changes.map((change) => ({ ...change, actor: nameOf(change.actor) })) }
  })
  const forText = Type.Object({ text: Type.String({ minLength: 1, maxLength: maxSearchedLength }) })
  app.get('/search', read({ querystring: forText }, SearchResponse), async (request) => {
    const merchants = seenMerchants(request).map(({ merchantId: id, settings: { name } }) => ({ id, name, also: id }))
    const people = isAllowed(request.viewer.role, 'users:read') ? userDirectory.all() : []
    const named = people.map((user) => ({ id: user.userId, name: user.name, also: users.shownEmailOf(user) }))
    const { text } = request.query
    const query = { text, merchantIds: merchantsOf(request, undefined), merchants, users: named }
    const found = await readers.page(readBy(request), 'search', query)
    return {
      items: found.map(({ transfer, ...each }) => {
        if (!transfer) return { ...each, transfer: null }
        const { kind, status, amountMinor, createdAt } = rowOf(request, transfer)
        return { ...each, transfer: { kind, status, amountMinor, createdAt } }
      }),
    }
  })
}

type Searching = FastifyRequest<{ Querystring: Static<typeof TransfersQuery> }>

const parameterOf: { readonly [field in keyof TransferSearch]?: string } = {
  merchantIds: 'merchantId',
  minAmountMinor: 'minAmount',
  maxAmountMinor: 'maxAmount',
}

/** @throws RequestError */
function searchOf(
  request: FastifyRequest,
  query: Static<typeof TransfersQuery>,
): Omit<TransferSearch, 'limit' | 'cursor'> {
  const { kind, status, merchantId, from, to, attention, method, minAmount, maxAmount, text, sort } = query
  const numberOf = (digits: string | undefined) => (digits === undefined ? undefined : Number(digits))
  return {
    merchantIds: merchantsOf(request, merchantId),
    kind,
    status,
    attention,
    sort,
    from: timeOf('from', from),
    to: timeOf('to', to),
    method: numberOf(method),
    minAmountMinor: numberOf(minAmount),
    maxAmountMinor: numberOf(maxAmount),
    text: text?.trim() || undefined,
  }
}
