import {
  afterAll,
  type CountablePayout,
  type CountedPayouts,
  countOf,
  exceededLimits,
  type PayoutEvent,
  payoutDecider,
  reachesBack,
} from '../../domain/counted-payouts.js'
import type { MerchantSettings } from '../../domain/merchant/merchant-events.js'
import { payoutsStream } from '../../domain/streams.js'
import { activeClaim } from '../../domain/transfer/payout.js'
import { isTerminal } from '../../domain/transfer/status.js'
import type { Transfer, Withdrawal } from '../../domain/transfer/transfer.js'
import type { ExceededLimit, WithdrawalLimit } from '../../domain/withdrawal-limits.js'
import { limitsOf } from '../../domain/withdrawal-limits.js'
import { encodeEvent } from '../../event-store/event-codec.js'
import type { Append, EventStore, RecordedEvent } from '../../event-store/event-store.js'
import { readEvent } from '../../event-store/read-event.js'
import { plainAccountNumber } from '../../kernel/account-number.js'
import { boundedCache } from '../../kernel/bounded-cache.js'
import type { SecretBox } from '../../security/secret-box.js'
import { type CommandContext, emptyStream, type Loaded, oneAtATime, retryOnConflict } from '../handle-command.js'

type Mac = SecretBox['mac']

/** The payout that a command starts, and the append that counts it before the command's own events. */
export interface Counting {
  readonly exceeded: readonly ExceededLimit[]
  readonly appends: readonly Append[]
}

export const notCounted: Counting = { exceeded: [], appends: [] }

const maxKnownMerchants = 100
const maxWaitingPayouts = 1000
const pageSize = 500

/** Counts the payouts of merchants with limits. Methods that read or write may throw StoreUnavailableError, UnreadableEventError. */
export class PayoutCounts {
  readonly #known = boundedCache<Loaded<CountedPayouts>>(maxKnownMerchants)
  readonly #turns = oneAtATime(maxWaitingPayouts)

  constructor(
    private readonly store: EventStore,
    private readonly mac: Mac,
  ) {}

  /** Runs the payouts of a merchant one at a time, so that those of this process do not conflict with one another. */
  inTurn<Value>(merchantId: string, task: () => Promise<Value>): Promise<Value> {
    return this.#turns.run(merchantId, task)
  }

  /** Reads the latest payouts of a merchant with limits, for {@link knownExceeded}. */
  async refresh(merchantId: string, settings: MerchantSettings | undefined): Promise<void> {
    if (settings && limitsOf(settings).length > 0) await this.#load(merchantId)
  }

  /**
   * Returns the limits that a payment of this amount is beyond: as they were counted when its payout started, or else as if it started now. It
   * is never beyond a limit once it has ended. Payouts since the last {@link refresh} are unknown, so no decision may depend on this.
   */
  knownExceeded(
    transfer: Transfer,
    settings: MerchantSettings,
    amountMinor: bigint,
    at: string,
  ): readonly ExceededLimit[] {
    const limits = limitsOf(settings)
    if (transfer.kind === 'deposit' || limits.length === 0 || isTerminal(transfer.status)) return []
    const { state } = this.#known.get(transfer.merchantId) ?? emptyStream(payoutDecider)
    const payout = this.#payoutOf(transfer, amountMinor)
    return startedBeyond(payout, transfer, state, at) ?? exceededLimits(payout, limits, state, at)
  }

  /** Counts a payout that starts now, unless it `continues` one that is counted already. */
  async count(
    transfer: Withdrawal,
    limits: readonly WithdrawalLimit[],
    payment: { readonly amountMinor: bigint; readonly continues: boolean; readonly at: string },
    context: CommandContext,
  ): Promise<Counting> {
    const { amountMinor, continues, at } = payment
    const { merchantId } = transfer
    const loaded = await this.#load(merchantId)
    const payout = this.#payoutOf(transfer, amountMinor)
    const started = continues ? startedBeyond(payout, transfer, loaded.state, at) : undefined
    if (started) return { exceeded: started, appends: [] }
    const { events, exceeded } = counted({ ...payout, merchantId, limits, at }, loaded.state)
    return { exceeded, appends: [appendOf(merchantId, loaded, events, context)] }
  }

