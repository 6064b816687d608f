import { violate } from '../domain/decider.js'
import type { Violation } from '../domain/rules.js'
import type { Status } from '../domain/transfer/status.js'
import type { TransferKind } from '../domain/transfer/transfer-events.js'
import { plainAccountNumber } from '../kernel/account-number.js'
import { storedUuidPrefix } from '../kernel/uuid.js'
import { attentionKey, collections, type TransferDocument } from '../read-models/documents.js'
import type { ReadModels, WordSearch } from '../read-models/read-models.js'
import { metadataOf, metadataWord, queriedWords, searchedFields, wholeWord } from '../read-models/transfer-words.js'
import { type Order, type Page, parseAmountCursor, parseCursor, type Run } from './list-page.js'
import {
  firstTransfers,
  type ListSources,
  pageOfRuns,
  runsOf,
  transferKinds,
  transfersByIdPrefix,
} from './transfer-queries.js'

export interface TransferSearch {
  /** `undefined` for all merchants. */
  readonly merchantIds?: readonly string[] | undefined
  readonly kind?: TransferKind | undefined
  readonly status?: Status | undefined
  /** Inclusive time of creation; ISO 8601 in UTC with milliseconds. */
  readonly from?: string | undefined
  /** Exclusive time of creation. */
  readonly to?: string | undefined
  /** Only transfers whose money needs a decision. */
  readonly attention?: 'open' | undefined
  readonly method?: number | undefined
  /** Both bounds are inclusive. */
  readonly minAmountMinor?: number | undefined
  readonly maxAmountMinor?: number | undefined
  /** Prefixes of words of its referenceId, userId, name, account number or metadata, all of which it has, or of its trackingId. */
  readonly text?: string | undefined
  readonly sort?: 'newest' | 'oldest' | 'largest' | 'smallest' | undefined
  readonly limit: number
  readonly cursor?: string | undefined
}

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
 * Returns a page of transfers from the read model. Every search uses an index and reads only a few times as many documents as a page holds.
 * @throws SearchError, ReadModelsUnavailableError
 */
export function searchTransfers({ readModels }: ListSources, search: TransferSearch): Promise<Page<TransferDocument>> {
  const { text, method, attention, sort, minAmountMinor, maxAmountMinor } = search
  if (text !== undefined) return byText(readModels, search, text)
  if (method !== undefined) return byMethod(readModels, search)
  if (attention !== undefined) return byAttention(readModels, search)
  const ofAmount = minAmountMinor !== undefined || maxAmountMinor !== undefined
  if (ofAmount || sort === 'largest' || sort === 'smallest') return byAmount(readModels, search)
  const { from, to, limit } = search
  const page = { limit, cursor: timePosition(search) }
  return pageOfRuns(readModels, timeOrder(search), runsOf(search, { from, to }), page)
}

/**
 * Lists the transfers of a merchant that have exactly these texts in their metadata, newest first. A page can be short or empty although
 * others follow. @throws ReadModelsUnavailableError
 */
export function listByMetadata({ readModels }: ListSources, { metadata, merchantId, ...filter }: MetadataFilter) {
  const words = Object.entries(metadata).map(([key, value]) => metadataWord(key, value))
  return byWords(readModels, { ...filter, merchantIds: [merchantId] }, words)
}

interface MetadataFilter extends Pick<TransferSearch, 'kind' | 'status' | 'from' | 'to' | 'limit' | 'cursor'> {
  readonly merchantId: string
  readonly metadata: { readonly [key: string]: string }
}

/** Longer lists are not summed, because a sum reads every transfer. */
const maxSummed = 1_000
/** Documents are summed page by page, because each can have kilobytes of metadata. */
const summedPage = 200

