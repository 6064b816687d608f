import { randomUUID, timingSafeEqual } from 'node:crypto'
import { LRUCache } from 'lru-cache'
import { type CommandContext, handleCommand, type Loaded, loadStream } from '../../commands/handle-command.js'
import { deviceIdOf } from '../../commands/ids.js'
import type { TransferCommands } from '../../commands/transfer/transfers.js'
import { oneAtATime } from '../../commands/write-contention.js'
import type { MerchantSettings } from '../../domain/merchant/merchant-events.js'
import { codeCapDecider, codesLockedUntilMs } from '../../domain/payment/code-cap.js'
import {
  type Challenge,
  findChallenge,
  latestCollection,
  maxLogins,
  type Payment,
  type PaymentRule,
  paidFrom,
} from '../../domain/payment/payment.js'
import { walletCodesStream } from '../../domain/streams.js'
import { type Deposit, hasExpired } from '../../domain/transfer/transfer.js'
import type { DepositChannel } from '../../domain/transfer/transfer-events.js'
import type { EventStore } from '../../event-store/event-store.js'
import type { Clock } from '../../kernel/clock.js'
import { addMs } from '../../kernel/time.js'
import type { SecretBox } from '../../security/secret-box.js'
import {
  createWalletTokens,
  tokenLifetimeSeconds,
  type WalletStep,
  type WalletTokens,
} from '../../security/wallet-tokens.js'
import { type LogIn, type PaymentTold, type Wallet, WalletUnavailableError } from '../wallet.js'
import { type WalletCollections, whyNotPayable } from './collections.js'
import { type WalletFailure, walletFailure } from './wallet-failure.js'
import type { WalletLogin } from './wallet-logins.js'

/** One step of one deposit. */
interface Step {
  readonly trackingId: string
  readonly merchantId: string
  /** Through which pages the customer came: a deposit is paid through those it was created for. */
  readonly channel: DepositChannel
}

export interface LogInRequest extends Step {
  readonly email: string
  /** Six digits. */
  readonly password: string
  /** What an earlier log-in gave to this browser. */
  readonly deviceCookie?: string | undefined
}

export interface CodeRequest extends Step {
  /** Of the log-in. */
  readonly token: string
  /** Six digits. */
  readonly code: string
}

export interface DeviceRequest extends Step {
  /** Of the code. */
  readonly token: string
}

type Result<Value extends object = object> = ({ readonly ok: true } & Value) | WalletFailure

interface Verified {
  readonly nextStep: 'Completed' | 'ValidateUserDevice'
  readonly token: string
  readonly accountNumber: number
}

/** A log-in, and the deposit's payment as it was read for it. */
interface Begun {
  readonly challenge: Challenge
  readonly loaded: Loaded<Payment>
}

/** What the page behind the e-mail's button shows. */
export interface DeviceConfirmation {
  readonly state: 'open' | 'confirmed' | 'expired'
  readonly merchantName: string
  readonly amountMinor: bigint
  readonly accountNumber: number
}

export interface WalletPaymentsDependencies {
  readonly store: EventStore
  readonly wallet: Wallet
  readonly collections: WalletCollections
  readonly transfers: Pick<TransferCommands, 'find'>
  readonly settingsOf: (merchantId: string) => Promise<MerchantSettings | undefined>
  readonly box: Pick<SecretBox, 'mac'>
  /** Whether the payment method of this code is paid without a wallet. */
  readonly isManual: (paymentMethod: number) => boolean
  /** What customers' browsers reach, without a slash at the end. */
  readonly publicUrl: string
  /** Told why the wallet could not be used for a step, in words that hold no secret, no e-mail and no phone. */
  readonly onUnavailable: (cause: string, deposit: Pick<Deposit, 'merchantId' | 'trackingId'>) => void
  readonly clock: Clock
  readonly logIn: WalletLogin
  /** Counts a code that is sent to an account. 0, or the whole seconds until there may be another. */
  readonly takeCode: (accountNumber: number) => number
}

