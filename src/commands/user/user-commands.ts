import { randomInt, randomUUID } from 'node:crypto'
import { type Refused, refuse, refuseField, violate } from '../../domain/decider.js'
import { normalEmail, passwordProblem } from '../../domain/password-rules.js'
import type { Violation } from '../../domain/rules.js'
import { streamPrefix, userEmailStream, userStream } from '../../domain/streams.js'
import {
  isActive,
  type User,
  type UserCommand,
  type UserEvent,
  type UserState,
  userDecider,
  userEmailReservation,
} from '../../domain/user/user.js'
import { encodeEvent, type UnreadableEventError } from '../../event-store/event-codec.js'
import { type Append, comparePositions, type EventStore } from '../../event-store/event-store.js'
import { isVisible } from '../../kernel/text.js'
import type { Clock } from '../../kernel/time.js'
import { typedCode } from '../../kernel/typed-text.js'
import { isCommonPassword } from '../../security/common-passwords.js'
import { createPasswords, type Passwords } from '../../security/passwords.js'
import { type SecretBox, SecretBoxError } from '../../security/secret-box.js'
import { codeCounter, newTotpSecret, totpUri } from '../../security/totp.js'
import { FoldedStreams } from '../folded-streams.js'
import {
  type CommandContext,
  type HistoryEntry,
  handleCommand,
  loadStream,
  onSeen,
  readHistory,
  retryOnConflict,
  type Untimed,
} from '../handle-command.js'
import type { MerchantCommands } from '../merchant/merchant-commands.js'

/** `merchantIds` is `null` for the roles that apply to all merchants. */
export type NewUser = Pick<User, 'name' | 'role' | 'merchantIds'> & { readonly email: string }
export type UserResult =
  | { readonly accepted: true; readonly user: User; readonly revision: number; readonly changed: boolean }
  | Refused

/** A user with a password that is shown once and must be changed at the first sign-in. */
type IssuedUser =
  | { readonly accepted: true; readonly user: User; readonly revision: number; readonly password: string }
  | Refused

type IssuedRecoveryCodes = { readonly accepted: true; readonly codes: readonly string[] } | Refused

interface NewPassword {
  readonly current: string
  readonly next: string
}

/** `code` is the code of the second factor, or a recovery code. */
export interface ClaimedIdentity {
  readonly email: string
  readonly password: string
  readonly code?: string | undefined
}

type Proof =
  | {
      readonly outcome: 'proven'
      readonly user: User
      readonly codeCounter: number | null
      /** The digest of the recovery code that was sent instead. */
      readonly recoveryCode?: string
    }
  /** The password is correct, and the user has a second factor. */
  | { readonly outcome: 'code-needed'; readonly user: User }
  /** The password and the code are correct, but this code or a later one was used before. */
  | { readonly outcome: 'code-used' }
  | { readonly outcome: 'wrong'; readonly isUser: boolean }

const maxNameLength = 128
/** Excludes characters that look alike, because a person reads and types the password. */
const passwordAlphabet = 'abcdefghjkmnpqrstuvwxyz23456789'
/** 99 bits. */
const issuedLength = 20
const recoveryCodeCount = 10
const nonexistentUserId = '00000000-0000-0000-0000-000000000000'

/** Keeps all users of the dashboard in memory, folded from the log. Sessions are checked against them. */
export class UserDirectory extends FoldedStreams<UserState, User, UserEvent> {
  constructor(store: EventStore, onError: (error: unknown) => void) {
    const isLive = (state: UserState) => state.userId !== null
    super({ store, prefix: streamPrefix.user, decider: userDecider, isLive, onError })
  }

  problems(): readonly UnreadableEventError[] {
    return [...this.outOfService.values()]
  }
}

interface UserCommandsParts {
  readonly store: EventStore
  readonly directory: UserDirectory
  readonly clock: Clock
  readonly box: SecretBox
  readonly passwords: Passwords
  readonly isMerchant: (merchantId: string) => boolean | Promise<boolean>
  /** Returns whether one of these merchants (null for all) has a threshold above which withdrawals need two people. */
  readonly hasThreshold?: (merchantIds: readonly string[] | null) => Promise<boolean>
}

/** Runs every command on users of the dashboard. Each method may throw StoreUnavailableError or TooMuchContentionError. */
export class UserCommands {
  constructor(private readonly parts: UserCommandsParts) {}

