import { randomUUID } from 'node:crypto'
import type { Logger } from 'pino'
import type { BankCommands } from '../commands/bank/bank-commands.js'
import { appendUnlessChanged, type CommandContext, loadStream, retryOnConflict } from '../commands/handle-command.js'
import type { TransferCommands } from '../commands/transfer/transfers.js'
import { openCollection, paymentDecider } from '../domain/payment.js'
import { maxErasedTransfers } from '../domain/service-events.js'
import { paymentStream, privacyStream, streamPrefix } from '../domain/streams.js'
import { isTerminal } from '../domain/transfer/status.js'
import type { Transfer } from '../domain/transfer/transfer.js'
import { type EventData, encodeEvent } from '../event-store/event-codec.js'
import { type EventStore, logPages, type RecordedEvent, type StreamRevision } from '../event-store/event-store.js'
import { readableEvent } from '../event-store/read-event.js'
import { readStreamList } from '../event-store/stream-list.js'
import type { Clock } from '../kernel/time.js'
import type { ReadModels } from '../read-models/read-models.js'
import type { SecretBox } from '../security/secret-box.js'
import { pause } from '../subscriptions/retry.js'
import { type Part, startUnderLease } from '../subscriptions/under-lease.js'
import type { CustomerKeys } from './customer-keys.js'
import { type Customer, createdUnder, creationsIn, eachOf, paymentsUnder, transfersOf } from './customer-transfers.js'
import { ReceiptUses } from './receipt-uses.js'
import { counterparties } from './sealing-store.js'

export interface PrivacyParts {
  readonly store: EventStore
  /** The same log as stored. */
  readonly raw: EventStore
  readonly keys: CustomerKeys
  readonly box: Pick<SecretBox, 'mac'>
  readonly readModels: ReadModels
  readonly transfers: TransferCommands
  readonly bank: BankCommands
  readonly clock: Clock
}

type Completed = Awaited<ReturnType<typeof complete>>

type ErasureResult =
  | ({ readonly accepted: true; readonly erasureId: string; readonly erasedAt: string } & Completed)
  | { readonly accepted: false; readonly reason: 'unknown-customer' }
  /** The payer or payee must be known until the transfer has ended. */
  | { readonly accepted: false; readonly reason: 'transfers-open'; readonly trackingIds: readonly string[] }

const finishEveryMs = 600_000

/**
 * Erases a customer: records the decision, destroys the key, and then marks each transfer. {@link finishErasures} finishes an interrupted
 * erasure. @throws StoreUnavailableError, ReadModelsUnavailableError, TooMuchContentionError
 */
export async function eraseCustomer(
  parts: PrivacyParts,
  customer: Customer,
  reason: string,
  context: CommandContext,
  uses = new ReceiptUses(parts),
): Promise<ErasureResult> {
  const { store, raw, keys, transfers, clock } = parts
  const key = await keys.find(customer.merchantId, customer.userId)
  if (!key) {
    // The repeat of an erasure that failed after the key was destroyed.
    await finishErasures(parts, context)
    return { accepted: false, reason: 'unknown-customer' }
  }
  const { trackingIds: candidates, through } = await transfersOf(parts, customer, key)
  const own = await ownTransfers(transfers, customer, candidates)
  const open = await openOf(store, own)
  if (open.length > 0) return { accepted: false, reason: 'transfers-open', trackingIds: open }
  const trackingIds = own.map(({ trackingId }) => trackingId)
  const erasureId = key.id
  const erasedAt = clock()
  const decision = { erasureId, merchantId: customer.merchantId, reason, at: erasedAt }
  await listTransfers(store, erasureId, trackingIds, context, decision)
  await keys.destroy([erasureId])
  const created = await createdUnder(raw, new Set([erasureId]), through)
  const completed = await complete(parts, erasureId, created.get(erasureId)!, context, uses)
  return { accepted: true, erasureId, erasedAt, ...completed }
}

/** Finishes the erasures that a crash or an unavailable store interrupted, and returns their number. */
export async function finishErasures(parts: PrivacyParts, context: CommandContext): Promise<number> {
  /** The merchants by erasureId. */
  const unfinished = new Map<string, unknown>()
  const take = (events: readonly RecordedEvent[]) => {
    for (const { type, stream, data } of events) {
      const erasureId = stream.slice(streamPrefix.privacy.length)
      if (type === 'CustomerErased') unfinished.set(erasureId, data.merchantId)
      if (type === 'ErasureCompleted') unfinished.delete(erasureId)
    }
  }
  const { streams, position } = await readStreamList(parts.raw)
  const listed = [...streams].filter((stream) => stream.startsWith(streamPrefix.privacy))
  for (const events of await eachOf(listed, (stream) => parts.raw.readStream(stream))) take(events)
  for await (const { events } of logPages(parts.raw, { after: position, streamPrefixes: [streamPrefix.privacy] }))
    take(events)
  if (unfinished.size === 0) return 0
  await parts.keys.destroy([...unfinished.keys()])
  for (const [erasureId, owner] of unfinished)
    if (owner === counterparties) await completeCounterparty(parts, erasureId, context)
  const customers = [...unfinished].filter(([, owner]) => owner !== counterparties).map(([erasureId]) => erasureId)
  // From the start of the log: the position that was read before the decision is lost.
  const created = await createdUnder(parts.raw, new Set(customers), undefined)
  const uses = new ReceiptUses(parts)
  for (const [erasureId, trackingIds] of created) await complete(parts, erasureId, trackingIds, context, uses)
  return unfinished.size
}

