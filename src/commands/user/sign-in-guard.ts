import { randomBytes, timingSafeEqual } from 'node:crypto'
import { normalEmail } from '../../domain/email.js'
import { type LoginCommand, type LoginState, loginLockedUntilMs } from '../../domain/login-lock.js'
import type { DomainEvent } from '../../event-store/event-codec.js'
import type { EventStore } from '../../event-store/event-store.js'
import { boundedCache } from '../../kernel/bounded-cache.js'
import type { Clock } from '../../kernel/clock.js'
import type { Decider } from '../../kernel/decision.js'
import type { SecretBox } from '../../security/secret-box.js'
import { type CommandContext, emptyStream, type Loaded } from '../handle-command.js'
import { StreamCache } from '../stream-cache.js'
import { oneAtATime } from '../write-contention.js'

export interface GuardedAttempt<Subject> {
  readonly email: string
  /** Recorded with the attempt. */
  readonly subject: Subject
  /** What an accepted attempt gave to this browser before; undefined when there is none, or it is no browser of ours. */
  readonly deviceCookie: string | undefined
  /** Becomes a known device when the password is right; the browser by itself when absent. */
  readonly device?: string
}

export type Compared<Accepted> =
  | { readonly outcome: 'accepted'; readonly value: Accepted }
  /** `isAccount`: somebody has this e-mail. */
  | { readonly outcome: 'refused'; readonly isAccount?: boolean }
  /** Right so far, and something is missing: neither a failure nor a success. */
  | { readonly outcome: 'unfinished' }

export type Guarded<Accepted> =
  | {
      readonly outcome: 'accepted'
      readonly value: Accepted
      /** For the browser to show next time. It opens nothing: its failures are its own, that is all. */
      readonly deviceCookie: string
    }
  | { readonly outcome: 'refused' }
  | { readonly outcome: 'unfinished' }
  | { readonly outcome: 'locked'; readonly retryAfterSeconds: number }

/** Log-ins from one device to one account at once. */
const maxWaiting = 1_000
const maxKnownAccounts = 10_000
/** E-mails nobody is known to have: whoever makes some up must not fill the log with them. */
const maxUnknownAccounts = 100_000
const nonceBytes = 16

export interface LogInGuardOptions<Subject, Event extends DomainEvent> {
  readonly store: EventStore
  readonly box: Pick<SecretBox, 'mac'>
  readonly clock: Clock
  readonly decider: Decider<LoginState, LoginCommand<Subject>, Event>
  readonly streamOf: (account: string) => string
  /** Of the keyed digests by which accounts and their devices are named. */
  readonly purposes: { readonly account: string; readonly device: string }
}

/**
 * Bounds how often a password is guessed, without letting strangers lock out whose it is: failures from a device that is
 * known to the account count for that device, all others together (docs/decisions/0020). Methods may throw
 * StoreUnavailableError or TooMuchContentionError.
 */
export class LogInGuard<Subject extends object, Event extends DomainEvent> {
  readonly #options: LogInGuardOptions<Subject, Event>
  readonly #lanes = oneAtATime(maxWaiting)
  readonly #streams: StreamCache<LoginState, LoginCommand<Subject>, Event>
  readonly #unknown = boundedCache<LoginState>(maxUnknownAccounts)

  constructor(options: LogInGuardOptions<Subject, Event>) {
    this.#options = options
    this.#streams = new StreamCache(options.store, options.decider, maxKnownAccounts)
  }

  /** `compare` is not called while passwords from there are not compared. What it throws counts nothing. */
  async attempt<Accepted>(
    { email, subject, deviceCookie, device: named }: GuardedAttempt<Subject>,
    compare: () => Promise<Compared<Accepted>>,
    context: CommandContext,
  ): Promise<Guarded<Accepted>> {
    const { box, clock, purposes } = this.#options
    const account = box.mac(purposes.account, normalEmail(email) ?? email)
    const { knownDevices } = (await this.#load(account)).state
    const ofCookie = this.#cookieDevice(account, deviceCookie)
    const device = ofCookie ?? (named !== undefined && knownDevices.includes(named) ? named : null)
    // One after the other, so that of a hundred at once no more are compared than one by one.
    return this.#lanes.run(`${account}:${device}`, async () => {
      const loaded = await this.#load(account)
      const nowMs = Date.parse(clock())
      const lockedUntilMs = loginLockedUntilMs(loaded.state, device, nowMs)
      if (lockedUntilMs !== undefined) {
        return { outcome: 'locked', retryAfterSeconds: Math.ceil((lockedUntilMs - nowMs) / 1000) }
      }
      const compared = await compare()
      if (compared.outcome === 'unfinished') return { outcome: 'unfinished' }
      const at = clock()
      if (compared.outcome === 'refused') {
        const failed = { type: 'FailLogIn', ...subject, device, at } as const
        const isKnown = compared.isAccount || loaded.revision !== 'no_stream'
        if (isKnown) await this.#record(account, failed, loaded, context)
        else this.#recordUnknown(account, failed)
        return { outcome: 'refused' }
      }
      const nonce = randomBytes(nonceBytes).toString('base64url')
      const known = named ?? ofCookie ?? nonce
      await this.#record(account, { type: 'KnowDevice', ...subject, device: known, at }, loaded, context)
      const cookie = named === undefined ? known : nonce
      return {
        outcome: 'accepted',
        value: compared.value,
        deviceCookie: `${cookie}.${this.#cookieMac(account, cookie)}`,
      }
    })
  }

  async #record(account: string, command: LoginCommand<Subject>, loaded: Loaded<LoginState>, context: CommandContext) {
    const { decider, streamOf } = this.#options
    // What was counted in memory ends with the first event: from then on the log counts.
    const before = loaded.revision === 'no_stream' ? emptyStream(decider) : loaded
    const result = await this.#streams.handle(streamOf(account), command, context, before)
    if (!result.accepted) throw new Error(`a log-in was not recorded: ${result.refusal.rule}`)
    this.#unknown.delete(account)
  }

  #recordUnknown(account: string, command: LoginCommand<Subject>): void {
    const { decider } = this.#options
    const before = this.#unknown.get(account) ?? decider.initialState
    const decision = decider.decide(command, before)
    if (!decision.accepted) return
    this.#unknown.set(account, decision.events.reduce(decider.evolve, before))
  }

  async #load(account: string): Promise<Loaded<LoginState>> {
    const loaded = await this.#streams.load(this.#options.streamOf(account))
    if (loaded.revision !== 'no_stream') return loaded
    return { ...loaded, state: this.#unknown.get(account) ?? loaded.state }
  }

  /** The device of a cookie that was made for this account; undefined for any other. */
  #cookieDevice(account: string, cookie: string | undefined): string | undefined {
    const [, nonce, mac] = /^([A-Za-z0-9_-]{22})\.([A-Za-z0-9_-]{43})$/.exec(cookie ?? '') ?? []
    if (!nonce || !mac) return undefined
    return timingSafeEqual(Buffer.from(mac), Buffer.from(this.#cookieMac(account, nonce))) ? nonce : undefined
  }

  #cookieMac(account: string, nonce: string): string {
    return this.#options.box.mac(this.#options.purposes.device, `${account}.${nonce}`)
  }
}