  /** Creates a user, with the reserved id if a crash left only a reservation. Issues a password if `password` is omitted. */
  async create(request: NewUser, context: CommandContext, password?: string): Promise<IssuedUser> {
    const { store, box, clock } = this.parts
    const { role, merchantIds } = request
    const email = normalEmail(request.email)
    if (email === undefined) return refuseField('email', violate('email-invalid'))
    const problem = nameProblem(request.name) ?? (await this.#merchantsProblem(merchantIds))
    if (problem) return problem
    const weakness = password !== undefined && (await this.#passwordProblem(password, email))
    if (weakness) return refuseField('password', weakness)
    const heldBy = await this.#heldBy(context, request)
    const emailMac = this.#emailMac(email)
    const reservation = userEmailStream(emailMac)
    const issued = password ?? issuePassword()
    return retryOnConflict('the creation of a user', async () => {
      const { state, revision } = await loadStream(store, userEmailReservation, reservation)
      const userId = state.userId ?? randomUUID()
      if (state.userId !== null && (await this.find(userId))) return refuse('conflict', 'email-taken')
      const at = clock()
      const sealed = box.seal(email, userSecretOwner(userId, 'email'))
      const position = { name: request.name.trim(), role, merchantIds: unique(merchantIds) }
      const secret = { passwordHash: await this.#hash(userId, issued), temporary: password === undefined }
      const command = { type: 'Create', userId, emailMac, email: sealed, ...position, ...secret, heldBy, at } as const
      const decision = userDecider.decide(command, userDecider.initialState)
      if (!decision.accepted) return decision
      const reserve = { type: 'UserEmailReserved', data: { userId, at } } as const
      const events = decision.events.map((event) => encodeEvent(event, context))
      const appends: Append[] = [
        { stream: reservation, expectedRevision: revision, events: [encodeEvent(reserve, context)] },
        { stream: userStream(userId), expectedRevision: 'no_stream', events },
      ]
      // A conflict means that the email has just been reserved. The next attempt reads by which user.
      await store.appendInOrder(state.userId === null ? appends : appends.slice(1))
      await this.parts.directory.catchUp()
      const user = decision.events.reduce(userDecider.evolve, userDecider.initialState)
      return { accepted: true, user: existing(user), revision: events.length - 1, password: issued }
    })
  }

  async find(userId: string): Promise<User | undefined> {
    const { state } = await loadStream(this.parts.store, userDecider, userStream(userId))
    return state.userId === null ? undefined : state
  }

  /** Returns every event of a user, oldest first. @throws UnreadableEventError */
  history(userId: string): Promise<readonly HistoryEntry<UserEvent>[]> {
    return readHistory(this.parts.store, userStream(userId))
  }

  /** Returns every event of all users, oldest first. @throws UnreadableEventError */
  async historyOfAll(): Promise<readonly HistoryEntry<UserEvent>[]> {
    const { directory } = this.parts
    await directory.catchUp()
    const histories = await Promise.all(directory.all().map(({ userId }) => this.history(userId)))
    return histories.flat().sort((a, b) => comparePositions(a.position, b.position))
  }

  async findByEmail(email: string): Promise<User | undefined> {
    const stream = userEmailStream(this.#emailMac(normalEmail(email) ?? ''))
    const { state } = await loadStream(this.parts.store, userEmailReservation, stream)
    // Also reads a user that never exists, so that an unknown email takes as long as a known one.
    return this.find(state.userId ?? nonexistentUserId)
  }

  /** @throws SecretBoxError if the master key is a different one */
  emailOf({ userId, email }: User): string {
    return this.parts.box.open(email, userSecretOwner(userId, 'email'))
  }

  /** Returns the email for a list, in which an unreadable one must not hide the other users. */
  shownEmailOf(user: User): string {
    try {
      return this.emailOf(user)
    } catch (error) {
      if (error instanceof SecretBoxError) return '(cannot be opened)'
      throw error
    }
  }

  async changeRole(
    userId: string,
    { role, merchantIds }: Pick<User, 'role' | 'merchantIds'>,
    context: CommandContext,
    revision?: number,
  ): Promise<UserResult> {
    const problem = await this.#merchantsProblem(merchantIds)
    if (problem) return problem
    if (role !== 'administrator' && (await this.#isLastAdministrator(userId))) return lastAdministrator
    const { role: roleBefore, merchantIds: before = [] } = (await this.find(userId)) ?? {}
    const isGain = role !== roleBefore || !!merchantIds?.some((merchantId) => !before?.includes(merchantId))
    const heldBy = isGain ? await this.#heldBy(context, { role, merchantIds }) : undefined
    const command = { type: 'ChangeRole', role, merchantIds: unique(merchantIds), heldBy } as const
    return this.execute(userId, command, context, revision)
  }

  /**
   * Confirms the changes of another administrator, after which the user can sign in (docs/decisions/0041-second-administrator.md). The
   * administrator confirms the access that `revision` shows, and no later one.
   */
  confirmAccess(userId: string, revision: number, context: CommandContext): Promise<UserResult> {
    return this.execute(userId, { type: 'ConfirmAccess', by: context.actor }, context, revision)
  }

  async enable(userId: string, context: CommandContext, revision?: number): Promise<UserResult> {
    const heldBy = await this.#heldBy(context, await this.find(userId))
    return this.execute(userId, { type: 'Enable', heldBy }, context, revision)
  }

  async disable(userId: string, context: CommandContext): Promise<UserResult> {
    if (await this.#isLastAdministrator(userId)) return lastAdministrator
    return this.execute(userId, { type: 'Disable' }, context)
  }

  /** Issues a new temporary password and removes the second factor. */
  async reset(userId: string, context: CommandContext): Promise<IssuedUser> {
    const password = issuePassword()
    const passwordHash = await this.#hash(userId, password)
    const heldBy = await this.#heldBy(context, await this.find(userId))
    const result = await this.execute(userId, { type: 'Reset', passwordHash, heldBy }, context)
    return result.accepted ? { accepted: true, user: result.user, revision: result.revision, password } : result
  }

  /** Returns why the user cannot choose this password, or `undefined`. */
  async passwordRefusal(user: User, { current, next }: NewPassword): Promise<Refused | undefined> {
    const problem = next === current ? violate('unchanged') : await this.#passwordProblem(next, this.emailOf(user))
    return problem && refuseField('next', problem)
  }

  async changePassword(user: User, passwords: NewPassword, context: CommandContext): Promise<UserResult> {
    const refused = await this.passwordRefusal(user, passwords)
    if (refused) return refused
    const passwordHash = await this.#hash(user.userId, passwords.next)
    return this.execute(user.userId, { type: 'SetPassword', passwordHash }, context)
  }

  /** Returns a new secret for an authenticator, which lists it under the issuer. Nothing changes before {@link setSecondFactor} receives a code. */
  offerSecondFactor(user: User, issuer: string): { readonly secret: string; readonly uri: string } {
    const secret = newTotpSecret()
    return { secret, uri: totpUri(secret, issuer, this.emailOf(user)) }
  }

  /** Sets an offered secret, if the code shows that the user's authenticator has it. */
  async setSecondFactor(userId: string, secret: string, code: string, context: CommandContext): Promise<UserResult> {
    const counter = codeCounter(secret, code, Date.parse(this.parts.clock()))
    if (counter === undefined) return refuseField('code', violate('wrong-code'))
    const sealed = this.parts.box.seal(secret, userSecretOwner(userId, 'second factor'))
    return this.execute(userId, { type: 'SetSecondFactor', secret: sealed, codeCounter: counter }, context)
  }

  /** Issues recovery codes, which replace all earlier ones. Each replaces the code of the second factor once, and the log has only digests. */
  async issueRecoveryCodes(userId: string, context: CommandContext): Promise<IssuedRecoveryCodes> {
    const codes = Array.from({ length: recoveryCodeCount }, issuePassword)
    const codeDigests = codes.map((code) => this.#recoveryCodeDigest(userId, code))
    const result = await this.execute(userId, { type: 'IssueRecoveryCodes', codeDigests }, context)
    return result.accepted
      ? { accepted: true, codes: codes.map((code) => code.replaceAll(/.{5}(?=.)/g, '$&-')) }
      : result
  }

  /**
   * Runs a command without further checks: `Disable` disables the last administrator too. `SignIn` and `Confirm` use up the code. The command
   * is refused if the user has changed since `seen`, if that is given.
   */
  async execute(
    userId: string,
    command: Untimed<UserCommand>,
    context: CommandContext,
    seen?: number,
  ): Promise<UserResult> {
    const { store, directory, clock } = this.parts
    const stream = userStream(userId)
    const timed = { ...command, at: clock() }
    const options = onSeen(stream, seen, context, command)
    const result = await handleCommand(store, userDecider, stream, timed, context, options)
    if (!result.accepted) return result
    const { state, revision, events } = result
    if (revision === 'no_stream') throw new Error('an accepted command left no user')
    // Sessions are checked against the directory, so it must know the change before the next request.
    await directory.catchUp()
    return { accepted: true, user: existing(state), revision, changed: events.length > 0 }
  }

  /** Checks a password and a code. An unknown email costs as much as a wrong password, to reveal no user. @throws TooManyPasswordsError */
  async prove(claimed: ClaimedIdentity, queuedFor: string): Promise<Proof> {
    const { passwords } = this.parts
    const user = await this.findByEmail(claimed.email)
    const keyed = this.#keyed(user?.userId ?? nonexistentUserId, claimed.password)
    const matches = await passwords.verify(user?.passwordHash, keyed, queuedFor)
    if (!user || !matches || !isActive(user)) return { outcome: 'wrong', isUser: user !== undefined }
    if (user.secondFactor === null) return { outcome: 'proven', user, codeCounter: null }
    if (claimed.code === undefined) return { outcome: 'code-needed', user }
    return this.#proveCode(user, user.secondFactor, claimed.code)
  }

  /** Called only after the password was correct, because `code-used` reveals that the code was. */
  #proveCode(user: User, secondFactor: string, code: string): Proof {
    const { box, clock } = this.parts
    if (code.length >= issuedLength) {
      const recoveryCode = this.#recoveryCodeDigest(user.userId, code)
      if (user.recoveryCodes.includes(recoveryCode)) return { outcome: 'proven', user, codeCounter: null, recoveryCode }
      return user.usedRecoveryCodes.includes(recoveryCode)
        ? { outcome: 'code-used' }
        : { outcome: 'wrong', isUser: true }
    }
    const secret = box.open(secondFactor, userSecretOwner(user.userId, 'second factor'))
    const counter = codeCounter(secret, code, Date.parse(clock()))
    if (counter === undefined) return { outcome: 'wrong', isUser: true }
    return counter > user.lastCodeCounter ? { outcome: 'proven', user, codeCounter: counter } : { outcome: 'code-used' }
  }

  /** Returns whether no other user could create an administrator. Two nodes may remove the last two at the same time. */
  async #isLastAdministrator(userId: string): Promise<boolean> {
    const { directory } = this.parts
    await directory.catchUp()
    const left = directory.all().filter((user) => user.role === 'administrator' && isActive(user))
    return left.length === 1 && left[0]!.userId === userId
  }

  /**
   * Returns the actor of a change that gives this access, if a second administrator must confirm it: the user could approve withdrawals, or
   * confirm such a change. An operator on the machine is not held, because the master key allows everything.
   */
  async #heldBy({ actor }: CommandContext, access: Pick<User, 'role' | 'merchantIds'> | undefined) {
    const { hasThreshold } = this.parts
    if (!access || !hasThreshold || !actor.startsWith('user:')) return undefined
    const { role, merchantIds } = access
    const isPowerful = role === 'approver' || role === 'administrator'
    return isPowerful && (await hasThreshold(merchantIds)) ? actor : undefined
  }

  async #passwordProblem(password: string, email: string): Promise<Violation | undefined> {
    const problem = passwordProblem(password, email)
    return problem ?? ((await isCommonPassword(password)) ? violate('common-password') : undefined)
  }

  async #merchantsProblem(merchantIds: readonly string[] | null) {
    for (const merchantId of merchantIds ?? []) {
      if (!(await this.parts.isMerchant(merchantId))) return refuseField('merchantIds', violate('unknown-merchant'))
    }
    return undefined
  }

  #emailMac(email: string): string {
    return this.parts.box.mac('user email', email)
  }

  /** A keyed digest is enough, because a code is random. */
  #recoveryCodeDigest(userId: string, code: string): string {
    return this.parts.box.mac('user recovery code', `${userId}:${typedCode(code)}`)
  }

  #hash(userId: string, password: string): Promise<string> {
    return this.parts.passwords.hash(this.#keyed(userId, password), 'users')
  }

  /** Returns the keyed text that is hashed, so that the log alone is not enough to try passwords. */
  #keyed(userId: string, password: string): string {
    return this.parts.box.mac('user password', `${userId}:${password.normalize('NFC')}`)
  }
}

