import {
  type CommandContext,
  handleCommand,
  type Loaded,
  loadStream,
  TooMuchContentionError,
} from '../../commands/handle-command.js'
import type { TransferCommands } from '../../commands/transfer/transfers.js'
import type { MerchantSettings } from '../../domain/merchant/merchant-events.js'
import {
  type CollectionOutcome,
  isCollectedFrom,
  latestCollection,
  openCollection,
  type Payment,
  type PaymentCollection,
  type PaymentCommand,
  paymentDecider,
} from '../../domain/payment.js'
import { paymentStream } from '../../domain/streams.js'
import { hasExpired, type Transfer } from '../../domain/transfer/transfer.js'
import type { EventStore } from '../../event-store/event-store.js'
import type { Clock } from '../../kernel/time.js'
import {
  type Collect,
  type Collection,
  type Wallet,
  WalletOutcomeUnknownError,
  WalletUnavailableError,
} from '../wallet.js'
import { type WalletFailure, walletFailure } from './wallet-failure.js'

export interface CollectionDependencies {
  readonly store: EventStore
  readonly wallet: Wallet
  readonly transfers: Pick<TransferCommands, 'find' | 'receiveFunds' | 'act'>
  readonly settingsOf: (merchantId: string) => Promise<MerchantSettings | undefined>
  readonly clock: Clock
}

type Paid = { readonly ok: true } | WalletFailure
type Job = { readonly trackingId: string; readonly merchantId: string; readonly context: CommandContext }
type Particulars<Command> = Command extends PaymentCommand ? Omit<Command, 'trackingId' | 'merchantId' | 'at'> : never
type Ending = Omit<Particulars<PaymentCommand & { type: 'EndCollection' }>, 'type' | 'collection'>
const nothingTaken = { collectedAmountMinor: 0n, receiptUrl: null, reason: null }
const unknownOutcome = 'the wallet did not confirm whether the money was taken'

/**
 * Collects the money of a deposit. Records every step before it is taken, so that {@link recover} can finish it after a crash. Each method
 * may throw StoreUnavailableError or TooMuchContentionError.
 */
export class WalletCollections {
  constructor(private readonly deps: CollectionDependencies) {}

  load(trackingId: string): Promise<Loaded<Payment>> {
    return loadStream(this.deps.store, paymentDecider, paymentStream(trackingId))
  }

  execute(
    { trackingId, merchantId }: Pick<Job, 'trackingId' | 'merchantId'>,
    particulars: Particulars<PaymentCommand>,
    context: CommandContext,
    loaded?: Loaded<Payment>,
  ) {
    const command = { ...particulars, trackingId, merchantId, at: this.deps.clock() }
    return handleCommand(this.deps.store, paymentDecider, paymentStream(trackingId), command, context, { loaded })
  }

  /** Collects the money of a Pending deposit whose customer has passed every step of this login. */
  async pay(transfer: Transfer, challengeId: string, context: CommandContext, loaded: Loaded<Payment>): Promise<Paid> {
    const { trackingId, merchantId, amountMinor } = transfer
    const job = { trackingId, merchantId, context }
    const started = await this.execute(job, { type: 'StartCollection', challengeId, amountMinor }, context, loaded)
    if (!started.accepted) {
      switch (started.refusal.rule) {
        case 'collecting':
          return walletFailure('payment-under-way')
        case 'collected':
          return this.#settle(job, started.state)
        case 'refused-before':
          return walletFailure(latestCollection(started.state, challengeId)?.reason ?? 'insufficient-balance')
        case 'too-soon':
          return walletFailure('wallet-unavailable')
        case 'too-many-collections':
          return walletFailure('wallet-unavailable', { details: 'The wallet was unavailable. Log in again.' })
        default:
          return walletFailure('bad-token')
      }
    }
    return this.#collect(openCollection(started.state)!, job, started)
  }

  /**
   * Finishes a collection that was started and not ended, or that was not applied to the transfer. A repeat changes nothing. Queries the
   * wallet again about a collection with an unknown outcome, so that a reviewer sees the received money. Must not be called while a
   * request may still work on the collection. @throws WalletUnavailableError
   */
  async recover(trackingId: string, context: CommandContext): Promise<void> {
    const payment = await this.load(trackingId)
    const found = await this.deps.transfers.find(trackingId)
    // The debit belongs to no deposit.
    if (!found) return
    const job = { trackingId, merchantId: found.transfer.merchantId, context }
    for (const doubtful of unconfirmedCollections(payment.state)) {
      const { accountNumber, outcome } = doubtful
      const known = await this.deps.wallet.collectionOf({ trackingId, accountNumber })
      const isOpen = outcome === 'open'
      if (known?.outcome === 'collected' || (known && isOpen)) await this.#conclude(doubtful, known, job)
      else if (isOpen && this.deps.wallet.absenceIsProof) await this.#collect(doubtful, job)
      else if (isOpen) await this.#end(doubtful, { ...nothingTaken, outcome: 'unknown' }, job)
    }
    await this.#settle(job, (await this.load(trackingId)).state)
  }

