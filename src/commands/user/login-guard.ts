import { randomBytes, timingSafeEqual } from 'node:crypto'
import type { Decider } from '../../domain/decider.js'
import { type LoginCommand, type LoginState, loginLockedUntilMs, signInDecider } from '../../domain/login-lock.js'
import { normalEmail } from '../../domain/password-rules.js'
import { userSignInsStream } from '../../domain/streams.js'
import type { User } from '../../domain/user/user.js'
import type { DomainEvent } from '../../event-store/event-codec.js'
import type { EventStore } from '../../event-store/event-store.js'
import { boundedCache } from '../../kernel/bounded-cache.js'
import type { Clock } from '../../kernel/time.js'
import type { SecretBox } from '../../security/secret-box.js'
import { type CommandContext, emptyStream, type Loaded, oneAtATime, StreamCache } from '../handle-command.js'
import type { ClaimedIdentity, UserCommands } from './user-commands.js'

interface GuardedAttempt<Subject> {
  readonly email: string
  readonly subject: Subject
  /** The cookie that an accepted attempt gave to this browser. */
  readonly deviceCookie: string | undefined
  /** The device that becomes known if the password is correct; defaults to the browser. */
  readonly device?: string
}

type Compared<Accepted> =
  | { readonly outcome: 'accepted'; readonly value: Accepted }
  /** `isAccount`: an account has this email. */
  | { readonly outcome: 'refused'; readonly isAccount?: boolean }
  /** Correct, but the code was used before. It counts as a failure, so that a used code gives no further guesses. */
  | { readonly outcome: 'code-used' }
  /** Correct so far, but something is missing: neither a failure nor a success. */
  | { readonly outcome: 'unfinished' }

export type Guarded<Accepted> =
  /** The cookie is for the browser's next attempt. It grants no access: it only counts the browser's failures separately. */
  | { readonly outcome: 'accepted'; readonly value: Accepted; readonly deviceCookie: string }
  | { readonly outcome: 'refused' | 'code-used' | 'unfinished' }
  | { readonly outcome: 'locked'; readonly retryAfterSeconds: number }

/** Runs `compare` unless the device is locked. An error of `compare` does not count as an attempt. */
type LoginGuard<Subject> = <Accepted>(
  attempt: GuardedAttempt<Subject>,
  compare: () => Promise<Compared<Accepted>>,
  context: CommandContext,
) => Promise<Guarded<Accepted>>

const maxWaiting = 1_000
const maxKnownAccounts = 10_000
/** Failures for emails that no account has are counted in memory, so that invented emails cannot fill the log. */
const maxUnknownAccounts = 100_000
const nonceBytes = 16
type MacBox = Pick<SecretBox, 'mac'>

interface LoginGuardOptions<Subject, Event extends DomainEvent> {
  readonly store: EventStore
  readonly box: MacBox
  readonly clock: Clock
  readonly decider: Decider<LoginState, LoginCommand<Subject>, Event>
  readonly streamOf: (account: string) => string
  /** The purposes of the keyed digests that name accounts and devices. */
  readonly purposes: { readonly account: string; readonly device: string }
}

