import { trackingIdOf } from '../commands/ids.js'
import type { Status } from '../domain/transfer/transfer.js'
import type { TransferKind } from '../domain/transfer/transfer-events.js'
import { type Violation, violate } from '../kernel/rules.js'
import { collections, type TransferDocument } from '../read-models/documents.js'
import type { ReadModels } from '../read-models/read-models.js'
import {
  isTermKey,
  methodTerm,
  parseTermKey,
  termSince,
  termsPrefix,
  textTerm,
  textTermsOf,
} from '../read-models/transfer-document.js'
import { type Order, type Page, pageOfAll, parseAmountCursor, parseCursor, type Run } from './list-page.js'
import { pageOfRuns, runsOf, transferKinds, transfersByIdPrefix, transfersByIds } from './transfer-queries.js'

export interface TransferSearch {
  /** `undefined` for all merchants. */
  readonly merchantIds: readonly string[] | undefined
  readonly kind: TransferKind | undefined
  readonly status: Status | undefined
  /** Inclusive time of creation; ISO 8601 in UTC with milliseconds. */
  readonly from: string | undefined
  /** Exclusive time of creation. */
  readonly to: string | undefined
  /** Only transfers whose money needs a decision. */
  readonly attention: 'open' | undefined
  readonly method: number | undefined
  /** Both bounds are inclusive. */
  readonly minAmountMinor: number | undefined
  readonly maxAmountMinor: number | undefined
  /** A prefix of a referenceId, trackingId, userId, name or account number. */
  readonly text: string | undefined
  readonly sort: 'newest' | 'oldest' | 'largest' | 'smallest' | undefined
  readonly limit: number
  readonly cursor: string | undefined
}

type MerchantIds = () => readonly string[]

/** No index serves this combination of filters, so that the search would read every transfer. */
export class SearchError extends Error {
  override readonly name = 'SearchError'

  constructor(
    readonly field: keyof TransferSearch,
    readonly violation: Violation,
  ) {
    super(`${field}: ${violation.rule}`)
  }
}

/**
 * Returns a page of transfers from the read model. Every search uses an index and reads only a few times as many documents as a page
 * holds. `allMerchantIds` serves lookups per merchant. @throws SearchError, ReadModelsUnavailableError
 */
export function searchTransfers(readModels: ReadModels, allMerchantIds: MerchantIds, search: TransferSearch) {
  const { text, method, attention, sort, minAmountMinor, maxAmountMinor } = search
  if (text !== undefined) return byText(readModels, allMerchantIds, search, text)
  if (method !== undefined) return byMethod(readModels, search, method)
  if (attention !== undefined) return byAttention(readModels, search)
  const ofAmount = minAmountMinor !== undefined || maxAmountMinor !== undefined
  if (ofAmount || sort === 'largest' || sort === 'smallest') return byAmount(readModels, search)
  const { from, to, limit } = search
  const page = { limit, cursor: timePosition(search) }
  return pageOfRuns(readModels, timeOrder(search), runsOf(search, { from, to }), page)
}

function byAttention(readModels: ReadModels, search: TransferSearch): Promise<Page<TransferDocument>> {
  rejectFields(search, ['status', 'minAmountMinor', 'maxAmountMinor'], 'attention')
  rejectOrder(search, 'attention', ['newest', 'oldest'])
  const { merchantIds, kind, from, to, limit } = search
  const runs = merchantIds
    ? [...new Set(merchantIds)].map((merchantId): Run => ({ equal: { attentionOf: merchantId }, from, to }))
    : [{ equal: { attention: 'open' }, from, to }]
  // Only deposits have received money that is not settled.
  const page = { limit, cursor: timePosition(search) }
  return pageOfRuns(readModels, timeOrder(search), kind === 'withdrawal' ? [] : runs, page)
}