/** Finishes interrupted erasures at the start and every ten minutes. */
export function startFinishingErasures(deps: PrivacyParts & { readonly logger: Logger }): Part {
  return startUnderLease(deps, 'privacy:erasures', async ({ signal }) => {
    while (!signal.aborted) {
      const id = randomUUID()
      const context = { actor: 'system:privacy', $correlationId: id, $causationId: id }
      const finished = await finishErasures(deps, context)
      if (finished > 0) deps.logger.info({ finished }, 'interrupted erasures were finished')
      await pause(finishEveryMs, signal)
    }
  })
}

/** Returns the transfers of the candidates that are the customer's. */
export async function ownTransfers(
  transfers: TransferCommands,
  { merchantId, userId }: Customer,
  trackingIds: readonly string[],
): Promise<readonly Transfer[]> {
  const found = await eachOf(trackingIds, (trackingId) => transfers.find(trackingId))
  // The read model finds by a search term, which different userIds may share.
  return found.flatMap((each) =>
    each?.transfer.merchantId === merchantId && each.transfer.userId === userId ? [each.transfer] : [],
  )
}

/** Returns the trackingIds of the open transfers and of those with an open collection. */
async function openOf(store: EventStore, own: readonly Transfer[]): Promise<readonly string[]> {
  const open = await eachOf(own, async ({ trackingId, status }) => {
    if (!isTerminal(status)) return trackingId
    const { state } = await loadStream(store, paymentDecider, paymentStream(trackingId))
    return openCollection(state) ? trackingId : undefined
  })
  return open.filter((each) => each !== undefined)
}

/**
 * Marks the transfers and deletes the receipts, after the key was destroyed. Can be repeated. `created` are the transfers that were created
 * under the key: those created during the decision are not listed in it yet, and may be unencrypted in read models.
 */
async function complete(
  parts: PrivacyParts,
  erasureId: string,
  created: readonly string[],
  context: CommandContext,
  uses: ReceiptUses,
) {
  const { store, transfers, clock } = parts
  const { trackingIds, revision, isCompleted } = await listTransfers(store, erasureId, created, context)
  await eachOf(trackingIds, (trackingId) => transfers.erasePersonalData(trackingId, context))
  // The bank's payments of these transfers show the same person.
  for (const personId of await counterpartiesOf(parts, trackingIds))
    await eraseCounterparty(parts, personId, 'customer erased', context)
  // Uploaded receipts show the payer or payee.
  const receipts = await uses.deleteUnused(trackingIds)
  const completed = { erasureId, transfers: trackingIds.length, at: clock() }
  const event = encodeEvent({ type: 'ErasureCompleted', data: completed }, context)
  if (!isCompleted) await appendUnlessChanged(store, privacyStream(erasureId), revision, event)
  return { transfers: trackingIds.length, receipts }
}

async function counterpartiesOf(
  { transfers, bank }: PrivacyParts,
  trackingIds: readonly string[],
): Promise<ReadonlySet<string>> {
  const people = await eachOf(trackingIds, async (trackingId) => {
    const { transfer } = (await transfers.find(trackingId)) ?? {}
    const payments = await Promise.all((transfer?.bankPayments ?? []).map((each) => bank.payment(each.bankPaymentId)))
    return payments.flatMap((found) => found?.payment.personId ?? [])
  })
  return new Set(people.flat())
}

/**
 * Erases a counterparty of bank statements as {@link eraseCustomer} does a customer. Returns the number of its payments, or `undefined` if none
 * is known.
 */
export async function eraseCounterparty(
  parts: PrivacyParts,
  personId: string,
  reason: string,
  context: CommandContext,
): Promise<number | undefined> {
  const { store, keys, clock } = parts
  const key = await keys.find(counterparties, personId)
  if (!key) return undefined
  const decision = { erasureId: key.id, merchantId: counterparties, reason, at: clock() }
  await listTransfers(store, key.id, [], context, decision)
  await keys.destroy([key.id])
  return completeCounterparty(parts, key.id, context)
}

/** Marks the payments, after the key was destroyed. Can be repeated. */
async function completeCounterparty(parts: PrivacyParts, erasureId: string, context: CommandContext): Promise<number> {
  const { store, raw, bank, clock } = parts
  const paymentIds = await paymentsUnder(raw, erasureId)
  for (const paymentId of paymentIds) await bank.eraseCounterparty(paymentId, context)
  const { revision, isCompleted } = await listTransfers(store, erasureId, [], context)
  const event = encodeEvent({ type: 'ErasureCompleted', data: { erasureId, transfers: 0, at: clock() } }, context)
  if (!isCompleted) await appendUnlessChanged(store, privacyStream(erasureId), revision, event)
  return paymentIds.length
}

