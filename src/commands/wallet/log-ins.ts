import { randomBytes, timingSafeEqual } from 'node:crypto'
import { LRUCache } from 'lru-cache'
import { type LogInCommand, type LogIns, logInDecider, logInLockedUntilMs } from '../../domain/payment/log-in-lock.js'
import { walletLogInsStream } from '../../domain/streams.js'
import { normalEmail } from '../../domain/wallet/credentials.js'
import type { EventStore } from '../../event-store/event-store.js'
import type { SecretBox } from '../../security/secret-box.js'
import type { LogIn } from '../../wallet/wallet.js'
import { type Clock, type CommandContext, handleCommand, type Loaded, loadStream, unread } from '../handle-command.js'
import { KeyedQueue } from './keyed-queue.js'

export interface LogInAttempt {
  readonly email: string
  readonly merchantId: string
  readonly trackingId: string
  /** The merchant's customer, an opaque text: a device of its own once the password was right for it. */
  readonly customer: string
  /** What {@link Admitted} gave to this browser before; undefined when there is none, or it is no browser of ours. */
  readonly deviceCookie: string | undefined
}

export interface Admitted {
  readonly outcome: 'accepted'
  readonly accountNumber: number
  /** For the browser to show next time. It opens nothing: its failures are its own, that is all. */
  readonly deviceCookie: string
}

export type LogInResult =
  | Admitted
  | { readonly outcome: 'refused' }
  | { readonly outcome: 'locked'; readonly retryAfterSeconds: number }

/** Log-ins from one device to one account at once. */
const maxWaiting = 1_000
const maxKnownAccounts = 10_000
/** E-mails nobody is known to have: whoever makes some up must not fill the log with them. */
const maxUnknownAccounts = 100_000
const nonceBytes = 16

/**
 * Bounds how often a password is guessed, without letting strangers lock out the customer: failures from a device that is
 * known to the account count for that device, all others together (docs/decisions/0020). Methods may throw
 * StoreUnavailableError or TooMuchContentionError.
 */
export class WalletLogIns {
  readonly #lanes = new KeyedQueue(maxWaiting)
  readonly #known = new LRUCache<string, Loaded<LogIns>>({ max: maxKnownAccounts })
  readonly #unknown = new LRUCache<string, LogIns>({ max: maxUnknownAccounts })

  constructor(
    private readonly store: EventStore,
    private readonly box: Pick<SecretBox, 'mac'>,
    private readonly clock: Clock,
  ) {}

  /** `logIn` asks the wallet, and is not called while passwords from there are not compared. What it throws counts nothing. */
  async attempt(attempt: LogInAttempt, logIn: () => Promise<LogIn>, context: CommandContext): Promise<LogInResult> {
    const { email, customer, deviceCookie } = attempt
    const account = this.box.mac('wallet log-in', normalEmail(email) ?? email)
    const { knownDevices } = (await this.#load(account)).state
    const device = this.#cookieDevice(account, deviceCookie) ?? (knownDevices.includes(customer) ? customer : null)
    // One after the other, so that of a hundred at once no more are compared than one by one.
    return this.#lanes.run(`${account}:${device}`, async () => {
      const loaded = await this.#load(account)
      const nowMs = Date.parse(this.clock())
      const lockedUntilMs = logInLockedUntilMs(loaded.state, device, nowMs)
      if (lockedUntilMs !== undefined) {
        return { outcome: 'locked', retryAfterSeconds: Math.ceil((lockedUntilMs - nowMs) / 1000) }
      }
      const result = await logIn()
      const { merchantId, trackingId } = attempt
      const common = { merchantId, trackingId, at: this.clock() }
      if (result.outcome === 'refused') {
        const failed = { type: 'FailLogIn', ...common, device } as const
        const isKnown = result.isAccount || loaded.revision !== 'no_stream'
        if (isKnown) await this.#record(account, failed, loaded, context)
        else this.#recordUnknown(account, failed)
        return { outcome: 'refused' }
      }
      await this.#record(account, { type: 'KnowDevice', ...common, device: customer }, loaded, context)
      return { outcome: 'accepted', accountNumber: result.accountNumber, deviceCookie: this.#newCookie(account) }
    })
  }

  async #record(account: string, command: LogInCommand, loaded: Loaded<LogIns>, context: CommandContext) {
    const stream = walletLogInsStream(account)
    // What was counted in memory ends with the first event: from then on the log counts.
    const before = loaded.revision === 'no_stream' ? unread(logInDecider) : loaded
    const result = await handleCommand(this.store, logInDecider, stream, command, context, { loaded: before })
    if (!result.accepted) throw new Error(`a log-in was not recorded: ${result.refusal.message}`)
    const { state, revision } = result
    this.#known.set(account, { state, revision })
    this.#unknown.delete(account)
  }

  #recordUnknown(account: string, command: LogInCommand): void {
    const before = this.#unknown.get(account) ?? logInDecider.initialState
    const decision = logInDecider.decide(command, before)
    if (!decision.accepted) return
    this.#unknown.set(account, decision.events.reduce(logInDecider.evolve, before))
  }

  async #load(account: string): Promise<Loaded<LogIns>> {
    const stream = walletLogInsStream(account)
    const loaded = await loadStream(this.store, logInDecider, stream, { known: this.#known.get(account) })
    if (loaded.revision === 'no_stream') return { ...loaded, state: this.#unknown.get(account) ?? loaded.state }
    this.#known.set(account, loaded)
    return loaded
  }

  #newCookie(account: string): string {
    const nonce = randomBytes(nonceBytes).toString('base64url')
    return `${nonce}.${this.#cookieMac(account, nonce)}`
  }

  /** The device of a cookie that was made for this account; undefined for any other. */
  #cookieDevice(account: string, cookie: string | undefined): string | undefined {
    const [, nonce, mac] = /^([A-Za-z0-9_-]{22})\.([A-Za-z0-9_-]{43})$/.exec(cookie ?? '') ?? []
    if (!nonce || !mac) return undefined
    return timingSafeEqual(Buffer.from(mac), Buffer.from(this.#cookieMac(account, nonce))) ? nonce : undefined
  }

  #cookieMac(account: string, nonce: string): string {
    return this.box.mac('log-in device', `${account}.${nonce}`)
  }
}
