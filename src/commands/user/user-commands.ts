import { randomInt, randomUUID } from 'node:crypto'
import { normalEmail, passwordProblem } from '../../domain/credentials.js'
import { userEmailStream, userStream } from '../../domain/streams.js'
import type { Role } from '../../domain/user/permissions.js'
import { type User, type UserCommand, type UserEvent, userDecider, userEmailDecider } from '../../domain/user/user.js'
import { encodeEvent } from '../../event-store/event-codec.js'
import type { Append, EventStore } from '../../event-store/event-store.js'
import type { Clock } from '../../kernel/clock.js'
import { type Refusal, refuse, refuseField, violate } from '../../kernel/rules.js'
import { isVisible } from '../../kernel/text.js'
import type { Passwords } from '../../security/passwords.js'
import { type SecretBox, SecretBoxError } from '../../security/secret-box.js'
import { codeCounter, newTotpSecret, totpUri } from '../../security/totp.js'
import {
  type CommandContext,
  type HistoryEntry,
  handleCommand,
  loadStream,
  readHistory,
  retryOnConflict,
} from '../handle-command.js'
import type { UserDirectory } from './user-directory.js'

export interface NewUser {
  readonly email: string
  readonly name: string
  readonly role: Role
  /** `null` for the roles that apply to all merchants. */
  readonly merchantIds: readonly string[] | null
}

export type UserResult =
  | { readonly accepted: true; readonly user: User; readonly changed: boolean }
  | { readonly accepted: false; readonly refusal: Refusal }

/** A user with a password that is shown once and must be changed at the first sign-in. */
export type IssuedUser =
  | { readonly accepted: true; readonly user: User; readonly password: string }
  | { readonly accepted: false; readonly refusal: Refusal }

/** The result of checking a password and a code. */
export type Proof =
  | { readonly outcome: 'proven'; readonly user: User; readonly codeCounter: number | null }
  /** The password is correct, and the user has a second factor. */
  | { readonly outcome: 'code-needed'; readonly user: User }
  | { readonly outcome: 'wrong'; readonly isUser: boolean }

const maxNameLength = 128
/** Excludes characters that look alike, because a person reads and types the password. */
const passwordAlphabet = 'abcdefghjkmnpqrstuvwxyz23456789'
const issuedLength = 20
const nonexistentUserId = '00000000-0000-0000-0000-000000000000'

interface UserCommandsParts {
  readonly store: EventStore
  readonly directory: UserDirectory
  readonly clock: Clock
  readonly box: SecretBox
  readonly passwords: Passwords
  readonly isMerchant: (merchantId: string) => boolean | Promise<boolean>
}

/** Runs every command on users of the dashboard. Each method may throw StoreUnavailableError or TooMuchContentionError. */
export class UserCommands {
  readonly #parts: UserCommandsParts

  constructor(parts: UserCommandsParts) {
    this.#parts = parts
  }

