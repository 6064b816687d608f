import { setMaxListeners } from 'node:events'
import { setTimeout as delay } from 'node:timers/promises'
import type { Logger } from 'pino'
import { type CommandContext, TooMuchContentionError } from '../commands/handle-command.js'
import type { TransferAction } from '../commands/transfer/transfer-requests.js'
import type { TransferCommands } from '../commands/transfer/transfers.js'
import { type Scenario, type ScenarioStep, scenarioOf, type WalletBehaviour } from '../domain/scenarios.js'
import type { Deposit, Transfer } from '../domain/transfer/transfer.js'
import type { Clock } from '../kernel/time.js'
import { isUnavailable, retryWhileUnavailable } from '../subscriptions/retry.js'
import type { WalletFailureReason } from '../wallet/payments/wallet-failure.js'
import type { WalletPayments } from '../wallet/payments/wallet-payments.js'
import { mismatchOf, testCustomer } from '../wallet/test-customer.js'

/** The actor of every step except the customer's. */
const actor = 'system:scenario'
/** So that each step is visible on the dashboard, as if people did it. */
const stepPauseMs = 500
/** The time after which the customer opens the link of the email about the device. */
const confirmAfterMs = 2_000
const shortPauseMs = 50
const maxPlayed = 1_000

/** The reasons for which a payment fails as a part of the scenario. */
const outcomes: { readonly [wallet in WalletBehaviour]?: WalletFailureReason } = {
  declines: 'insufficient-balance',
  'times-out': 'manual-control',
}

interface PlayerDependencies {
  readonly transfers: TransferCommands
  readonly payments: Pick<WalletPayments, 'logIn' | 'verifyCode' | 'validateDevice' | 'confirmDevice'>
  /** Returns whether the payment method with this code uses no wallet. */
  readonly isManual: (paymentMethod: number) => boolean
  /** Returns whether a merchant is a sandbox merchant now. */
  readonly isSandbox: (merchantId: string) => boolean
  readonly clock: Clock
  readonly logger: Logger
}

/**
 * Plays the scenarios of sandbox merchants: acts as the customer and the operator, with the commands and the rules of real transfers. Plays in
 * memory, because a repeated create plays a transfer on that a stopped process left Pending.
 */
export class ScenarioPlayer {
  readonly #playing = new Map<string, Promise<void>>()
  readonly #stopping = new AbortController()

