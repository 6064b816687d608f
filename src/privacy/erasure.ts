import { type CommandContext, loadStream } from '../commands/handle-command.js'
import { TooMuchContentionError } from '../commands/retry-on-conflict.js'
import type { TransferCommands } from '../commands/transfer/transfers.js'
import { openCollection, paymentDecider } from '../domain/payment/payment.js'
import { maxErasedTransfers } from '../domain/service-events.js'
import { paymentStream, privacyStream, streamPrefix } from '../domain/streams.js'
import { isTerminal, type Transfer } from '../domain/transfer/transfer.js'
import { encodeEvent } from '../event-store/event-codec.js'
import { type EventStore, type RecordedEvent, WrongExpectedRevisionError } from '../event-store/event-store.js'
import { readableEvent } from '../event-store/read-event.js'
import { readStreamList } from '../event-store/stream-list.js'
import type { Clock } from '../kernel/clock.js'
import { collections } from '../read-models/documents.js'
import type { ReadModels } from '../read-models/read-models.js'
import type { CustomerKeys } from './customer-keys.js'
import { type Customer, createdUnder, eachOf, pagesOf, transfersOf } from './customer-transfers.js'

export interface PrivacyParts {
  readonly store: EventStore
  /** The same log, as it is stored. */
  readonly raw: EventStore
  readonly keys: CustomerKeys
  readonly readModels: ReadModels
  readonly transfers: TransferCommands
  readonly clock: Clock
}

export interface Erasure {
  readonly erasureId: string
  readonly erasedAt: string
  readonly transfers: number
  readonly receipts: number
}

export type ErasureResult =
  | ({ readonly accepted: true } & Erasure)
  | { readonly accepted: false; readonly reason: 'unknown-customer' }
  /** Who is paid, or pays, must be known until that is over. */
  | { readonly accepted: false; readonly reason: 'transfers-open'; readonly trackingIds: readonly string[] }

const maxAttempts = 20

/** Of an address under which this service shows an uploaded file. */
const receiptForm = /\/receipts\/([0-9a-f]{64})-[A-Za-z0-9_-]{32}$/

/**
 * Forgets a customer: decides it in the log, destroys the key, and then tells each transfer. Ended halfway, it is finished by
 * {@link finishErasures}. @throws StoreUnavailableError, ReadModelsUnavailableError, TooMuchContentionError
 */
export async function eraseCustomer(
  parts: PrivacyParts,
  customer: Customer,
  reason: string,
  context: CommandContext,
): Promise<ErasureResult> {
  const { store, raw, keys, transfers, clock } = parts
  const key = await keys.find(customer.merchantId, customer.userId)
  if (!key) return { accepted: false, reason: 'unknown-customer' }
  const { trackingIds: candidates, through } = await transfersOf(parts, customer, key)
  const own = await ownTransfers(transfers, customer, candidates)
  const open = await openOf(store, own)
  if (open.length > 0) return { accepted: false, reason: 'transfers-open', trackingIds: open }
  const trackingIds = own.map(({ trackingId }) => trackingId)
  const erasureId = key.id
  const erasedAt = clock()
  await decide(store, { erasureId, merchantId: customer.merchantId, trackingIds, reason, at: erasedAt }, context)
  await keys.destroy([erasureId])
  const meanwhile = await createdUnder(raw, new Set([erasureId]), through)
  const completed = await complete(parts, erasureId, meanwhile.get(erasureId)!, context)
  return { accepted: true, erasureId, erasedAt, ...completed }
}

/** Those that a crash, or a store that was unavailable, left unfinished; how many that were. */
export async function finishErasures(parts: PrivacyParts, context: CommandContext): Promise<number> {
  const unfinished = new Set<string>()
  const note = (events: readonly RecordedEvent[]) => {
    for (const { type, stream } of events) {
      const erasureId = stream.slice(streamPrefix.privacy.length)
      if (type === 'CustomerErased') unfinished.add(erasureId)
      if (type === 'ErasureCompleted') unfinished.delete(erasureId)
    }
  }
  const { streams, position } = await readStreamList(parts.raw)
  const listed = [...streams].filter((stream) => stream.startsWith(streamPrefix.privacy))
  for (const events of await eachOf(listed, (stream) => parts.raw.readStream(stream))) note(events)
  for await (const { events } of pagesOf(parts.raw, [streamPrefix.privacy], position)) note(events)
  if (unfinished.size === 0) return 0
  await parts.keys.destroy([...unfinished])
  // How far the log was looked at before the decision went with whoever made it.
  const created = await createdUnder(parts.raw, unfinished, undefined)
  for (const [erasureId, trackingIds] of created) await complete(parts, erasureId, trackingIds, context)
  return unfinished.size
}

async function ownTransfers(
  transfers: TransferCommands,
  { merchantId, userId }: Customer,
  trackingIds: readonly string[],
): Promise<readonly Transfer[]> {
  const found = await eachOf(trackingIds, (trackingId) => transfers.find(trackingId))
  // The read model finds by a term, which texts that differ may share.
  return found.flatMap((each) =>
    each?.transfer.merchantId === merchantId && each.transfer.userId === userId ? [each.transfer] : [],
  )
}