function byAmount(readModels: ReadModels, search: TransferSearch): Promise<Page<TransferDocument>> {
  const { merchantIds, minAmountMinor, maxAmountMinor, sort, limit, cursor } = search
  const named =
    minAmountMinor !== undefined ? 'minAmountMinor' : maxAmountMinor !== undefined ? 'maxAmountMinor' : 'sort'
  rejectFields(search, ['from', 'to'], 'amount')
  rejectOrder(search, 'amount', ['largest', 'smallest'])
  if (!merchantIds) throw new SearchError(named, violate('needs-field', { other: 'merchantId' }))
  const order: Order = { field: 'amountMinor', direction: sort === 'smallest' ? 1 : -1 }
  const bounds = { from: minAmountMinor, to: maxAmountMinor === undefined ? undefined : maxAmountMinor + 1 }
  return pageOfRuns(readModels, order, runsOf(search, bounds), { limit, cursor: positionOf(cursor, parseAmountCursor) })
}

function byMethod(readModels: ReadModels, search: TransferSearch, method: number): Promise<Page<TransferDocument>> {
  rejectFields(search, ['status', 'attention', 'minAmountMinor', 'maxAmountMinor'], 'method')
  rejectOrder(search, 'method', ['newest', 'oldest'])
  const { merchantIds, kind, from, to, sort, limit, cursor } = search
  if (!merchantIds) throw new SearchError('method', violate('needs-field', { other: 'merchantId' }))
  const term = methodTerm(method)
  /** Returns a key that sorts after all keys of the term at this time. */
  const afterTime = (time: string) => `${termSince(term, time)}~`
  const range: TermRange = {
    merchantIds: [...new Set(merchantIds)],
    kinds: kind ? [kind] : transferKinds,
    // The latest time comes first, so that the range starts after `to`.
    from: to === undefined ? term : afterTime(to),
    to: from === undefined ? `${term}\n` : afterTime(from),
    direction: sort === 'oldest' ? -1 : 1,
    shownBy: ({ paymentMethod }) => methodTerm(paymentMethod),
  }
  return termPage(readModels, range, limit, cursor)
}

/**
 * Sorts the transfers by their terms, newest first within each term. Transfers found by a prefix of their trackingId, which is not a term,
 * come first. Over all merchants, only ids are looked up, which needs no term.
 */
async function byText(readModels: ReadModels, allMerchantIds: MerchantIds, search: TransferSearch, text: string) {
  const others = ['status', 'from', 'to', 'attention', 'method', 'minAmountMinor', 'maxAmountMinor', 'sort'] as const
  rejectFields(search, others, 'text')
  const { merchantIds, kind, limit, cursor } = search
  const kinds = kind ? [kind] : transferKinds
  const matches = (transfer: TransferDocument) =>
    (merchantIds ?? [transfer.merchantId]).includes(transfer.merchantId) && (kind ?? transfer.kind) === transfer.kind
  const byId = (await byTrackingId(readModels, text.toLowerCase())).filter(matches)
  if (!merchantIds) {
    const ids = allMerchantIds().flatMap((merchantId) => kinds.map((kind) => trackingIdOf(merchantId, kind, text)))
    const found = await transfersByIds(readModels, ids)
    for (const transfer of byId) found.set(transfer._id, transfer)
    const page = { limit, cursor: timePosition(search) }
    return pageOfAll([...found.values()], page, ({ createdAt: at, position }) => ({ at, position }))
  }
  const prefix = textTerm(text)
  if (prefix === textTerm('')) return { items: byId.slice(0, limit), nextCursor: null }
  const ids = new Set(byId.map(({ _id }) => _id))
  const shown = cursor === undefined ? byId : []
  const range: TermRange = {
    ...{ merchantIds: [...new Set(merchantIds)], kinds, from: prefix, to: `${prefix}\u{10ffff}`, direction: 1 },
    shownBy: (transfer) =>
      ids.has(transfer._id) ? undefined : textTermsOf(transfer).find((term) => term.startsWith(prefix)),
  }
  const { items, nextCursor } = await termPage(readModels, range, Math.max(1, limit - shown.length), cursor)
  return { items: [...shown, ...items], nextCursor }
}

const minIdDigits = 6
const maxById = 20

/** Ignores texts with fewer digits, which are unlikely to be a copied id. */
async function byTrackingId(readModels: ReadModels, prefix: string): Promise<readonly TransferDocument[]> {
  if (prefix.length < minIdDigits || prefix.length > 36 || !/^[0-9a-f-]+$/.test(prefix)) return []
  return transfersByIdPrefix(readModels, prefix, maxById)
}