  constructor(private readonly deps: PlayerDependencies) {
    setMaxListeners(0, this.#stopping.signal)
  }

  /** Plays the scenario of a Pending transfer of a sandbox merchant, if it has one. */
  play(transfer: Transfer): void {
    const scenario = scenarioOf(transfer)
    const { trackingId, merchantId } = transfer
    if (!scenario || transfer.status !== 'Pending' || this.#playing.has(trackingId)) return
    if (this.#stopping.signal.aborted) return
    if (this.#playing.size >= maxPlayed) {
      this.deps.logger.warn({ merchantId, trackingId }, 'a scenario was not played, because too many are played')
      return
    }
    const playing = this.#play(scenario, transfer)
      .catch((err) => {
        if (!this.#stopping.signal.aborted)
          this.deps.logger.warn({ err, merchantId, trackingId }, 'a scenario was not played to its end')
      })
      .finally(() => this.#playing.delete(trackingId))
    this.#playing.set(trackingId, playing)
  }

  /** Opens the link of an email to the test customer, as a customer does after a moment. */
  confirmSoon(confirmUrl: string): void {
    const link = confirmUrl.slice(confirmUrl.lastIndexOf('/') + 1)
    void this.#pause(confirmAfterMs)
      .then(() => this.deps.payments.confirmDevice(link, scenarioContext('customer', link.split('.')[0]!)))
      .catch((err) => this.#stopping.signal.aborted || this.deps.logger.warn({ err }, 'a device was not confirmed'))
  }

  /** Resolves after the steps in progress. */
  async stop(): Promise<void> {
    this.#stopping.abort()
    await Promise.all(this.#playing.values())
  }

  async #play({ steps, wallet = 'pays' }: Scenario, transfer: Transfer): Promise<void> {
    for (const step of steps) {
      await this.#pause(stepPauseMs)
      const { merchantId, trackingId } = transfer
      const take = () => this.#take(step, transfer, wallet)
      // People act for a merchant that has become live.
      const refusedBy = this.deps.isSandbox(merchantId) ? await this.#whileUnavailable(take) : 'live-merchant'
      if (refusedBy === undefined) continue
      this.deps.logger.info({ merchantId, trackingId, step: step.type, rule: refusedBy }, 'a scenario ended early')
      return
    }
  }

  /** Takes a step again while the log is unavailable. A repeated step has no second effect: at most the customer logs in again. */
  #whileUnavailable<Result>(take: () => Promise<Result>): Promise<Result | undefined> {
    return retryWhileUnavailable(take, {
      signal: this.#stopping.signal,
      isRetried: (error) => isUnavailable(error) || error instanceof TooMuchContentionError,
      onUnavailable: (err, failures) => {
        if (failures === 1) this.deps.logger.warn({ err }, 'a scenario waits for the log')
      },
    })
  }

  /** Returns the rule that refuses the step, if any. */
  async #take(step: ScenarioStep, transfer: Transfer, wallet: WalletBehaviour): Promise<string | undefined> {
    const { transfers } = this.deps
    const { trackingId, amountMinor } = transfer
    const context = scenarioContext(actor, trackingId)
    switch (step.type) {
      case 'Pay':
        return this.#pay(transfer, wallet)
      case 'Expire':
        return this.#expire(transfer)
      case 'Receive': {
        const received = { receivedAmountMinor: amountMinor, receiptUrl: null }
        return ruleOf(await transfers.receiveFunds(trackingId, 1, received, context))
      }
      default:
        return ruleOf(await transfers.act(trackingId, step, context))
    }
  }

  async #expire(transfer: Transfer): Promise<string | undefined> {
    const { transfers, clock } = this.deps
    const { trackingId } = transfer
    for (;;) {
      const leftMs = transfer.kind === 'deposit' ? Date.parse(transfer.expiresAt) - Date.parse(clock()) : 0
      await this.#pause(Math.max(leftMs, shortPauseMs))
      const result = await transfers.expire(trackingId, scenarioContext(actor, trackingId))
      // A payment in progress delays the end.
      if (!result.accepted || result.transfer.status !== 'Pending') return ruleOf(result)
    }
  }

  /** The customer pays a hosted deposit. The merchant's own program pays a native one. Returns the reason if the deposit is not paid. */
  async #pay(transfer: Transfer, wallet: WalletBehaviour): Promise<string | undefined> {
    if (transfer.kind !== 'deposit' || transfer.channel !== 'hosted') return undefined
    if (this.deps.isManual(transfer.paymentMethod)) return this.#settle(transfer, wallet)
    const reason = await this.#payFromWallet(transfer)
    return reason === outcomes[wallet] ? undefined : reason
  }

  /** Returns the reason if the wallet does not pay. */
  async #payFromWallet({ trackingId, merchantId, channel }: Deposit): Promise<string | undefined> {
    const { payments } = this.deps
    const step = { trackingId, merchantId, channel }
    const context = scenarioContext('customer', trackingId)
    const login = await payments.logIn({ ...step, ...testCustomer }, context)
    if (!login.ok) return login.reason
    const verified = await payments.verifyCode({ ...step, token: login.token, code: testCustomer.code }, context)
    if (!verified.ok) return verified.reason
    if (verified.nextStep === 'Completed') return undefined
    for (;;) {
      await this.#pause(stepPauseMs)
      const validated = await payments.validateDevice({ ...step, token: verified.token }, context)
      if (validated.ok) return undefined
      if (validated.reason !== 'device-pending') return validated.reason
    }
  }

  /** Settles a deposit that is paid without a wallet, as an operator does who sees what the wallet would have done. */
  async #settle({ trackingId, amountMinor }: Deposit, wallet: WalletBehaviour): Promise<string | undefined> {
    const settle = async (action: TransferAction) =>
      ruleOf(await this.deps.transfers.act(trackingId, action, scenarioContext(actor, trackingId)))
    switch (wallet) {
      case 'declines':
        return undefined
      case 'times-out':
        return settle({ type: 'SendToManualControl', message: 'scenario' })
      case 'pays-less':
        return settle({ type: 'Complete', transactionAmountMinor: mismatchOf(amountMinor) })
      default:
        return settle({ type: 'Complete' })
    }
  }

  #pause(ms: number): Promise<void> {
    return delay(ms, undefined, { signal: this.#stopping.signal })
  }
}

function ruleOf(result: Awaited<ReturnType<TransferCommands['act']>>): string | undefined {
  return result.accepted ? undefined : result.refusal.rule
}

function scenarioContext(by: string, trackingId: string): CommandContext {
  return { actor: by, $correlationId: trackingId, $causationId: trackingId }
}
