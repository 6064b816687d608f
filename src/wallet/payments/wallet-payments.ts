import { randomUUID, timingSafeEqual } from 'node:crypto'
import { LRUCache } from 'lru-cache'
import {
  type CommandContext,
  handleCommand,
  type Loaded,
  loadStream,
  oneAtATime,
} from '../../commands/handle-command.js'
import { deviceIdOf } from '../../commands/ids.js'
import type { TransferCommands } from '../../commands/transfer/transfers.js'
import {
  type Challenge,
  codeCapDecider,
  codesLockedUntilMs,
  findChallenge,
  latestCollection,
  maxLogins,
  type Payment,
  type PaymentRule,
} from '../../domain/payment.js'
import { scenarioOf } from '../../domain/scenarios.js'
import { walletCodesStream } from '../../domain/streams.js'
import { type Deposit, hasExpired } from '../../domain/transfer/transfer.js'
import type { DepositChannel } from '../../domain/transfer/transfer-events.js'
import { addMs } from '../../kernel/time.js'
import type { SecretBox } from '../../security/secret-box.js'
import {
  createWalletTokens,
  tokenLifetimeSeconds,
  type WalletStep,
  type WalletTokens,
} from '../../security/wallet-tokens.js'
import { isTestAccount, testLogIn } from '../test-customer.js'
import { type DescribedPayment, type LogIn, WalletUnavailableError } from '../wallet.js'
import {
  type CollectionDependencies,
  payabilityFailure,
  type WalletCollections,
  withdrawalFailure,
} from './collections.js'
import { type WalletFailure, walletFailure } from './wallet-failure.js'
import type { WalletLogin } from './wallet-logins.js'

interface Step {
  readonly trackingId: string
  readonly merchantId: string
  /** The pages that the customer uses. A deposit can be paid only through the pages that it was created for. */
  readonly channel: DepositChannel
}

interface LogInRequest extends Step {
  readonly email: string
  readonly password: string
  readonly deviceCookie?: string | undefined
}

/** `token` is the token of the code. */
interface DeviceRequest extends Step {
  readonly token: string
}

/** `token` is the token of the login. */
interface CodeRequest extends DeviceRequest {
  readonly code: string
}

type Result<Value extends object = object> = ({ readonly ok: true } & Value) | WalletFailure

interface Verified {
  readonly nextStep: 'Completed' | 'ValidateUserDevice'
  readonly token: string
  readonly accountNumber: number
}

type LoadedChallenge = { readonly challenge: Challenge; readonly loaded: Loaded<Payment> }

type Confirmed =
  | { readonly ok: true }
  | { readonly ok: false; readonly reason: 'unknown-link' | 'expired-link' | 'wallet-unavailable' }

export interface DeviceConfirmation extends DescribedPayment {
  readonly state: 'open' | 'confirmed' | 'expired'
  readonly accountNumber: number
}

interface WalletPaymentsDependencies extends Omit<CollectionDependencies, 'transfers'> {
  readonly collections: WalletCollections
  readonly transfers: Pick<TransferCommands, 'find'>
  readonly box: Pick<SecretBox, 'mac'>
  /** Returns whether the payment method with this code uses no wallet. */
  readonly isManual: (paymentMethod: number) => boolean
  readonly publicUrl: string
  /** Receives the reason why a step could not use the wallet. It contains no secret, email or phone number. */
  readonly onUnavailable: (cause: string, deposit: Pick<Deposit, 'merchantId' | 'trackingId'>) => void
  readonly logIn: WalletLogin
  /** Counts a code that is sent to an account. Returns 0, or the seconds until another code is allowed. */
  readonly takeCode: (accountNumber: number) => number
}

const maxWaitingForAccount = 1_000
/** The time for which the wallet's response about a device is reused. */
const trustKeptMs = 1_000
const maxTrustKept = 10_000
const linkMacLength = 22

/** Runs the steps of a wallet payment (specification, Endpoints 4 to 6). May throw StoreUnavailableError or TooMuchContentionError. */
export class WalletPayments {
  readonly #tokens: WalletTokens
  readonly #lanes = oneAtATime(maxWaitingForAccount)
  /** The wallet's responses about devices, including failures: otherwise an unavailable wallet would get the most requests. */
  readonly #trust = new LRUCache<string, Promise<boolean>>({ max: maxTrustKept, ttl: trustKeptMs })