/**
 * Records the erasure with these transfers in its lists, or adds those that an earlier attempt or another process has not listed.
 * `decision` may be omitted if the erasure is recorded. @throws StoreUnavailableError, TooMuchContentionError
 */
function listTransfers(
  store: EventStore,
  erasureId: string,
  wanted: readonly string[],
  context: CommandContext,
  decision?: Omit<EventData<'CustomerErased'>, 'trackingIds'>,
) {
  const stream = privacyStream(erasureId)
  return retryOnConflict(stream, async () => {
    const recorded = await store.readStream(stream)
    const events = recorded.flatMap((each) => readableEvent(each) ?? [])
    const decisions = events.flatMap((event) => (event.type === 'CustomerErased' ? [event.data] : []))
    const decided = { ...decision, ...decisions[0]! }
    const listed = new Set(decisions.flatMap(({ trackingIds }) => trackingIds))
    const missing = wanted.filter((trackingId) => !listed.has(trackingId))
    let revision: StreamRevision = recorded.at(-1)?.revision ?? 'no_stream'
    for (let at = 0; at < missing.length || revision === 'no_stream'; at += maxErasedTransfers) {
      const trackingIds = missing.slice(at, at + maxErasedTransfers)
      const event = encodeEvent({ type: 'CustomerErased', data: { ...decided, trackingIds } }, context)
      revision = (await store.append(stream, revision, [event])).revision
    }
    const isCompleted = events.some(({ type }) => type === 'ErasureCompleted')
    return { trackingIds: [...listed, ...missing], revision, isCompleted }
  })
}

export function receiptUrlsOf(transfer: Transfer): readonly string[] {
  const moved = transfer.kind === 'deposit' ? [...transfer.funds.returns, ...transfer.refunds] : transfer.returns
  const all = [transfer, ...moved].flatMap(({ receiptUrl }) => receiptUrl ?? [])
  return [...new Set(all)]
}

interface Retention {
  /** ISO 8601. Customers whose last transfer was created before this time are erased. */
  readonly before: string
  /** Defaults to all merchants. */
  readonly merchantId?: string | undefined
  readonly reason: string
  readonly dryRun: boolean
}

/** Erases customers without a recent transfer, except the `open` ones, which have an open transfer. @throws the errors of eraseCustomer */
export async function eraseOlder(
  parts: PrivacyParts,
  { before, merchantId, reason, dryRun }: Retention,
  context: CommandContext,
) {
  const older = [...(await lastTransfers(parts.raw, merchantId))].filter(([, lastAt]) => lastAt < before)
  const uses = new ReceiptUses(parts)
  let [customers, erased, open] = [0, 0, 0]
  for (const [keyId] of older) {
    await parts.keys.load([keyId])
    const customer = parts.keys.known(keyId)
    // Without a key, the customer was erased before.
    if (!customer) continue
    customers++
    if (dryRun) continue
    const result = await eraseCustomer(parts, customer, reason, context, uses)
    if (result.accepted) erased++
    else if (result.reason === 'transfers-open') open++
  }
  return { before, customers, erased, open }
}

/** Returns when the last transfer of each customer was created, by the id of the customer's key. */
async function lastTransfers(raw: EventStore, merchantId: string | undefined): Promise<ReadonlyMap<string, string>> {
  const lastAt = new Map<string, string>()
  for await (const { keyId, at, ...creation } of creationsIn(raw)) {
    if (merchantId !== undefined && creation.merchantId !== merchantId) continue
    if (at > (lastAt.get(keyId) ?? '')) lastAt.set(keyId, at)
  }
  return lastAt
}

const unknownMerchant = 'unknown'

/**
 * Records an erasure for each customer whose key is lost, so that the customer's unreadable events read as erased. The erasure lists no
 * transfers, so receipts and read models keep their data. Can be repeated. Returns the number of customers.
 */
export async function giveUpLostKeys(
  { raw, keys, clock }: Pick<PrivacyParts, 'raw' | 'keys' | 'clock'>,
  lostKeys: AsyncIterable<string>,
  reason: string,
  context: CommandContext,
): Promise<number> {
  const lost = new Map<string, string>()
  for await (const id of lostKeys) lost.set(id, unknownMerchant)
  if (lost.size === 0) return 0
  // In the log, because the keys themselves cannot be read.
  for await (const { keyId, merchantId } of creationsIn(raw)) if (lost.has(keyId)) lost.set(keyId, merchantId)
  for (const [erasureId, merchantId] of lost) {
    const data = { erasureId, merchantId, trackingIds: [], reason, at: clock() }
    // An interrupted run may have recorded the decision.
    const event = encodeEvent({ type: 'CustomerErased', data }, context)
    await appendUnlessChanged(raw, privacyStream(erasureId), 'no_stream', event)
    await keys.destroy([erasureId])
  }
  return lost.size
}
