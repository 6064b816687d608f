import { randomUUID } from 'node:crypto'
import { derivedEventId, trackingIdOf } from '../../src/commands/ids.js'
import { type IssuedCredentials, MerchantCommands } from '../../src/commands/merchant/merchant-commands.js'
import { keyOf } from '../../src/commands/transfer/create-transfer.js'
import { defaultSettings } from '../../src/domain/merchant/merchant-settings.js'
import { formatShortest, formatTwoDecimals } from '../../src/domain/money.js'
import {
  callbackStream,
  callbackSweepStream,
  paymentStream,
  transferStream,
  userStream,
  walletAccountStream,
} from '../../src/domain/streams.js'
import { type DomainEvent, encodeEvent } from '../../src/event-store/event-codec.js'
import type { Append, EventStore } from '../../src/event-store/event-store.js'
import type { SecretBox } from '../../src/security/secret-box.js'
import { depositCreated } from '../../test/domain/transfer-samples.js'

const merchantCount = 500
/** The number of changes of each merchant, and of each account. */
const changesPerMerchant = 6
/** The approximate number of events per transfer, including those of payments, callbacks and changes of merchants. */
const eventsPerTransfer = 5
const appendsPerCall = 1_000
/** Each customer makes this number of consecutive deposits of a merchant. */
const transfersPerCustomer = 10
/** The store encrypts and writes several calls concurrently. */
const concurrentCalls = 3
/** The number of transfers between a creation and its completion, which is more than all concurrent calls append. */
const completedAfter = 5_000
const intervalMs = 40
const metadata = { actor: 'bench', $correlationId: randomUUID(), $causationId: randomUUID() }

type Common = ReturnType<typeof commonOf>

/**
 * Fills an empty log with about the given number of events, as a service would have written them in the last hours or days: deposits
 * with payments, completions and delivered callbacks, and between them the creation and changes of merchants, users and accounts.
 * A service that starts on it finds nothing to add. Returns the merchants' credentials.
 */
export async function growLog(
  store: EventStore,
  box: SecretBox,
  events: number,
): Promise<readonly IssuedCredentials[]> {
  const transfers = Math.ceil(events / eventsPerTransfer)
  const startMs = Date.now() - transfers * intervalMs
  let now = ''
  const others = new MerchantChanges(store, box, () => now)
  const perChange = Math.max(1, Math.floor(transfers / (merchantCount * (1 + changesPerMerchant))))
  const pending: { readonly common: Common; readonly n: number }[] = []
  let appends: Append[] = []
  const writing: Promise<unknown>[] = []
  for (let n = 0; n < transfers; n++) {
    now = new Date(startMs + n * intervalMs).toISOString()
    if (n % perChange === 0) await others.change(n / perChange)
    const common = commonOf(others.merchants[n % others.merchants.length]!.id, n, now)
    pending.push({ common, n })
    appends.push(...creation(common, n))
    if (pending.length > completedAfter) {
      const { common, n } = pending.shift()!
      appends.push(...completion({ ...common, at: now }, n))
    }
    if (appends.length < appendsPerCall) continue
    if (writing.length >= concurrentCalls) await writing.shift()
    writing.push(store.appendInOrder(appends))
    appends = []
  }
  await Promise.all(writing)
  await store.appendInOrder(appends)
  const last = pending.at(-1)
  if (last) await store.appendInOrder([sweptThrough(transferStream(last.common.trackingId), now)])
  return others.merchants
}

/** Without this, the first start would check for each transfer whether its callback was recorded, as no service does. */
function sweptThrough(stream: string, at: string): Append {
  return append(callbackSweepStream, 0, [
    { type: 'CallbackSweepAdvanced', data: { event: { stream, revision: 0 }, at } },
  ])
}

function commonOf(merchantId: string, n: number, at: string) {
  const referenceId = `grown-${n}`
  const trackingId = trackingIdOf(merchantId, 'deposit', referenceId)
  return { trackingId, merchantId, kind: 'deposit', referenceId, amountMinor: BigInt(1_000 + (n % 9_000)), at } as const
}

function append(stream: string, from: number, events: readonly DomainEvent[]): Append {
  const expectedRevision = from === 0 ? 'no_stream' : from - 1
  return { stream, expectedRevision, events: events.map((event) => encodeEvent(event, metadata)) }
}

function creation(common: Common, n: number): Append[] {
  const { trackingId, merchantId, referenceId, amountMinor, at } = common
  const customer = Math.floor(n / merchantCount / transfersPerCustomer)
  const expiresAt = new Date(Date.parse(at) + 3_600_000).toISOString()
  const own = { ...common, userId: `customer-${customer}`, expiresAt, hashId: randomUUID() }
  const amountTexts = [...new Set([formatShortest(amountMinor), formatTwoDecimals(amountMinor)])]
  const reserves = amountTexts.map((amountText) => keyOf(merchantId, amountText + referenceId))
  const created = append(transferStream(trackingId), 0, [
    { ...depositCreated, data: { ...depositCreated.data, ...own } },
  ])
  return [{ ...created, reserves }]
}

