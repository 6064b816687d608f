import { createHash } from 'node:crypto'
import { type Metadata, status } from '@grpc/grpc-js'
import type { StreamStore } from '@transferd/event-log/streams'
import { CallError, notAuthenticated } from '../wire/call-error.js'
import { addressOf, PasswordAttempts } from './password-attempts.js'
import { findUser, hashPassword, newSalt, type StoredUser, sameText, type User } from './stored-users.js'

export interface Account {
  readonly login: string
  readonly password: string
  readonly groups: readonly string[]
}

export interface RejectedLogin {
  /** The caller's address; for IPv6, its network. */
  readonly address: string
  /** The login, or null for an unknown user: the text may be a password that was entered in the wrong field. */
  readonly login: string | null
  /** Whether the login was rejected because of too many attempts instead of a wrong password. */
  readonly throttled: boolean
}

/** The properties of a call that identify its caller. */
export interface IncomingCall {
  readonly metadata: Metadata
  /** Returns the caller's address and port. */
  getPeer(): string
}

const maxVerified = 1_000
/** The revision of an account, which has no stream. */
const accountRevision = -1
const maxVerifying = 32
/** The length from which a password cannot be guessed. Its user can log in regardless of others who guess from the same address. */
const unguessableLength = 32

const unknownUser = { salt: newSalt(), hash: '' }

export interface AuthenticatorOptions {
  readonly store: StreamStore
  /** The users that the operator configures, in addition to those stored in the log. */
  readonly accounts: readonly Account[]
  /** Called for each rejected login. */
  readonly onRejectedLogin?: (rejected: RejectedLogin) => void
}

/** Identifies callers and limits password guesses. */
export class Authenticator {
  readonly #attempts: PasswordAttempts | undefined
  /** The hashes of correct logins and passwords, with the revision of their user. */
  readonly #verified = new Map<string, number>()
  readonly #verifying = new Map<string, Promise<boolean>>()

  constructor(
    private readonly options: AuthenticatorOptions,
    limitsAttempts: boolean,
  ) {
    this.#attempts = limitsAttempts ? new PasswordAttempts() : undefined
  }

  /** Returns the user of a call, or `undefined` if it has no credentials. @throws CallError */
  async authenticate(call: IncomingCall): Promise<User | undefined> {
    const header = call.metadata.get('authorization')[0]
    if (header === undefined) return undefined
    const match = /^Basic (.+)$/i.exec(String(header))
    const [, login, password] = /^([^:]*):(.*)$/s.exec(Buffer.from(match?.[1] ?? '', 'base64').toString()) ?? []
    if (login === undefined || password === undefined) throw notAuthenticated()
    return this.#verify(login, password, addressOf(call.getPeer()))
  }

  async #verify(login: string, password: string, address: string): Promise<User> {
    const account = this.options.accounts.find((configured) => configured.login === login)
    const found = account ? undefined : findUser(this.options.store, login)
    const key = createHash('sha256').update(`${login}\0${password}`).digest('base64')
    const user = account ?? found?.user
    if (user && this.#verified.get(key) === (found?.revision ?? accountRevision)) return user
    if (account && account.password.length >= unguessableLength && sameText(account.password, password)) return account
    const rejected = { address, login: user?.login ?? null }
    if (this.#attempts?.take(address) === false) {
      this.options.onRejectedLogin?.({ ...rejected, throttled: true })
      throw new CallError(status.RESOURCE_EXHAUSTED, 'Too many wrong passwords from this address.')
    }
    const isCorrect = account
      ? sameText(account.password, password)
      : await this.#verifyStored(key, password, found?.user)
    if (!user || !isCorrect) {
      this.options.onRejectedLogin?.({ ...rejected, throttled: false })
      throw notAuthenticated()
    }
    this.#attempts?.refund(address)
    if (this.#verified.size >= maxVerified) this.#verified.clear()
    this.#verified.set(key, found?.revision ?? accountRevision)
    return user
  }

  /** Verifies a password once for all concurrent calls with it. Only a few run at a time, because each takes a while. */
  #verifyStored(key: string, password: string, user: StoredUser | undefined): Promise<boolean> {
    const known = this.#verifying.get(key)
    if (known !== undefined) return known
    if (this.#verifying.size >= maxVerifying)
      throw new CallError(status.RESOURCE_EXHAUSTED, 'Too many concurrent logins.')
    // An unknown user takes as long, so that the time does not reveal which users exist.
    const { salt, hash } = user ?? unknownUser
    const isCorrect = hashPassword(password, salt).then((actual) => sameText(actual, hash) && user?.disabled === false)
    this.#verifying.set(key, isCorrect)
    const forget = () => this.#verifying.delete(key)
    isCorrect.then(forget, forget)
    return isCorrect
  }
}