async function openOf(store: EventStore, own: readonly Transfer[]): Promise<readonly string[]> {
  const open = await eachOf(own, async ({ trackingId, status }) => {
    if (!isTerminal(status)) return trackingId
    const { state } = await loadStream(store, paymentDecider, paymentStream(trackingId))
    return openCollection(state) ? trackingId : undefined
  })
  return open.filter((each) => each !== undefined)
}

async function decide(
  store: EventStore,
  {
    trackingIds,
    ...decided
  }: {
    readonly erasureId: string
    readonly merchantId: string
    readonly trackingIds: readonly string[]
    readonly reason: string
    readonly at: string
  },
  context: CommandContext,
): Promise<void> {
  const stream = privacyStream(decided.erasureId)
  const lists = Array.from({ length: Math.max(1, Math.ceil(trackingIds.length / maxErasedTransfers)) }, (_, n) =>
    trackingIds.slice(n * maxErasedTransfers, (n + 1) * maxErasedTransfers),
  )
  const appends = lists.map((some, n) => ({
    stream,
    expectedRevision: n === 0 ? ('no_stream' as const) : n - 1,
    events: [encodeEvent({ type: 'CustomerErased', data: { ...decided, trackingIds: some } }, context)],
  }))
  try {
    await store.appendInOrder(appends)
  } catch (error) {
    // Somebody decided the same a moment ago, or a crash came between this and the end of the key.
    if (!(error instanceof WrongExpectedRevisionError)) throw error
  }
}

/**
 * What follows from the decision, once its key is destroyed. May be repeated. `created`: under this key, as far as it is known now. One that
 * was created while the erasure was decided is in no list of it yet, and may be in clear in read models.
 */
async function complete(
  parts: PrivacyParts,
  erasureId: string,
  created: readonly string[],
  context: CommandContext,
): Promise<Pick<Erasure, 'transfers' | 'receipts'>> {
  const { store, transfers, clock } = parts
  const { trackingIds, revision, isCompleted } = await withThese(store, erasureId, created, context)
  const receipts = await eachOf(trackingIds, async (trackingId) => {
    const result = await transfers.erasePersonalData(trackingId, context)
    return result.accepted ? deleteReceipts(parts.readModels, result.transfer) : 0
  })
  const completed = { erasureId, transfers: trackingIds.length, at: clock() }
  const event = encodeEvent({ type: 'ErasureCompleted', data: completed }, context)
  try {
    if (!isCompleted) await store.append(privacyStream(erasureId), revision, [event])
  } catch (error) {
    if (!(error instanceof WrongExpectedRevisionError)) throw error
  }
  return { transfers: trackingIds.length, receipts: receipts.reduce((sum, count) => sum + count, 0) }
}

/** The decision with these transfers in its lists. @throws TooMuchContentionError */
async function withThese(
  store: EventStore,
  erasureId: string,
  created: readonly string[],
  context: CommandContext,
): Promise<{ readonly trackingIds: readonly string[]; readonly revision: number; readonly isCompleted: boolean }> {
  const stream = privacyStream(erasureId)
  for (let attempt = 1; attempt <= maxAttempts; attempt++) {
    const recorded = await store.readStream(stream)
    const events = recorded.flatMap((each) => readableEvent(each) ?? [])
    const decisions = events.flatMap((event) => (event.type === 'CustomerErased' ? [event.data] : []))
    const listed = new Set(decisions.flatMap(({ trackingIds }) => trackingIds))
    const missing = created.filter((trackingId) => !listed.has(trackingId)).slice(0, maxErasedTransfers)
    const isCompleted = events.some(({ type }) => type === 'ErasureCompleted')
    const revision = recorded.length - 1
    if (missing.length === 0) return { trackingIds: [...listed], revision, isCompleted }
    const event = encodeEvent({ type: 'CustomerErased', data: { ...decisions[0]!, trackingIds: missing } }, context)
    try {
      await store.append(stream, revision, [event])
    } catch (error) {
      // Somebody else finishes the same.
      if (!(error instanceof WrongExpectedRevisionError)) throw error
    }
  }
  throw new TooMuchContentionError(`${stream}: gave up after ${maxAttempts} conflicts with other writers`)
}

/** Files that were uploaded: they show who was paid. */
async function deleteReceipts(readModels: ReadModels, transfer: Transfer): Promise<number> {
  const ids = receiptUrlsOf(transfer).flatMap((url) => receiptForm.exec(url)?.[1] ?? [])
  if (ids.length === 0) return 0
  const deleted = await readModels
    .collection(collections.receipts)
    .bulkWrite(ids.map((_id) => ({ deleteOne: { filter: { _id } } })))
  return deleted.deletedCount
}

export function receiptUrlsOf(transfer: Transfer): readonly string[] {
  const returns = transfer.kind === 'deposit' ? transfer.funds.returns.map(({ receiptUrl }) => receiptUrl) : []
  return [...new Set([...(transfer.receiptUrl === null ? [] : [transfer.receiptUrl]), ...returns])]
}