/** Returns the number and the requested amounts of a search's transfers, or of the first thousand. @throws as {@link searchTransfers} */
export async function sumTransfers(sources: ListSources, search: Omit<TransferSearch, 'limit' | 'cursor'>) {
  let [count, amountMinor] = [0, 0n]
  let cursor: string | undefined
  for (let read = 0; read < maxSummed; read += summedPage) {
    const { items, nextCursor } = await searchTransfers(sources, { ...search, limit: summedPage, cursor })
    count += items.length
    for (const each of items) amountMinor += BigInt(each.amountMinor)
    cursor = nextCursor ?? undefined
    if (cursor === undefined) break
  }
  return { count, more: cursor !== undefined, amountMinor }
}

function byAttention(readModels: ReadModels, search: TransferSearch): Promise<Page<TransferDocument>> {
  rejectFields(search, ['status', 'minAmountMinor', 'maxAmountMinor'], 'attention')
  rejectOrder(search, 'attention', ['newest', 'oldest'])
  const { merchantIds, kind, from, to, limit } = search
  const runs = (kind ? [kind] : transferKinds).flatMap((each): Run[] => {
    if (!merchantIds) return [{ equal: { attention: each }, from, to }]
    return [...new Set(merchantIds)].map((id) => ({ equal: { attentionOf: attentionKey(each, id) }, from, to }))
  })
  const page = { limit, cursor: timePosition(search) }
  return pageOfRuns(readModels, timeOrder(search), runs, page)
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

function byMethod(readModels: ReadModels, search: TransferSearch): Promise<Page<TransferDocument>> {
  rejectFields(search, ['status', 'attention', 'minAmountMinor', 'maxAmountMinor'], 'method')
  rejectOrder(search, 'method', ['newest', 'oldest'])
  return byWords(readModels, search, [])
}

/**
 * Returns the transfers that have all words of the text, newest first, after those whose trackingId starts with it and those that have
 * exactly this text: `order-1` would otherwise be behind thousands of newer references that start with it.
 */
async function byText(readModels: ReadModels, search: TransferSearch, text: string): Promise<Page<TransferDocument>> {
  const filters = ['status', 'from', 'to', 'attention', 'method', 'minAmountMinor', 'maxAmountMinor', 'sort'] as const
  rejectFields(search, filters, 'text')
  const { merchantIds, kind, limit, cursor } = search
  const found = await byTrackingId(readModels, text)
  const byId = found.filter(
    (each) => (merchantIds ?? [each.merchantId]).includes(each.merchantId) && (kind ?? each.kind) === each.kind,
  )
  const [words, others] = queriedWords(text)
  if (!words) return { items: cursor === undefined ? byId : [], nextCursor: null }
  const exact = await withExactly(readModels, search, text)
  const first = [...byId, ...exact.filter(({ _id }) => !byId.some((each) => each._id === _id))]
  const shown = cursor === undefined ? first : []
  const rest = { ...search, limit: Math.max(1, limit - shown.length) }
  let page = await byWords(readModels, rest, words)
  if (others && page.items.length === 0 && page.nextCursor === null) page = await byWords(readModels, rest, others)
  const ids = new Set(first.map(({ _id }) => _id))
  return { ...page, items: [...shown, ...page.items.filter(({ _id }) => !ids.has(_id))] }
}

/** Returns the newest transfers that have a field with this text, but for case, diacritics and separators. */
async function withExactly(readModels: ReadModels, { merchantIds, kind, limit }: TransferSearch, text: string) {
  const equal = equalTo({ merchantIds, kind })
  const options = {
    words: [],
    wholeWord: wholeWord(text),
    equal,
    direction: -1,
    limit: maxExactRead,
  } as const
  const { documents } = await readModels.collection(collections.transfers).search(options)
  const exact = (documents as readonly TransferDocument[]).filter((document) =>
    [
      ...searchedFields.map((field) => document[field] ?? ''),
      plainAccountNumber(document.accountNumber ?? ''),
      ...Object.values(metadataOf(document)),
    ].some((each) => wholeWord(each) === options.wholeWord),
  )
  return exact.slice(0, Math.min(limit, maxExact))
}

function equalTo({ merchantIds, kind, method }: Pick<TransferSearch, 'merchantIds' | 'kind' | 'method'>) {
  return {
    ...(merchantIds && { merchantId: [...new Set(merchantIds)] }),
    ...(kind && { kind: [kind] }),
    ...(method !== undefined && { paymentMethod: [method] }),
  }
}

/** A transfer is created this much earlier or later than one before it in the log, at most, because nodes have their own clocks. */
const maxDisorderMs = 60_000

type WordFilter = Omit<TransferSearch, 'attention' | 'minAmountMinor' | 'maxAmountMinor' | 'text'>

/** Returns a page in the order of the log. Unlike in other lists, a page can be short or empty although others follow. */
async function byWords(readModels: ReadModels, search: WordFilter, words: readonly string[]) {
  const { status, from = '', to = '~', sort, limit, cursor } = search
  const equal = equalTo(search)
  const direction = sort === 'oldest' ? 1 : -1
  const [start, end] = direction === 1 ? [search.from, search.to] : [search.to, search.from]
  const isAfterEnd = ({ createdAt }: TransferDocument) =>
    end !== undefined && (direction === 1 ? createdAt >= later(end, 1) : createdAt < later(end, -1))
  let after: number | null | undefined = positionOf(cursor, parsePosition)
  if (after === undefined && start !== undefined) {
    const bound = later(start, -direction)
    const runs = runsOf({}, direction === 1 ? { from: bound } : { to: bound })
    const [first] = await firstTransfers(readModels, timeOrder(search), runs, 1)
    if (!first) return { items: [], nextCursor: null }
    after = first.position - direction
  }
  const isChecked = start !== undefined || end !== undefined || status !== undefined
  const size = isChecked ? Math.max(limit, checkedPage) : limit
  const items: TransferDocument[] = []
  for (let read = 0; read < maxRead && items.length < limit && after !== null; read += size) {
    const options: WordSearch = { words, equal, direction, after, limit: size }
    const { documents, next } = await readModels.collection(collections.transfers).search(options)
    const found = documents as readonly TransferDocument[]
    const matching = found.filter(
      (each) => each.createdAt >= from && each.createdAt < to && (status ?? each.status) === each.status,
    )
    const added = matching.slice(0, limit - items.length)
    items.push(...added)
    if (added.length < matching.length) after = added.at(-1)!.position
    else after = found.some(isAfterEnd) ? null : next
    if (!isChecked) break
  }
  return { items, nextCursor: typeof after === 'number' ? Buffer.from(String(after)).toString('base64url') : null }
}

function later(time: string, sign: number): string {
  return new Date(Date.parse(time) + sign * maxDisorderMs).toISOString()
}

/** Parses a cursor of {@link byWords}. Returns `undefined` if it is invalid. */
function parsePosition(cursor: string): number | undefined {
  const digits = Buffer.from(cursor, 'base64url').toString('latin1')
  return /^\d{1,15}$/.test(digits) ? Number(digits) : undefined
}

const maxRead = 1_000
/** The documents per query whose status or time is checked: a small page would otherwise take a query for each. */
const checkedPage = 50
const minIdDigits = 6
const maxById = 20
const maxExact = 20
/** Texts that only end with the searched one have its word, too: `A-42` has 42. */
const maxExactRead = 200

/** Ignores a text with fewer digits, which is unlikely to be a copied id. */
async function byTrackingId(readModels: ReadModels, text: string): Promise<readonly TransferDocument[]> {
  const prefix = storedUuidPrefix(text)
  if (prefix === undefined || prefix.length < minIdDigits) return []
  return transfersByIdPrefix(readModels, prefix, maxById)
}

function timePosition({ cursor }: Pick<TransferSearch, 'cursor'>) {
  return positionOf(cursor, parseCursor)
}

function positionOf<Found>(cursor: string | undefined, parse: (text: string) => Found | undefined): Found | undefined {
  if (cursor === undefined) return undefined
  const position = parse(cursor)
  if (position === undefined) throw new SearchError('cursor', violate('cursor-invalid'))
  return position
}

function timeOrder({ sort }: Pick<TransferSearch, 'sort'>): Order {
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