/** Limits guesses without locking out the owner (docs/decisions/0020-login-throttling.md). @throws StoreUnavailableError, TooMuchContentionError */
export function createLoginGuard<Subject extends object, Event extends DomainEvent>(
  options: LoginGuardOptions<Subject, Event>,
): LoginGuard<Subject> {
  const { store, box, clock, decider, streamOf, purposes } = options
  const lanes = oneAtATime(maxWaiting)
  const streams = new StreamCache(store, decider, maxKnownAccounts)
  const unknown = boundedCache<LoginState>(maxUnknownAccounts)

  const load = async (account: string): Promise<Loaded<LoginState>> => {
    const loaded = await streams.load(streamOf(account))
    return loaded.revision === 'no_stream' ? { ...loaded, state: unknown.get(account) ?? loaded.state } : loaded
  }
  const record = async (
    account: string,
    command: LoginCommand<Subject>,
    loaded: Loaded<LoginState>,
    context: CommandContext,
  ) => {
    // The first event replaces the failures that were counted in memory.
    const before = loaded.revision === 'no_stream' ? emptyStream(decider) : loaded
    const result = await streams.handle(streamOf(account), command, context, before)
    if (!result.accepted) throw new Error(`a login was not recorded: ${result.refusal.rule}`)
    unknown.delete(account)
  }
  const recordInMemory = (account: string, command: LoginCommand<Subject>) => {
    const before = unknown.get(account) ?? decider.initialState
    const decision = decider.decide(command, before)
    if (decision.accepted) unknown.set(account, decision.events.reduce(decider.evolve, before))
  }
  const cookieMac = (account: string, nonce: string) => box.mac(purposes.device, `${account}.${nonce}`)
  /** Returns the device of a cookie that was issued for this account, or `undefined` for any other cookie. */
  const deviceOfCookie = (account: string, cookie = ''): string | undefined => {
    const [, nonce, mac] = /^([A-Za-z0-9_-]{22})\.([A-Za-z0-9_-]{43})$/.exec(cookie) ?? []
    if (!nonce || !mac) return undefined
    return timingSafeEqual(Buffer.from(mac), Buffer.from(cookieMac(account, nonce))) ? nonce : undefined
  }

  return async ({ email, subject, deviceCookie, device: named }, compare, context) => {
    const account = box.mac(purposes.account, normalEmail(email) ?? email)
    const { knownDevices } = (await load(account)).state
    const browser = deviceOfCookie(account, deviceCookie)
    const device = browser ?? (named !== undefined && knownDevices.includes(named) ? named : null)
    // One at a time, so that a hundred concurrent attempts are limited like a hundred sequential ones.
    return lanes.run(`${account}:${device}`, async () => {
      const loaded = await load(account)
      const nowMs = Date.parse(clock())
      const lockedUntilMs = loginLockedUntilMs(loaded.state, device, nowMs)
      if (lockedUntilMs !== undefined) {
        return { outcome: 'locked', retryAfterSeconds: Math.ceil((lockedUntilMs - nowMs) / 1000) }
      }
      const compared = await compare()
      if (compared.outcome === 'unfinished') return compared
      const at = clock()
      if (compared.outcome !== 'accepted') {
        const failed = { type: 'FailLogIn', ...subject, device, at } as const
        const isAccount = compared.outcome === 'code-used' || compared.isAccount
        if (isAccount || loaded.revision !== 'no_stream') await record(account, failed, loaded, context)
        else recordInMemory(account, failed)
        return { outcome: compared.outcome }
      }
      const nonce = randomBytes(nonceBytes).toString('base64url')
      const known = named ?? browser ?? nonce
      await record(account, { type: 'KnowDevice', ...subject, device: known, at }, loaded, context)
      const cookie = named === undefined ? known : nonce
      return { ...compared, deviceCookie: `${cookie}.${cookieMac(account, cookie)}` }
    })
  }
}

export interface SignInAttempt extends ClaimedIdentity, Pick<GuardedAttempt<object>, 'deviceCookie'> {
  /** The party that the slow hash is queued for. */
  readonly address: string
  /** Starts a session or confirms an action, both with the code if the user has a second factor. */
  readonly purpose: 'SignIn' | 'Confirm'
}

/** Checks a user as often as the login guard allows. @throws TooManyPasswordsError, StoreUnavailableError, TooMuchContentionError */
export type SignIn = (attempt: SignInAttempt, context: CommandContext) => Promise<Guarded<SignedIn>>

interface SignedIn {
  readonly user: User
  readonly usedRecoveryCode: boolean
}

export function createSignIn(store: EventStore, box: MacBox, clock: Clock, users: UserCommands): SignIn {
  const purposes = { account: 'user sign-in', device: 'sign-in device' }
  const guard = createLoginGuard({ store, box, clock, decider: signInDecider, streamOf: userSignInsStream, purposes })
  const compare = async (attempt: SignInAttempt, context: CommandContext): Promise<Compared<SignedIn>> => {
    const { address, purpose, ...claimed } = attempt
    const proof = await users.prove(claimed, address)
    if (proof.outcome === 'wrong') return { outcome: 'refused', isAccount: proof.isUser }
    if (proof.outcome === 'code-needed') return { outcome: 'unfinished' }
    if (proof.outcome === 'code-used') return proof
    const { user, codeCounter, recoveryCode } = proof
    const recorded = await users.execute(user.userId, { type: purpose, codeCounter, recoveryCode }, context)
    // Another request has just used the code, or the user has been disabled.
    if (!recorded.accepted)
      return recorded.refusal.rule === 'code-used' ? { outcome: 'code-used' } : { outcome: 'refused', isAccount: true }
    return { outcome: 'accepted', value: { user: recorded.user, usedRecoveryCode: recoveryCode !== undefined } }
  }
  return (attempt, context) => {
    const { email, deviceCookie } = attempt
    return guard({ email, deviceCookie, subject: {} }, () => compare(attempt, context), context)
  }
}