function completion(common: Common, n: number): Append[] {
  const { trackingId, merchantId, referenceId, amountMinor, at } = common
  const money = { transactionAmountMinor: amountMinor, hasAmountMismatch: false, receiptUrl: null, message: null }
  const data = { ...common, ...money, receivedAmountMinor: amountMinor, reason: null }
  const isPaidFromWallet = n % 3 === 0
  // The id with which the service recognizes that it has already recorded the money of the collection.
  const id = isPaidFromWallet ? derivedEventId(trackingId, 'collection 1') : randomUUID()
  const completed = encodeEvent({ type: 'TransferCompleted', data }, metadata, id)
  const callback = { webhookId: completed.id, trackingId, merchantId, at }
  const payload = { status: 2, referenceId, amountMinor, ...money }
  const attempt = { attempt: 1, httpStatus: 200, durationMs: 40 }
  return [
    ...(isPaidFromWallet ? [payment(common, accountNumber(n % merchantCount))] : []),
    { stream: transferStream(trackingId), expectedRevision: 0, events: [completed] },
    append(callbackStream(trackingId), 0, [
      { type: 'CallbackRecorded', data: { ...callback, transferRevision: 1, payload } },
      { type: 'CallbackDelivered', data: { ...callback, ...attempt } },
    ]),
  ]
}

function payment({ trackingId, merchantId, amountMinor, at }: Common, accountNumber: number): Append {
  const challenge = { trackingId, merchantId, at, challengeId: randomUUID() }
  const { challengeId: _, ...payment } = challenge
  const outcome = { outcome: 'collected', receiptUrl: null, reason: null, collectedAmountMinor: amountMinor } as const
  return append(paymentStream(trackingId), 0, [
    { type: 'WalletLoggedIn', data: { ...challenge, accountNumber } },
    { type: 'WalletCollectionStarted', data: { ...challenge, collection: 1, accountNumber, amountMinor } },
    { type: 'WalletCollectionEnded', data: { ...payment, collection: 1, ...outcome } },
  ])
}

function accountNumber(n: number): number {
  return 500_000_000_000 + n
}

/** Creates the merchants, each with a user and an account, and then changes them repeatedly. */
class MerchantChanges {
  readonly merchants: IssuedCredentials[] = []
  readonly #commands: MerchantCommands

  constructor(
    private readonly store: EventStore,
    private readonly box: SecretBox,
    private readonly clock: () => string,
  ) {
    this.#commands = new MerchantCommands(store, clock, box)
  }

  async change(n: number): Promise<void> {
    const at = this.clock()
    const round = Math.floor(n / merchantCount)
    const index = n % merchantCount
    const appends = round === 0 ? await this.#create(index, at) : []
    if (round > 0) {
      await this.#commands.execute(
        this.merchants[index]!.id,
        { type: 'ChangeSettings', changes: { depositExpiryMinutes: 30 + round } },
        metadata,
      )
      const data = { accountNumber: accountNumber(index), at, reference: `credit-${round}`, amountMinor: 100n }
      appends.push(append(walletAccountStream(data.accountNumber), round, [{ type: 'WalletAccountCredited', data }]))
    }
    await this.store.appendInOrder(appends)
  }

  async #create(n: number, at: string): Promise<Append[]> {
    const url = { callbackUrl: 'http://127.0.0.1:9/', allowIps: [`10.1.${n >> 8}.${n & 255}`, '127.0.0.1'] }
    const settings = { ...defaultSettings(true), name: `Shop ${n}`, ...url, rateLimitPerSecond: 100_000 }
    const merchant = await this.#commands.register(settings, metadata)
    this.merchants.push(merchant)
    const [userId, emailMac] = [randomUUID(), this.box.mac('bench', String(n))]
    const sealed = this.box.seal('customer@example.com', emailMac)
    const login = { email: sealed, emailMac, passwordHash: '$argon2id$invalid' }
    const position = { role: 'viewer', merchantIds: [merchant.id] } as const
    const account = { accountNumber: accountNumber(n), at, ...login, phone: sealed, sandbox: true }
    return [
      append(userStream(userId), 0, [
        { type: 'UserCreated', data: { userId, at, ...login, ...position, name: `User ${n}`, temporary: false } },
      ]),
      append(walletAccountStream(account.accountNumber), 0, [{ type: 'WalletAccountOpened', data: account }]),
    ]
  }
}