  async #collect(collection: PaymentCollection, job: Job, loaded?: Loaded<Payment>): Promise<Paid> {
    const { transfers, clock, settingsOf } = this.deps
    // Checked after the start was recorded: a command that ends the deposit from now on finds the collection.
    const transfer = (await transfers.find(job.trackingId))?.transfer
    const problem = transfer && payabilityFailure(transfer, clock())
    if (!transfer || problem) {
      await this.#end(collection, { ...nothingTaken, outcome: 'not-taken' }, job, loaded)
      return problem ?? walletFailure('unknown-transfer')
    }
    const settings = await settingsOf(job.merchantId)
    const description = `${settings?.name ?? job.merchantId} ${transfer.referenceId}`
    const sandbox = settings?.sandbox ?? false
    const { accountNumber, amountMinor } = collection
    const request = { trackingId: job.trackingId, accountNumber, amountMinor, sandbox, description }
    const outcome = await this.#request(request)
    if (typeof outcome !== 'string') return this.#conclude(collection, outcome, job, loaded)
    const ended = await this.#end(collection, { ...nothingTaken, outcome }, job, loaded)
    return outcome === 'unknown' ? this.#settle(job, ended) : walletFailure('wallet-unavailable')
  }

  /** Requests the money from the wallet. Any other error of the wallet leaves the collection open, and recovery queries its outcome. */
  async #request(request: Collect): Promise<Collection | 'unknown' | 'not-taken'> {
    try {
      return await this.deps.wallet.collect(request)
    } catch (error) {
      if (error instanceof WalletOutcomeUnknownError) return 'unknown'
      // Both errors mean that nothing was done.
      if (error instanceof WalletUnavailableError || error instanceof TooMuchContentionError) return 'not-taken'
      throw error
    }
  }

  async #conclude(collection: PaymentCollection, known: Collection, job: Job, loaded?: Loaded<Payment>): Promise<Paid> {
    if (known.outcome === 'refused') {
      await this.#end(collection, { ...nothingTaken, outcome: 'refused', reason: known.reason }, job, loaded)
      return walletFailure(known.reason)
    }
    const { amountMinor: collectedAmountMinor, receiptUrl } = known
    const outcome: CollectionOutcome = collectedAmountMinor > 0n ? 'collected' : 'unknown'
    const taken = { outcome, collectedAmountMinor, receiptUrl, reason: null }
    return this.#settle(job, await this.#end(collection, taken, job, loaded))
  }

  async #end({ number }: PaymentCollection, ending: Ending, job: Job, loaded?: Loaded<Payment>) {
    const command = { type: 'EndCollection', collection: number, ...ending } as const
    return (await this.execute(job, command, job.context, loaded)).state
  }

  /** Applies the known outcomes of the collections to the transfer. */
  async #settle({ trackingId, context }: Job, { collections }: Payment): Promise<Paid> {
    const { transfers } = this.deps
    let transfer: Transfer | undefined
    for (const { number, outcome, collectedAmountMinor, receiptUrl } of collections) {
      if (outcome === 'collected') {
        const received = { receivedAmountMinor: collectedAmountMinor, receiptUrl }
        const result = await transfers.receiveFunds(trackingId, number, received, context)
        if (!result.accepted) throw new Error(`the money of ${trackingId} was not recorded: ${result.refusal.rule}`)
        transfer = result.transfer
      }
      if (outcome === 'unknown') transfer = await this.#holdPending(trackingId, context)
    }
    transfer ??= (await transfers.find(trackingId))?.transfer
    return transfer ? resultOf(transfer, this.deps.clock()) : walletFailure('unknown-transfer')
  }

  /** Moves a Pending deposit to ManualControl. Any other status was decided since and does not change. */
  async #holdPending(trackingId: string, context: CommandContext): Promise<Transfer | undefined> {
    const { transfers } = this.deps
    const found = await transfers.find(trackingId)
    if (found?.transfer.status !== 'Pending') return found?.transfer
    const held = await transfers.act(trackingId, { type: 'SendToManualControl', message: unknownOutcome }, context)
    return held.accepted ? held.transfer : undefined
  }
}

/** Returns the latest collection from each account that is not known to have paid. The wallet may know more, even about an ended one. */
function unconfirmedCollections(payment: Payment): PaymentCollection[] {
  const latest = new Map(payment.collections.map((each) => [each.accountNumber, each]))
  return [...latest.values()].filter(({ accountNumber }) => !isCollectedFrom(payment, accountNumber))
}

export const withdrawalFailure = walletFailure('not-payable', { details: 'A withdrawal cannot be paid from a wallet.' })

/** Returns why a deposit cannot be paid at a time, or `undefined` if it can. */
export function payabilityFailure(transfer: Transfer, now: string): WalletFailure | undefined {
  if (transfer.kind !== 'deposit') return withdrawalFailure
  if (hasExpired(transfer, now)) return walletFailure('expired-deposit')
  if (transfer.status === 'Pending') return undefined
  return walletFailure('not-payable', { details: `The deposit is already ${transfer.status}.` })
}

function resultOf(transfer: Transfer, now: string): Paid {
  switch (transfer.status) {
    case 'Completed':
      return { ok: true }
    case 'ManualControl':
      return walletFailure('manual-control')
    case 'Pending':
      return walletFailure('payment-under-way')
    case 'Cancelled':
    case 'Failed':
      return payabilityFailure(transfer, now) ?? walletFailure('not-payable')
    default:
      return transfer.status satisfies never
  }
}