/** Creates the commands for a program that runs one of them, and therefore does not follow the log. */
export function createUserCommands(
  parts: Pick<UserCommandsParts, 'box' | 'clock'> & {
    readonly eventStore: EventStore
    readonly merchants: MerchantCommands
  },
) {
  const { eventStore: store, box, clock, merchants } = parts
  const directory = new UserDirectory(store, () => undefined)
  const isMerchant = async (id: string) => (await merchants.find(id)) !== undefined
  const users = new UserCommands({ store, directory, clock, box, passwords: createPasswords(), isMerchant })
  return { directory, users }
}

const lastAdministrator = refuse('conflict', 'last-administrator')

function nameProblem(name: string) {
  if (name.trim() === '' || name.length > maxNameLength) {
    return refuseField('name', violate('text-length', { most: maxNameLength }))
  }
  return isVisible(name) ? undefined : refuseField('name', violate('hidden-characters'))
}

function unique(merchantIds: readonly string[] | null): readonly string[] | null {
  return merchantIds && [...new Set(merchantIds)]
}

function issuePassword(): string {
  return Array.from({ length: issuedLength }, () => passwordAlphabet[randomInt(passwordAlphabet.length)]).join('')
}

function existing(state: UserState): User {
  if (state.userId === null) throw new Error('an accepted command left no user')
  return state
}

/** Returns the associated data of a sealed text, which can be opened only for this user and purpose. */
export const userSecretOwner = (userId: string, what: 'email' | 'second factor'): string => `user:${userId}:${what}`