async function termPage(readModels: ReadModels, range: TermRange, limit: number, cursor: string | undefined) {
  const position = positionOf(cursor, (text) => {
    const key = Buffer.from(text, 'base64url').toString()
    return isTermKey(key) && key > range.from && key < range.to ? key : undefined
  })
  const { items, nextCursor } = await listByTerms(readModels, range, limit, position)
  return { items, nextCursor: nextCursor && Buffer.from(nextCursor).toString('base64url') }
}

function timePosition({ cursor }: TransferSearch) {
  return positionOf(cursor, parseCursor)
}

function positionOf<Found>(cursor: string | undefined, parse: (text: string) => Found | undefined): Found | undefined {
  if (cursor === undefined) return undefined
  const position = parse(cursor)
  if (position === undefined) throw new SearchError('cursor', violate('cursor-invalid'))
  return position
}

function timeOrder({ sort }: TransferSearch): Order {
  return { field: 'createdAt', direction: sort === 'oldest' ? 1 : -1 }
}

function rejectFields(search: TransferSearch, fields: readonly (keyof TransferSearch)[], other: string): void {
  const field = fields.find((field) => search[field] !== undefined)
  if (field) throw new SearchError(field, violate('excludes-field', { other }))
}

function rejectOrder({ sort }: TransferSearch, other: string, served: readonly TransferSearch['sort'][]): void {
  if (sort !== undefined && !served.includes(sort)) {
    throw new SearchError('sort', violate('order-unavailable', { allowed: served.join(', '), other }))
  }
}

/** A range of {@link termKey}s; `from` is inclusive, `to` is exclusive. */
interface TermRange {
  readonly merchantIds: readonly string[]
  readonly kinds: readonly TransferKind[]
  readonly from: string
  readonly to: string
  /** 1 sorts by key, newest first within a term. */
  readonly direction: 1 | -1
  /** Returns the term under which a transfer with several terms in the range is listed. */
  shownBy(transfer: TransferDocument): string | undefined
}

/** The limit of entries per page. If most entries are other terms of listed transfers, the page is short instead of slow. */
const maxRead = 1_000

/**
 * Returns the transfers with a term in the range, in the order of the keys. Unlike in other lists, the page after `nextCursor` can be empty.
 * @throws ReadModelsUnavailableError
 */
async function listByTerms(readModels: ReadModels, range: TermRange, limit: number, cursor: string | undefined) {
  const items: TransferDocument[] = []
  let after = cursor
  for (let read = 0; read < maxRead; read += limit + 1) {
    const keys = await keysOf(readModels, range, after, limit + 1)
    const ids = keys.map((key) => parseTermKey(key).trackingId)
    const transfers = await transfersByIds(readModels, ids)
    for (const key of keys) {
      const { term, trackingId } = parseTermKey(key)
      if (items.length === limit) return { items, nextCursor: after ?? null }
      after = key
      const transfer = transfers.get(trackingId)
      if (transfer && range.shownBy(transfer) === term) items.push(transfer)
    }
    if (keys.length <= limit) return { items, nextCursor: null }
  }
  return { items, nextCursor: after ?? null }
}

/** Returns the next keys of all merchants and kinds, each read only up to the last key that still fits. */
async function keysOf(
  readModels: ReadModels,
  { merchantIds, kinds, from, to, direction }: TermRange,
  after: string | undefined,
  limit: number,
): Promise<readonly string[]> {
  const collection = readModels.collection(collections.transferTerms)
  let found: readonly string[] = []
  for (const prefix of merchantIds.flatMap((id) => kinds.map((kind) => termsPrefix(id, kind)))) {
    const worst = found.length === limit ? found[limit - 1]! : undefined
    const lower = direction === 1 ? { $gt: prefix + (after ?? from) } : { $gte: prefix + (worst ?? from) }
    const upper = { $lt: prefix + ((direction === 1 ? worst : after) ?? to) }
    const filter = { _id: { ...lower, ...upper } }
    const documents = await collection.find(filter, { sort: { _id: direction }, limit })
    const keys = documents.map(({ _id }) => _id.slice(prefix.length))
    found = [...found, ...keys].sort((a, b) => (a < b ? -direction : direction)).slice(0, limit)
  }
  return found
}
