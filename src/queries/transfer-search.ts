import { trackingIdOf } from '../commands/ids.js'
import type { Status } from '../domain/transfer/transfer.js'
import type { TransferKind } from '../domain/transfer/transfer-events.js'
import { type Violation, violate } from '../kernel/rules.js'
import { collections, type TransferDocument } from '../read-models/documents.js'
import type { ReadModels } from '../read-models/read-models.js'
import { isTermKey, methodTerm, termSince, textTerm, textTermsOf } from '../read-models/transfer-terms.js'
import { type Order, type Page, pageOfAll, parseAmountCursor, parseCursor, type Run } from './list-page.js'
import { listByTerms, type TermRange } from './search-terms.js'
import { pageOfRuns, runsOf, transferKinds } from './transfer-queries.js'

/** What people look for. */
export interface TransferSearch {
  /** Of these merchants; of all when undefined. */
  readonly merchantIds: readonly string[] | undefined
  readonly kind: TransferKind | undefined
  readonly status: Status | undefined
  /** Created then or later; ISO 8601 in UTC with milliseconds. */
  readonly from: string | undefined
  /** Created before. */
  readonly to: string | undefined
  /** Only those about whose money a person has to decide. */
  readonly attention: 'open' | undefined
  readonly method: number | undefined
  /** Both inclusive. */
  readonly minAmountMinor: number | undefined
  readonly maxAmountMinor: number | undefined
  /** How a referenceId, trackingId, userId, name or account number begins. */
  readonly text: string | undefined
  readonly sort: 'newest' | 'oldest' | 'largest' | 'smallest' | undefined
  readonly limit: number
  /** `nextCursor` of the page before. */
  readonly cursor: string | undefined
}

/** Not asked as it can be answered: no index serves it, and every transfer there is would be looked at. */
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
 * A page of transfers from the read model, by an index whatever is asked: no more is looked at than some pages hold.
 * `allMerchantIds`: for what is looked up for each merchant. @throws SearchError, ReadModelsUnavailableError
 */
export function searchTransfers(
  readModels: ReadModels,
  allMerchantIds: () => readonly string[],
  search: TransferSearch,
): Promise<Page<TransferDocument>> {
  const { text, method, attention, sort, minAmountMinor, maxAmountMinor } = search
  if (text !== undefined) return byText(readModels, allMerchantIds, search, text)
  if (method !== undefined) return byMethod(readModels, search, method)
  if (attention !== undefined) return byAttention(readModels, search)
  const ofAmount = minAmountMinor !== undefined || maxAmountMinor !== undefined
  if (ofAmount || sort === 'largest' || sort === 'smallest') return byAmount(readModels, search)
  const { from, to, limit } = search
  return pageOfRuns(readModels, timeOrder(search), runsOf(search, { from, to }), { limit, cursor: placeInTime(search) })
}

function byAttention(readModels: ReadModels, search: TransferSearch): Promise<Page<TransferDocument>> {
  refuse(search, ['status', 'minAmountMinor', 'maxAmountMinor'], 'attention')
  refuseOrder(search, 'attention', ['newest', 'oldest'])
  const { merchantIds, kind, from, to, limit } = search
  const order = timeOrder(search)
  const runs = merchantIds
    ? [...new Set(merchantIds)].map((merchantId): Run => ({ equal: { attentionOf: merchantId }, from, to }))
    : [{ equal: { attention: 'open' }, from, to }]
  // What came in and is not settled is a deposit's.
  return pageOfRuns(readModels, order, kind === 'withdrawal' ? [] : runs, { limit, cursor: placeInTime(search) })
}

function byAmount(readModels: ReadModels, search: TransferSearch): Promise<Page<TransferDocument>> {
  const { merchantIds, minAmountMinor, maxAmountMinor, sort, limit, cursor } = search
  const named =
    minAmountMinor !== undefined ? 'minAmountMinor' : maxAmountMinor !== undefined ? 'maxAmountMinor' : 'sort'
  refuse(search, ['from', 'to'], 'amount')
  refuseOrder(search, 'amount', ['largest', 'smallest'])
  if (!merchantIds) throw new SearchError(named, violate('needs-field', { other: 'merchantId' }))
  const order: Order = { field: 'amountMinor', direction: sort === 'smallest' ? 1 : -1 }
  const bounds = { from: minAmountMinor, to: maxAmountMinor === undefined ? undefined : maxAmountMinor + 1 }
  const place = placeOf(cursor, parseAmountCursor)
  return pageOfRuns(readModels, order, runsOf(search, bounds), { limit, cursor: place })
}

function byMethod(readModels: ReadModels, search: TransferSearch, method: number): Promise<Page<TransferDocument>> {
  refuse(search, ['status', 'attention', 'minAmountMinor', 'maxAmountMinor'], 'method')
  refuseOrder(search, 'method', ['newest', 'oldest'])
  const { merchantIds, kind, from, to, sort, limit, cursor } = search
  if (!merchantIds) throw new SearchError('method', violate('needs-field', { other: 'merchantId' }))
  const term = methodTerm(method)
  // The latest moment comes first: what was created before `to` begins behind it.
  const bounds = {
    from: to === undefined ? term : afterMoment(term, to),
    to: from === undefined ? `${term}\n` : afterMoment(term, from),
  }
  const direction = sort === 'oldest' ? -1 : 1
  const range = {
    merchantIds: [...new Set(merchantIds)],
    kinds: kind ? [kind] : transferKinds,
    ...bounds,
    direction,
  } as const
  return termPage(readModels, { ...range, shownBy: ({ paymentMethod }) => methodTerm(paymentMethod) }, limit, cursor)
}