  /**
   * Counts the payouts of a bank file, in their order, apart from those that started with a claim. Returns the limits that each is beyond, and
   * one append for each merchant.
   */
  async countAll(
    payouts: readonly { readonly transfer: Transfer; readonly settings: MerchantSettings }[],
    at: string,
    context: CommandContext,
  ) {
    const exceeded = new Map<string, readonly ExceededLimit[]>()
    const merchants = new Map<
      string,
      {
        readonly loaded: Loaded<CountedPayouts>
        readonly state: CountedPayouts
        readonly events: readonly PayoutEvent[]
      }
    >()
    for (const { transfer, settings } of payouts) {
      const limits = limitsOf(settings)
      if (transfer.kind === 'deposit' || limits.length === 0) continue
      const { merchantId, trackingId, amountMinor } = transfer
      const before = merchants.get(merchantId)
      const loaded = before?.loaded ?? (await this.#load(merchantId))
      const { state, events } = before ?? { state: loaded.state, events: [] }
      const payout = this.#payoutOf(transfer, amountMinor)
      const started = startedBeyond(payout, transfer, state, at)
      const next = started ? { events: [], exceeded: started } : counted({ ...payout, merchantId, limits, at }, state)
      merchants.set(merchantId, {
        loaded,
        state: next.events.reduce(payoutDecider.evolve, state),
        events: [...events, ...next.events],
      })
      exceeded.set(trackingId, next.exceeded)
    }
    const appends = [...merchants].flatMap(([merchantId, { loaded, events }]) =>
      events.length === 0 ? [] : [appendOf(merchantId, loaded, events, context)],
    )
    return { exceeded, appends }
  }

  /** Ends the count of a withdrawal that was cancelled or failed. */
  async uncount({ merchantId, trackingId }: Transfer, at: string, context: CommandContext): Promise<void> {
    await retryOnConflict(payoutsStream(merchantId), async () => {
      const loaded = await this.#load(merchantId)
      const decision = payoutDecider.decide({ type: 'Uncount', merchantId, trackingId, at }, loaded.state)
      if (!decision.accepted || decision.events.length === 0) return
      await this.store.appendInOrder([appendOf(merchantId, loaded, decision.events, context)])
    })
  }

  /** Reads only the events that this process does not know, and at first only those of the longest period. */
  async #load(merchantId: string): Promise<Loaded<CountedPayouts>> {
    const stream = payoutsStream(merchantId)
    const known = this.#known.get(merchantId)
    const { state, revision } = known ?? emptyStream(payoutDecider)
    const recorded =
      known && revision !== 'no_stream'
        ? await this.store.readStream(stream, { fromRevision: revision + 1 })
        : await this.#readLatest(stream)
    const last = recorded.at(-1)
    if (!last) return { state, revision }
    const events = recorded.flatMap((each) => (readEvent(each) as PayoutEvent | undefined) ?? [])
    const loaded = {
      state: known ? events.reduce(payoutDecider.evolve, state) : afterAll(events),
      revision: last.revision,
    }
    this.#known.set(merchantId, loaded)
    return loaded
  }

  async #readLatest(stream: string): Promise<readonly RecordedEvent[]> {
    const pages: (readonly RecordedEvent[])[] = []
    let lastAt: string | undefined
    for (let before: number | undefined; before !== -1; ) {
      const page = await this.store.readStream(stream, {
        direction: 'backwards',
        maxCount: pageSize,
        ...(before !== undefined && { fromRevision: before }),
      })
      pages.push(page)
      const ats = page.flatMap((each) => (readEvent(each) as PayoutEvent | undefined)?.data.at ?? [])
      lastAt ??= ats[0]
      const oldest = ats.at(-1)
      const isEnough = lastAt !== undefined && oldest !== undefined && !reachesBack(lastAt, oldest)
      before = isEnough || page.length < pageSize ? -1 : page.at(-1)!.revision - 1
    }
    return pages.flat().reverse()
  }

  /** Digests are of one merchant, so that the log does not show that two merchants pay the same account. */
  #payoutOf({ merchantId, trackingId, accountNumber, userId }: Withdrawal, amountMinor: bigint): CountablePayout {
    const macOf = (purpose: string, text: string) => this.mac(purpose, JSON.stringify([merchantId, text]))
    const accountMac = macOf('payout account', plainAccountNumber(accountNumber))
    return { trackingId, amountMinor, accountMac, customerMac: macOf('payout customer', userId) }
  }
}

/** Returns the limits that the running payout was beyond when it started, or `undefined` if none is counted for this amount. */
function startedBeyond({ amountMinor }: CountablePayout, transfer: Withdrawal, state: CountedPayouts, at: string) {
  const started = activeClaim(transfer, at) ? countOf(state, transfer.trackingId) : undefined
  return started && started.amountMinor >= amountMinor ? started.exceeded : undefined
}

function counted(
  payout: CountablePayout & {
    readonly merchantId: string
    readonly limits: readonly WithdrawalLimit[]
    readonly at: string
  },
  state: CountedPayouts,
) {
  const decision = payoutDecider.decide({ type: 'Count', ...payout }, state)
  const [event] = decision.accepted ? decision.events : []
  if (event?.type !== 'PayoutCounted') throw new Error('a payout was not counted')
  return { events: [event], exceeded: event.data.exceeded }
}

function appendOf(
  merchantId: string,
  { revision }: Loaded<CountedPayouts>,
  events: readonly PayoutEvent[],
  context: CommandContext,
): Append {
  const encoded = events.map((event) => encodeEvent(event, context))
  return { stream: payoutsStream(merchantId), expectedRevision: revision, events: encoded }
}