  constructor(private readonly deps: WalletPaymentsDependencies) {
    this.#tokens = createWalletTokens(deps.box, () => this.#nowMs())
  }

  /** Sends a code to the account's phone if the password is correct. */
  async logIn(
    request: LogInRequest,
    context: CommandContext,
  ): Promise<Result<{ readonly token: string; readonly deviceCookie?: string }>> {
    const { wallet, collections } = this.deps
    const { trackingId, merchantId, email, password, deviceCookie } = request
    const found = await this.#payable(request)
    if (!('transfer' in found)) return found
    const testLogin = await this.#logInTestCustomer(found.transfer, email, password)
    const unprepared = testLogin ? undefined : wallet.unpreparedReason?.()
    if (unprepared !== undefined) {
      // The attempt is not counted, because the customer cannot change this.
      this.deps.onUnavailable(unprepared, found.transfer)
      return walletFailure('wallet-unavailable')
    }
    const loaded = await collections.load(trackingId)
    if (loaded.state.challenges.length >= maxLogins) return walletFailure('too-many-logins')
    const attempt = { email, merchantId, trackingId, customer: this.#deviceOf(found.transfer), deviceCookie }
    return this.#reachingWallet(async () => {
      const result =
        testLogin ?? (await this.deps.logIn(attempt, () => this.#logInTo(merchantId, email, password), context))
      if (result.outcome === 'locked') return walletFailure('login-throttled', result)
      if (result.outcome !== 'accepted') return walletFailure('bad-login')
      const accountNumber = result.value
      const retryAfterSeconds = this.#takeCode(accountNumber)
      if (retryAfterSeconds > 0) return walletFailure('login-throttled', { retryAfterSeconds })
      const challengeId = randomUUID()
      const command = { type: 'LogIn', challengeId, accountNumber } as const
      // One at a time for each deposit, so that concurrent requests do not exceed its maximum of logins.
      const recorded = await this.#lanes.run(trackingId, () =>
        collections.execute(found.transfer, command, context, loaded),
      )
      if (!recorded.accepted) return failureOf(recorded.refusal.rule)
      await wallet.sendCode({ id: challengeId, accountNumber }, await this.#describe(found.transfer))
      const token = this.#tokens.issue('code', request, challengeId)
      return { ok: true, token, ...('deviceCookie' in result && { deviceCookie: result.deviceCookie }) }
    }, found.transfer)
  }

  /** Checks a code. `Completed` means that the money was taken and the deposit is completed. */
  async verifyCode(request: CodeRequest, context: CommandContext): Promise<Result<Verified>> {
    const found = await this.#payable(request)
    if (!('transfer' in found)) return found
    const { transfer } = found
    const login = await this.#challengeOf('code', request)
    if (!('challenge' in login)) return login
    const { id: challengeId, accountNumber } = login.challenge
    return this.#reachingWallet(async () => {
      const checked = await this.#lanes.run(String(accountNumber), () =>
        this.#checkCode(transfer, login, request.code, context),
      )
      if (!checked.ok) return checked
      const token = this.#tokens.issue('device', request, challengeId)
      if (checked.isTrusted) {
        const paid = await this.deps.collections.pay(transfer, challengeId, context, checked.verified)
        return paid.ok ? { ok: true, nextStep: 'Completed', token, accountNumber } : paid
      }
      await this.#requestConfirmation(transfer, login.challenge, context, checked.verified)
      return { ok: true, nextStep: 'ValidateUserDevice', token, accountNumber }
    }, transfer)
  }

  /** Collects the money once the device is trusted. A repeat returns the same result. */
  async validateDevice(request: DeviceRequest, context: CommandContext): Promise<Result> {
    const { collections } = this.deps
    const found = await this.#ownDeposit(request)
    if (!('transfer' in found)) return found
    const { transfer } = found
    // Checked before the token, which expires with the deposit: the deposit's end is the more useful response.
    if (hasExpired(transfer, this.deps.clock())) return walletFailure('expired-deposit')
    const login = await this.#challengeOf('device', request)
    if (!('challenge' in login)) return login
    const { challenge, loaded } = login
    // A different poll may have collected the money.
    if (transfer.status === 'Completed') return { ok: true }
    if (transfer.status === 'ManualControl') return walletFailure('manual-control')
    const problem = payabilityFailure(transfer, this.deps.clock())
    if (problem) return problem
    return this.#reachingWallet(async () => {
      // A login with a collection has passed this step, and one whose link was opened has just been trusted.
      const isKnown = latestCollection(loaded.state, challenge.id) !== undefined || challenge.deviceConfirmed
      const isTrusted = isKnown || (await this.#isTrusted(challenge, transfer))
      return isTrusted ? collections.pay(transfer, challenge.id, context, loaded) : walletFailure('device-pending')
    })
  }

  async paidFrom(trackingId: string): Promise<number | undefined> {
    const { collections } = (await this.deps.collections.load(trackingId)).state
    return collections.findLast(({ outcome }) => outcome === 'collected')?.accountNumber
  }

  isDeviceToken({ trackingId, merchantId, token }: Omit<DeviceRequest, 'channel'>): boolean {
    return this.#tokens.verify('device', { trackingId, merchantId }, token).valid
  }

  /** Returns the confirmation that a link was created for, or `undefined` for an invalid link. Changes nothing, because mail scanners open links. */
  async deviceConfirmation(link: string): Promise<DeviceConfirmation | undefined> {
    const found = await this.#byLink(link)
    if (!found) return undefined
    const { accountNumber, deviceConfirmed, questionExpiresAt } = found.challenge
    const isExpired = this.deps.clock() >= questionExpiresAt!
    const state = deviceConfirmed ? 'confirmed' : isExpired ? 'expired' : 'open'
    return { state, ...(await this.#describe(found.transfer)), accountNumber }
  }

  async confirmDevice(link: string, context: CommandContext): Promise<Confirmed> {
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

  /**
   * Returns the result of a login of the sandbox's test customer, or `undefined` for any other customer. Its password is public, so guesses are
   * not counted: they would lock it for all merchants.
   */
  async #logInTestCustomer(transfer: Deposit, email: string, password: string) {
    const settings = await this.deps.settingsOf(transfer.merchantId)
    const result = settings?.sandbox ? testLogIn(email, password, scenarioOf(transfer)?.wallet ?? 'pays') : undefined
    return result?.outcome === 'accepted' ? { outcome: result.outcome, value: result.accountNumber } : result
  }

  #takeCode(accountNumber: number): number {
    return isTestAccount(accountNumber) ? 0 : this.deps.takeCode(accountNumber)
  }

  /** Logs in to an account that can pay the merchant's deposits. A live account for a sandbox merchant counts as a wrong password, and vice versa. */
  async #logInTo(merchantId: string, email: string, password: string): Promise<LogIn> {
    const loggedIn = await this.deps.wallet.logIn(email, password, merchantId)
    if (loggedIn.outcome === 'refused') return loggedIn
    const settings = await this.deps.settingsOf(merchantId)
    return loggedIn.sandbox === settings?.sandbox ? loggedIn : { outcome: 'refused', isAccount: true }
  }

  /** Checks one code at a time for each account, so that the limit on wrong codes holds for concurrent requests. */
  async #checkCode(
    transfer: Deposit,
    { challenge: { id: challengeId, accountNumber }, loaded }: LoadedChallenge,
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
      // The code of the test customer is public, and its account belongs to all merchants.
      if (!isTestAccount(accountNumber))
        await handleCommand(store, codeCapDecider, stream, wrong, context, { loaded: wrongCodes })
      return walletFailure('wrong-code')
    }
    // Queried before the token is used up, so that the customer can retry if the wallet is unavailable.
    const isTrusted = await wallet.isTrusted(accountNumber, this.#deviceOf(transfer))
    const verified = await collections.execute(transfer, { type: 'VerifyCode', challengeId }, context, attempted)
    return verified.accepted ? { ok: true, isTrusted, verified } : failureOf(verified.refusal.rule)
  }

  async #requestConfirmation(
    transfer: Deposit,
    { id: challengeId, accountNumber }: Challenge,
    context: CommandContext,
    loaded: Loaded<Payment>,
  ): Promise<void> {
    const { trackingId } = transfer
    const expiresAt = addMs(this.deps.clock(), tokenLifetimeSeconds.device * 1000)
    await this.deps.collections.execute(transfer, { type: 'QuestionDevice', challengeId, expiresAt }, context, loaded)
    const confirmUrl = `${this.deps.publicUrl}/device/${trackingId}.${challengeId}.${this.#linkMac(trackingId, challengeId)}`
    await this.deps.wallet.requestTrust({ accountNumber, confirmUrl, ...(await this.#describe(transfer)) })
  }

  async #describe({ merchantId, amountMinor }: Deposit): Promise<DescribedPayment> {
    return { merchantName: (await this.deps.settingsOf(merchantId))?.name ?? '', amountMinor }
  }

  /** Returns the deposit if it belongs to this merchant and can be paid now. */
  async #payable(step: Step): Promise<{ readonly transfer: Deposit } | WalletFailure> {
    const found = await this.#ownDeposit(step)
    if (!('transfer' in found)) return found
    return payabilityFailure(found.transfer, this.deps.clock()) ?? found
  }

  async #ownDeposit(step: Step): Promise<{ readonly transfer: Deposit } | WalletFailure> {
    const found = await this.deps.transfers.find(step.trackingId)
    if (found?.transfer.merchantId !== step.merchantId) return walletFailure('unknown-transfer')
    const { transfer } = found
    if (transfer.kind !== 'deposit') return withdrawalFailure
    if (transfer.channel === step.channel) {
      return this.deps.isManual(transfer.paymentMethod) ? walletFailure('manual-method') : { transfer }
    }
    const details = `The deposit is ${transfer.channel} and cannot be paid through these pages.`
    return walletFailure('not-payable', { details })
  }

  async #challengeOf(step: WalletStep, request: Step & { token: string }): Promise<LoadedChallenge | WalletFailure> {
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

  /** Identifies the device by the merchant's userId, because the native API has no other information about it. */
  #deviceOf({ merchantId, userId }: Deposit): string {
    return deviceIdOf(this.deps.box, merchantId, userId)
  }

  /** Queries the wallet at most once a second, regardless of the number of polls. */
  #isTrusted(challenge: Challenge, deposit: Deposit): Promise<boolean> {
    const key = this.#trustKey(challenge, deposit)
    const known = this.#trust.get(key)
    if (known) return known
    const response = this.deps.wallet.isTrusted(challenge.accountNumber, this.#deviceOf(deposit))
    // Kept while the wallet responds, and for a second afterwards.
    this.#trust.set(key, response, { ttl: 0 })
    const keep = () => this.#trust.peek(key) === response && this.#trust.set(key, response)
    response.then(keep, keep)
    return response
  }

  #trustKey({ accountNumber }: Challenge, deposit: Deposit): string {
    return `${accountNumber}:${this.#deviceOf(deposit)}`
  }

  #nowMs(): number {
    return Date.parse(this.deps.clock())
  }

  /** Runs a step that needs the wallet. Reports to the operator why it is unavailable, if `deposit` is given, but not to the customer. */
  async #reachingWallet<Value extends object>(
    step: () => Promise<Result<Value>>,
    deposit?: Deposit,
  ): Promise<Result<Value>> {
    try {
      return await step()
    } catch (error) {
      if (!(error instanceof WalletUnavailableError)) throw error
      if (deposit) this.deps.onUnavailable(error.message, deposit)
      return walletFailure('wallet-unavailable')
    }
  }
}

const failures: { readonly [rule in PaymentRule]?: WalletFailure['reason'] } = {
  'too-many-logins': 'too-many-logins',
  'already-verified': 'used-token',
  'too-many-attempts': 'too-many-codes',
  collecting: 'payment-under-way',
  collected: 'payment-under-way',
  'unknown-challenge': 'bad-token',
  'code-not-verified': 'bad-token',
}

function failureOf(rule: string): WalletFailure {
  const reason = failures[rule as PaymentRule]
  if (!reason) throw new Error(`unexpected refusal ${rule}`)
  return walletFailure(reason)
}