/** Behind every place of the term at this moment. */
function afterMoment(term: string, moment: string): string {
  return `${termSince(term, moment)}~`
}

/**
 * By their terms, in the order of these, newest first within each. A trackingId is no term: those that it begins come first.
 * Of all merchants only an id is looked up, which needs no term.
 */
async function byText(
  readModels: ReadModels,
  allMerchantIds: () => readonly string[],
  search: TransferSearch,
  text: string,
): Promise<Page<TransferDocument>> {
  const others = ['status', 'from', 'to', 'attention', 'method', 'minAmountMinor', 'maxAmountMinor', 'sort'] as const
  refuse(search, others, 'text')
  const { merchantIds, kind, limit, cursor } = search
  const kinds = kind ? [kind] : transferKinds
  const isWanted = (transfer: TransferDocument) =>
    (merchantIds ?? [transfer.merchantId]).includes(transfer.merchantId) && (kind ?? transfer.kind) === transfer.kind
  const byId = (await byTrackingId(readModels, text.toLowerCase())).filter(isWanted)
  if (!merchantIds) {
    const byReference = await byReferenceId(readModels, allMerchantIds(), kinds, text)
    const found = new Map([...byId, ...byReference].map((transfer) => [transfer._id, transfer]))
    const place = placeOf(cursor, parseCursor)
    return pageOfAll([...found.values()], { limit, cursor: place }, ({ createdAt, _id }) => ({
      at: createdAt,
      id: _id,
    }))
  }
  const begin = textTerm(text)
  if (begin === textTerm('')) return { items: byId.slice(0, limit), nextCursor: null }
  const ids = new Set(byId.map(({ _id }) => _id))
  const shown = cursor === undefined ? byId : []
  const range = {
    merchantIds: [...new Set(merchantIds)],
    kinds,
    from: begin,
    to: `${begin}\u{10ffff}`,
    direction: 1,
  } as const
  const shownBy = (transfer: TransferDocument) =>
    ids.has(transfer._id) ? undefined : textTermsOf(transfer).find((term) => term.startsWith(begin))
  const rest = Math.max(1, limit - shown.length)
  const { items, nextCursor } = await termPage(readModels, { ...range, shownBy }, rest, cursor)
  return { items: [...shown, ...items], nextCursor }
}

const minIdDigits = 6
const maxById = 20

/** Fewer digits are no id that somebody copied. */
async function byTrackingId(readModels: ReadModels, begin: string): Promise<readonly TransferDocument[]> {
  if (begin.length < minIdDigits || begin.length > 36 || !/^[0-9a-f-]+$/.test(begin)) return []
  // No digit of an id is behind f.
  const range = { _id: { $gte: begin, $lt: `${begin}g` } }
  const found = await readModels.collection(collections.transfers).find(range, { sort: { _id: 1 }, limit: maxById })
  return found as readonly TransferDocument[]
}

const idsAtOnce = 1_000

async function byReferenceId(
  readModels: ReadModels,
  merchantIds: readonly string[],
  kinds: readonly TransferKind[],
  referenceId: string,
): Promise<readonly TransferDocument[]> {
  const ids = merchantIds.flatMap((merchantId) => kinds.map((kind) => trackingIdOf(merchantId, kind, referenceId)))
  const found: TransferDocument[] = []
  while (ids.length > 0) {
    const $in = ids.splice(0, idsAtOnce)
    found.push(...((await readModels.collection(collections.transfers).find({ _id: { $in } })) as TransferDocument[]))
  }
  return found
}

async function termPage(
  readModels: ReadModels,
  range: TermRange,
  limit: number,
  cursor: string | undefined,
): Promise<Page<TransferDocument>> {
  const place = placeOf(cursor, (text) => {
    const clear = Buffer.from(text, 'base64url').toString()
    return isTermKey(clear) && clear > range.from && clear < range.to ? clear : undefined
  })
  const { items, nextCursor } = await listByTerms(readModels, range, limit, place)
  return { items, nextCursor: nextCursor && Buffer.from(nextCursor).toString('base64url') }
}

function placeInTime({ cursor }: TransferSearch) {
  return placeOf(cursor, parseCursor)
}

function placeOf<Found>(cursor: string | undefined, parse: (text: string) => Found | undefined): Found | undefined {
  if (cursor === undefined) return undefined
  const place = parse(cursor)
  if (place === undefined) throw new SearchError('cursor', violate('cursor-invalid'))
  return place
}

function timeOrder({ sort }: TransferSearch): Order {
  return { field: 'createdAt', direction: sort === 'oldest' ? 1 : -1 }
}

function refuse(search: TransferSearch, fields: readonly (keyof TransferSearch)[], other: string): void {
  const field = fields.find((field) => search[field] !== undefined)
  if (field) throw new SearchError(field, violate('excludes-field', { other }))
}

function refuseOrder({ sort }: TransferSearch, other: string, served: readonly TransferSearch['sort'][]): void {
  if (sort !== undefined && !served.includes(sort)) {
    throw new SearchError('sort', violate('order-unavailable', { allowed: served.join(', '), other }))
  }
}