/** Codes of one account at once. */
const maxWaitingForAccount = 1_000
/** How long the wallet is not asked again whether it trusts a device. */
const trustKeptMs = 1_000
const maxTrustKept = 10_000
/** 132 bits. */
const linkMacLength = 22

/**
 * The steps by which a customer pays a deposit from a wallet account (specification, Endpoints 4 to 6), for merchants' own
 * pages and for ours. Methods may throw StoreUnavailableError or TooMuchContentionError.
 */
export class WalletPayments {
  readonly #tokens: WalletTokens
  readonly #lanes = oneAtATime(maxWaitingForAccount)
  /** What the wallet answers, from when it is asked. A failure is an answer too, or a wallet that is unavailable would be asked most. */
  readonly #trust = new LRUCache<string, Promise<boolean>>({ max: maxTrustKept, ttl: trustKeptMs })

  constructor(private readonly deps: WalletPaymentsDependencies) {
    this.#tokens = createWalletTokens(deps.box, () => this.#nowMs())
  }

  /** Has a code sent to the account's phone when the password is right. */
  async logIn(
    request: LogInRequest,
    context: CommandContext,
  ): Promise<Result<{ readonly token: string; readonly deviceCookie: string }>> {
    const { wallet, collections, takeCode } = this.deps
    const { trackingId, merchantId, email, password, deviceCookie } = request
    const found = await this.#payable(request)
    if (!('transfer' in found)) return found
    const unprepared = wallet.whyUnprepared?.()
    if (unprepared !== undefined) {
      // Nothing is counted: it is not for the customer to change.
      this.deps.onUnavailable(unprepared, found.transfer)
      return walletFailure('wallet-unavailable')
    }
    const loaded = await collections.load(trackingId)
    if (loaded.state.challenges.length >= maxLogins) return walletFailure('too-many-logins')
    const attempt = { email, merchantId, trackingId, customer: this.#deviceOf(found.transfer), deviceCookie }
    return this.#telling(found.transfer, async () => {
      const result = await this.deps.logIn(attempt, () => this.#logInTo(merchantId, email, password), context)
      if (result.outcome === 'locked') return walletFailure('login-throttled', result)
      if (result.outcome !== 'accepted') return walletFailure('bad-login')
      const accountNumber = result.value
      const retryAfterSeconds = takeCode(accountNumber)
      if (retryAfterSeconds > 0) return walletFailure('login-throttled', { retryAfterSeconds })
      const challenge = { id: randomUUID(), accountNumber }
      const command = { type: 'LogIn', challengeId: challenge.id, accountNumber } as const
      // One after the other for each deposit: its twentieth log-in is the last, however many come at once.
      const recorded = await this.#lanes.run(trackingId, () =>
        collections.execute(found.transfer, command, context, loaded),
      )
      if (!recorded.accepted) return failureOf(recorded.refusal.rule)
      await wallet.sendCode(challenge, await this.#told(found.transfer))
      const token = this.#tokens.issue('code', request, challenge.id)
      return { ok: true, token, deviceCookie: result.deviceCookie }
    })
  }