  /**
   * Reserves the email and creates its user. If a crash left a reservation without a user, the user gets the reserved id. Issues a
   * password if `password` is omitted.
   */
  async create(request: NewUser, context: CommandContext, password?: string): Promise<IssuedUser> {
    const { store, box, clock } = this.#parts
    const email = normalEmail(request.email)
    if (email === undefined) return refuseField('email', violate('email-invalid'))
    const problem = nameProblem(request.name) ?? (await this.#merchantsProblem(request.merchantIds))
    if (problem) return problem
    const emailMac = this.#emailMac(email)
    const reservation = userEmailStream(emailMac)
    const issued = password ?? issuePassword()
    return retryOnConflict('the creation of a user', async () => {
      const { state, revision } = await loadStream(store, userEmailDecider, reservation)
      const userId = state.userId ?? randomUUID()
      if (state.userId !== null && (await this.find(userId))) return refuse('conflict', 'email-taken')
      const at = clock()
      const command: UserCommand = {
        type: 'Create',
        userId,
        emailMac,
        email: box.seal(email, userSecretOwner(userId, 'email')),
        name: request.name.trim(),
        role: request.role,
        merchantIds: unique(request.merchantIds),
        passwordHash: await this.#hash(userId, issued),
        temporary: password === undefined,
        at,
      }
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
      await this.#parts.directory.catchUp()
      const user = decision.events.reduce(userDecider.evolve, userDecider.initialState)
      return { accepted: true, user: existing(user), password: issued }
    })
  }

  /** Returns the current user from the log, or `undefined` if it does not exist. */
  async find(userId: string): Promise<User | undefined> {
    const { state } = await loadStream(this.#parts.store, userDecider, userStream(userId))
    return state.userId === null ? undefined : state
  }

  /** Returns every event of a user, oldest first. @throws UnreadableEventError */
  history(userId: string): Promise<readonly HistoryEntry<UserEvent>[]> {
    return readHistory<UserEvent>(this.#parts.store, userStream(userId))
  }

  /** Returns `undefined` if no user has this email. */
  async findByEmail(email: string): Promise<User | undefined> {
    const { state } = await loadStream(
      this.#parts.store,
      userEmailDecider,
      userEmailStream(this.#emailMac(normalEmail(email) ?? '')),
    )
    // Also reads a user that never exists, so that an unknown email takes as long as a known one.
    return this.find(state.userId ?? nonexistentUserId)
  }

  /** @throws SecretBoxError if the master key is a different one */
  emailOf({ userId, email }: User): string {
    return this.#parts.box.open(email, userSecretOwner(userId, 'email'))
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
    role: Role,
    merchantIds: readonly string[] | null,
    context: CommandContext,
  ): Promise<UserResult> {
    const problem = await this.#merchantsProblem(merchantIds)
    if (problem) return problem
    if (role !== 'administrator' && (await this.#isLastAdministrator(userId))) return lastAdministrator
    return this.#execute(
      userId,
      { type: 'ChangeRole', role, merchantIds: unique(merchantIds), at: this.#at() },
      context,
    )
  }

  async disable(userId: string, context: CommandContext): Promise<UserResult> {
    if (await this.#isLastAdministrator(userId)) return lastAdministrator
    return this.#execute(userId, { type: 'Disable', at: this.#at() }, context)
  }

  /** Disables a user even if no administrator is left. */
  disableAnyway(userId: string, context: CommandContext): Promise<UserResult> {
    return this.#execute(userId, { type: 'Disable', at: this.#at() }, context)
  }

  enable(userId: string, context: CommandContext): Promise<UserResult> {
    return this.#execute(userId, { type: 'Enable', at: this.#at() }, context)
  }

  /** Issues a new temporary password and removes the second factor. */
  async reset(userId: string, context: CommandContext): Promise<IssuedUser> {
    const password = issuePassword()
    const passwordHash = await this.#hash(userId, password)
    const result = await this.#execute(userId, { type: 'Reset', passwordHash, at: this.#at() }, context)
    return result.accepted ? { accepted: true, user: result.user, password } : result
  }

  /** Replaces the user's password with one that the user chose. */
  async changePassword(
    user: User,
    { current, next }: { readonly current: string; readonly next: string },
    context: CommandContext,
  ): Promise<UserResult> {
    const problem = next === current ? violate('unchanged') : passwordProblem(next, this.emailOf(user))
    if (problem) return refuseField('next', problem)
    const passwordHash = await this.#hash(user.userId, next)
    return this.#execute(user.userId, { type: 'SetPassword', passwordHash, at: this.#at() }, context)
  }

  /** Returns a new secret for an authenticator. Nothing changes before {@link setSecondFactor} receives a code. */
  offerSecondFactor(user: User): { readonly secret: string; readonly uri: string } {
    const secret = newTotpSecret()
    return { secret, uri: totpUri(secret, this.emailOf(user)) }
  }

  /** Sets an offered secret, if the code shows that the user's authenticator has it. */
  async setSecondFactor(userId: string, secret: string, code: string, context: CommandContext): Promise<UserResult> {
    const at = this.#at()
    const counter = codeCounter(secret, code, Date.parse(at))
    if (counter === undefined) return refuseField('code', violate('wrong-code'))
    const sealed = this.#parts.box.seal(secret, userSecretOwner(userId, 'second factor'))
    return this.#execute(userId, { type: 'SetSecondFactor', secret: sealed, codeCounter: counter, at }, context)
  }

  removeSecondFactor(userId: string, context: CommandContext): Promise<UserResult> {
    return this.#execute(userId, { type: 'RemoveSecondFactor', at: this.#at() }, context)
  }

  /** Ends the user's sessions on every node. */
  endSessions(userId: string, context: CommandContext): Promise<UserResult> {
    return this.#execute(userId, { type: 'EndSessions', at: this.#at() }, context)
  }

  /** Records the sign-in or the confirmation. This uses up the code, which is valid once. */
  record(
    type: 'SignIn' | 'Confirm',
    userId: string,
    codeCounter: number | null,
    context: CommandContext,
  ): Promise<UserResult> {
    return this.#execute(userId, { type, codeCounter, at: this.#at() }, context)
  }

  /**
   * Checks a password and a code. An unknown email costs as many reads and hashes as a wrong password, so that neither the result nor its
   * time reveals who is a user. `queuedFor` is the party that the hash is queued for. @throws TooManyPasswordsError
   */
  async prove(
    {
      email,
      password,
      code,
    }: { readonly email: string; readonly password: string; readonly code?: string | undefined },
    queuedFor: string,
  ): Promise<Proof> {
    const { passwords, box } = this.#parts
    const user = await this.findByEmail(email)
    const keyed = this.#keyed(user?.userId ?? nonexistentUserId, password)
    const matches = await passwords.verify(user?.passwordHash, keyed, queuedFor)
    if (!user || !matches || user.disabled) return { outcome: 'wrong', isUser: user !== undefined }
    if (user.secondFactor === null) return { outcome: 'proven', user, codeCounter: null }
    if (code === undefined) return { outcome: 'code-needed', user }
    const secret = box.open(user.secondFactor, userSecretOwner(user.userId, 'second factor'))
    const counter = codeCounter(secret, code, Date.parse(this.#at()))
    const isFresh = counter !== undefined && counter > user.lastCodeCounter
    return isFresh ? { outcome: 'proven', user, codeCounter: counter } : { outcome: 'wrong', isUser: true }
  }

  /**
   * Returns whether no other user could create an administrator. Two nodes that remove the last two at the same time do not notice; the
   * command line can then create one.
   */
  async #isLastAdministrator(userId: string): Promise<boolean> {
    const { directory } = this.#parts
    await directory.catchUp()
    const left = directory.all().filter(({ role, disabled }) => role === 'administrator' && !disabled)
    return left.length === 1 && left[0]!.userId === userId
  }

  async #merchantsProblem(merchantIds: readonly string[] | null) {
    for (const merchantId of merchantIds ?? []) {
      if (!(await this.#parts.isMerchant(merchantId))) return refuseField('merchantIds', violate('unknown-merchant'))
    }
    return undefined
  }

  #at(): string {
    return this.#parts.clock()
  }

  #emailMac(email: string): string {
    return this.#parts.box.mac('user email', email)
  }

  #hash(userId: string, password: string): Promise<string> {
    return this.#parts.passwords.hash(this.#keyed(userId, password), 'users')
  }

  /** Returns the keyed text that is hashed, so that the log alone is not enough to try passwords. */
  #keyed(userId: string, password: string): string {
    return this.#parts.box.mac('user password', `${userId}:${password.normalize('NFC')}`)
  }

  async #execute(userId: string, command: UserCommand, context: CommandContext): Promise<UserResult> {
    const { store, directory } = this.#parts
    const result = await handleCommand(store, userDecider, userStream(userId), command, context)
    if (!result.accepted) return result
    // Sessions are checked against the directory, so it must know the change before the next request.
    await directory.catchUp()
    return { accepted: true, user: existing(result.state), changed: result.events.length > 0 }
  }
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

function existing(state: { readonly userId: null } | User): User {
  if (state.userId === null) throw new Error('an accepted command left no user')
  return state
}

/** Returns the associated data of a sealed text, which can be opened only for this user and purpose. */
export function userSecretOwner(userId: string, what: 'email' | 'second factor'): string {
  return `user:${userId}:${what}`
}