  /** `Completed` means that the money was taken and the deposit is completed. */
  async verifyCode(request: CodeRequest, context: CommandContext): Promise<Result<Verified>> {
    const found = await this.#payable(request)
    if (!('transfer' in found)) return found
    const { transfer } = found
    const begun = await this.#challengeOf('code', request)
    if (!('challenge' in begun)) return begun
    const { id: challengeId, accountNumber } = begun.challenge
    return this.#telling(transfer, async () => {
      const checked = await this.#lanes.run(String(accountNumber), () =>
        this.#checkCode(transfer, begun, request.code, context),
      )
      if (!checked.ok) return checked
      const token = this.#tokens.issue('device', request, challengeId)
      if (checked.isTrusted) {
        const paid = await this.deps.collections.pay(transfer, challengeId, context, checked.verified)
        return paid.ok ? { ok: true, nextStep: 'Completed', token, accountNumber } : paid
      }
      await this.#questionDevice(transfer, begun.challenge, context, checked.verified)
      return { ok: true, nextStep: 'ValidateUserDevice', token, accountNumber }
    })
  }

  /** Pays once the device is trusted. Asked again after that, it says the same. */
  async validateDevice(request: DeviceRequest, context: CommandContext): Promise<Result> {
    const { collections } = this.deps
    const found = await this.#ownDeposit(request)
    if (!('transfer' in found)) return found
    const { transfer } = found
    // Before the token, whose time is over then as well: the deposit's end is what there is to know.
    if (hasExpired(transfer, this.deps.clock())) return walletFailure('expired-deposit')
    const begun = await this.#challengeOf('device', request)
    if (!('challenge' in begun)) return begun
    const { challenge, loaded } = begun
    // The poll that finds the payment done may not be the one that did it.
    if (transfer.status === 'Completed') return { ok: true }
    if (transfer.status === 'ManualControl') return walletFailure('manual-control')
    const problem = whyNotPayable(transfer, this.deps.clock())
    if (problem) return problem
    return reachingWallet(async () => {
      // A log-in whose money was asked for has passed this step.
      const isTrusted = latestCollection(loaded.state, challenge.id) || (await this.#isTrusted(challenge, transfer))
      return isTrusted ? collections.pay(transfer, challenge.id, context, loaded) : walletFailure('device-pending')
    })
  }

  /** The account that paid a deposit; undefined when none did. */
  async paidFrom(trackingId: string): Promise<number | undefined> {
    return paidFrom((await this.deps.collections.load(trackingId)).state)
  }

  /** Whether a token is good for polling the device, without looking anything up. */
  isDeviceToken({ trackingId, merchantId, token }: Omit<DeviceRequest, 'channel'>): boolean {
    return this.#tokens.verify('device', { trackingId, merchantId }, token).valid
  }

  /** What a confirmation link is about; undefined when it was not made here. Changes nothing: mail scanners open links. */
  async deviceConfirmation(link: string): Promise<DeviceConfirmation | undefined> {
    const found = await this.#byLink(link)
    if (!found) return undefined
    const { transfer, challenge } = found
    const settings = await this.deps.settingsOf(transfer.merchantId)
    const { accountNumber } = challenge
    const isExpired = this.deps.clock() >= challenge.questionExpiresAt!
    const state = challenge.deviceConfirmed ? 'confirmed' : isExpired ? 'expired' : 'open'
    return { state, merchantName: settings?.name ?? '', amountMinor: transfer.amountMinor, accountNumber }
  }

  /** The customer pressed the button: the device is trusted from now on. A repeat changes nothing. */
  async confirmDevice(
    link: string,
    context: CommandContext,
  ): Promise<
    | { readonly ok: true }
    | { readonly ok: false; readonly reason: 'unknown-link' | 'expired-link' | 'wallet-unavailable' }
  > {
    const found = await this.#byLink(link)
    if (!found) return { ok: false, reason: 'unknown-link' }
    const { transfer, challenge } = found
    if (challenge.deviceConfirmed) return { ok: true }
    if (this.deps.clock() >= challenge.questionExpiresAt!) return { ok: false, reason: 'expired-link' }
    try {
      await this.deps.wallet.trust(challenge.accountNumber, this.#deviceOf(transfer))
    } catch (error) {
      if (error instanceof WalletUnavailableError) return { ok: false, reason: 'wallet-unavailable' }
      throw error
    }
    this.#trust.delete(this.#trustKey(challenge, transfer))
    await this.deps.collections.execute(transfer, { type: 'ConfirmDevice', challengeId: challenge.id }, context)
    return { ok: true }
  }

  /** An account of the sandbox pays deposits of the sandbox, a live one live ones. Of the other kind, it is as if the password were wrong. */
  async #logInTo(merchantId: string, email: string, password: string): Promise<LogIn> {
    const loggedIn = await this.deps.wallet.logIn(email, password, merchantId)
    if (loggedIn.outcome === 'refused') return loggedIn
    const settings = await this.deps.settingsOf(merchantId)
    return loggedIn.sandbox === settings?.sandbox ? loggedIn : { outcome: 'refused', isAccount: true }
  }

  /** One code after the other for each account, so that the cap on wrong ones holds for codes sent at once. */
  async #checkCode(
    transfer: Deposit,
    { challenge: { id: challengeId, accountNumber }, loaded }: Begun,
    code: string,
    context: CommandContext,
  ): Promise<Result<{ readonly isTrusted: boolean; readonly verified: Loaded<Payment> }>> {
    const { store, wallet, clock, collections, box } = this.deps
    const { trackingId, merchantId } = transfer
    const stream = walletCodesStream(box.mac('wallet account', String(accountNumber)))
    const wrongCodes = await loadStream(store, codeCapDecider, stream)
    const lockedUntilMs = codesLockedUntilMs(wrongCodes.state, this.#nowMs())
    if (lockedUntilMs !== undefined) {
      return walletFailure('codes-locked', { retryAfterSeconds: Math.ceil((lockedUntilMs - this.#nowMs()) / 1000) })
    }
    const attempted = await collections.execute(transfer, { type: 'AttemptCode', challengeId }, context, loaded)
    if (!attempted.accepted) return failureOf(attempted.refusal.rule)
    const { attempts: attempt } = findChallenge(attempted.state, challengeId)!
    if (!(await wallet.verifyCode({ id: challengeId, accountNumber }, code))) {
      const wrong = { trackingId, merchantId, challengeId, accountNumber, attempt, at: clock() }
      await handleCommand(store, codeCapDecider, stream, wrong, context, { loaded: wrongCodes })
      return walletFailure('wrong-code')
    }
    // Before the token is used up: a wallet that is unavailable now leaves the customer another try.
    const isTrusted = await wallet.isTrusted(accountNumber, this.#deviceOf(transfer))
    const verified = await collections.execute(transfer, { type: 'VerifyCode', challengeId }, context, attempted)
    return verified.accepted ? { ok: true, isTrusted, verified } : failureOf(verified.refusal.rule)
  }

  async #questionDevice(
    transfer: Deposit,
    { id: challengeId, accountNumber }: Challenge,
    context: CommandContext,
    loaded: Loaded<Payment>,
  ): Promise<void> {
    const { trackingId } = transfer
    const expiresAt = addMs(this.deps.clock(), tokenLifetimeSeconds.device * 1000)
    await this.deps.collections.execute(transfer, { type: 'QuestionDevice', challengeId, expiresAt }, context, loaded)
    const confirmUrl = `${this.deps.publicUrl}/device/${trackingId}.${challengeId}.${this.#linkMac(trackingId, challengeId)}`
    await this.deps.wallet.askToTrust({ accountNumber, confirmUrl, ...(await this.#told(transfer)) })
  }

  async #told({ merchantId, amountMinor }: Deposit): Promise<PaymentTold> {
    return { merchantName: (await this.deps.settingsOf(merchantId))?.name ?? '', amountMinor }
  }

  /** The deposit, if it is this merchant's and may be paid now. */
  async #payable(step: Step): Promise<{ readonly transfer: Deposit } | WalletFailure> {
    const found = await this.#ownDeposit(step)
    if (!('transfer' in found)) return found
    return whyNotPayable(found.transfer, this.deps.clock()) ?? found
  }

  async #ownDeposit(step: Step): Promise<{ readonly transfer: Deposit } | WalletFailure> {
    const found = await this.deps.transfers.find(step.trackingId)
    if (found?.transfer.merchantId !== step.merchantId) return walletFailure('unknown-transfer')
    const { transfer } = found
    if (transfer.kind !== 'deposit') return walletFailure('not-payable', { message: 'A withdrawal is not paid in.' })
    if (transfer.channel === step.channel) {
      return this.deps.isManual(transfer.paymentMethod) ? walletFailure('manual-method') : { transfer }
    }
    const message = `The deposit is ${transfer.channel}: it is paid through other pages.`
    return walletFailure('not-payable', { message })
  }

  /** The log-in a token belongs to. */
  async #challengeOf(step: WalletStep, request: Step & { token: string }): Promise<Begun | WalletFailure> {
    const { trackingId, token } = request
    const verified = this.#tokens.verify(step, request, token)
    if (!verified.valid) return walletFailure(verified.reason === 'expired' ? 'expired-token' : 'bad-token')
    const loaded = await this.deps.collections.load(trackingId)
    const challenge = findChallenge(loaded.state, verified.challengeId)
    return challenge ? { challenge, loaded } : walletFailure('bad-token')
  }

  async #byLink(link: string): Promise<{ transfer: Deposit; challenge: Challenge } | undefined> {
    const [, trackingId, challengeId, mac] = /^([0-9a-f-]{36})\.([0-9a-f-]{36})\.([A-Za-z0-9_-]{22})$/.exec(link) ?? []
    if (!trackingId || !challengeId || !mac) return undefined
    if (!timingSafeEqual(Buffer.from(mac), Buffer.from(this.#linkMac(trackingId, challengeId)))) return undefined
    const found = await this.deps.transfers.find(trackingId)
    const { state } = await this.deps.collections.load(trackingId)
    const challenge = findChallenge(state, challengeId)
    if (found?.transfer.kind !== 'deposit' || !challenge?.questionExpiresAt) return undefined
    return { transfer: found.transfer, challenge }
  }

  #linkMac(trackingId: string, challengeId: string): string {
    return this.deps.box.mac('device link', `${trackingId}.${challengeId}`).slice(0, linkMacLength)
  }

  /** The native API says nothing else about where a customer pays from (docs/decisions). */
  #deviceOf({ merchantId, userId }: Deposit): string {
    return deviceIdOf(this.deps.box, merchantId, userId)
  }

  /** For polls: the wallet is asked once a second, however many they are. */
  #isTrusted(challenge: Challenge, deposit: Deposit): Promise<boolean> {
    const key = this.#trustKey(challenge, deposit)
    const before = this.#trust.get(key)
    if (before) return before
    const answer = this.deps.wallet.isTrusted(challenge.accountNumber, this.#deviceOf(deposit))
    // For as long as the wallet takes, and a second from then on.
    this.#trust.set(key, answer, { ttl: 0 })
    const keep = () => this.#trust.peek(key) === answer && this.#trust.set(key, answer)
    answer.then(keep, keep)
    return answer
  }

  #trustKey({ accountNumber }: Challenge, deposit: Deposit): string {
    return `${accountNumber}:${this.#deviceOf(deposit)}`
  }

  #nowMs(): number {
    return Date.parse(this.deps.clock())
  }

  /** The customer learns that it did not work, the operator why: a gateway that refuses, or a wallet core that is unavailable. */
  #telling<Value extends object>(deposit: Deposit, step: () => Promise<Result<Value>>): Promise<Result<Value>> {
    return reachingWallet(step, (cause) => this.deps.onUnavailable(cause, deposit))
  }
}

async function reachingWallet<Value extends object>(
  step: () => Promise<Result<Value>>,
  onUnavailable: (cause: string) => void = () => {},
): Promise<Result<Value>> {
  try {
    return await step()
  } catch (error) {
    if (!(error instanceof WalletUnavailableError)) throw error
    onUnavailable(error.message)
    return walletFailure('wallet-unavailable')
  }
}

function failureOf(rule: string | undefined): WalletFailure {
  switch (rule as PaymentRule) {
    case 'too-many-logins':
      return walletFailure('too-many-logins')
    case 'already-verified':
      return walletFailure('used-token')
    case 'too-many-attempts':
      return walletFailure('too-many-codes')
    case 'collecting':
    case 'collected':
      return walletFailure('payment-under-way')
    case 'unknown-challenge':
    case 'code-not-verified':
      return walletFailure('bad-token')
    default:
      throw new Error(`no answer for the refusal ${rule}`)
  }
}
