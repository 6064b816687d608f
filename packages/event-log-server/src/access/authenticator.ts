import { createHash } from 'node:crypto'
import { type Metadata, status } from '@grpc/grpc-js'
import type { StreamStore } from '@transferd/event-log/streams'
import { CallError, notAuthenticated } from '../wire/call-error.js'
import { addressOf, Guesses } from './password-attempts.js'
import { findUser, hashPassword, newSalt, type StoredUser, sameText, type User } from './stored-users.js'

export interface Account {
  readonly login: string
  readonly password: string
  readonly groups: readonly string[]
}

export interface RejectedLogin {
  /** IPv6 by its network. */
  readonly address: string
  /** Null where there is no such user: it may be a password that was typed in the wrong place. */
  readonly login: string | null
  /** For too many guesses, not for a wrong password. */
  readonly throttled: boolean
}

/** The caller, as every kind of call has it. */
export interface Asking {
  readonly metadata: Metadata
  /** Address and port. */
  getPeer(): string
}

const maxVerified = 1_000
/** An account has no revision. */
const ofAccount = -1
const maxVerifying = 32
/** A password so long cannot be guessed: whoever has it is let in, however many others guess from the same address. */
const unguessableLength = 32

const nobody = { salt: newSalt(), hash: '' }

export interface AuthenticatorOptions {
  readonly store: StreamStore
  /** Users named by whoever runs the server, beside those kept in the log. */
  readonly accounts: readonly Account[]
  /** Told of each log-in that was refused. */
  readonly onRejectedLogin?: (refused: RejectedLogin) => void
}

/** Says who calls, and bounds how often passwords may be guessed. */
export class LogIns {
  readonly #options: AuthenticatorOptions
  readonly #guesses: Guesses | undefined
  /** Hashes of logins and passwords that were right, with the revision of the user they were right for. */
  readonly #verified = new Map<string, number>()
  readonly #verifying = new Map<string, Promise<boolean>>()

  constructor(options: AuthenticatorOptions, limitsGuesses: boolean) {
    this.#options = options
    this.#guesses = limitsGuesses ? new Guesses() : undefined
  }

  /** Undefined: nobody has said who calls. @throws CallError */
  async caller(asking: Asking): Promise<User | undefined> {
    const header = asking.metadata.get('authorization')[0]
    if (header === undefined) return undefined
    const match = /^Basic (.+)$/i.exec(String(header))
    const [, login, password] = /^([^:]*):(.*)$/s.exec(Buffer.from(match?.[1] ?? '', 'base64').toString()) ?? []
    if (login === undefined || password === undefined) throw notAuthenticated()
    return this.#user(login, password, addressOf(asking.getPeer()))
  }

  async #user(login: string, password: string, address: string): Promise<User> {
    const account = this.#options.accounts.find((one) => one.login === login)
    const found = account ? undefined : findUser(this.#options.store, login)
    const key = createHash('sha256').update(`${login}\0${password}`).digest('base64')
    const user = account ?? found?.user
    if (user && this.#verified.get(key) === (found?.revision ?? ofAccount)) return user
    if (account && account.password.length >= unguessableLength && sameText(account.password, password)) return account
    const refused = { address, login: user?.login ?? null }
    if (this.#guesses?.take(address) === false) {
      this.#options.onRejectedLogin?.({ ...refused, throttled: true })
      throw new CallError(status.RESOURCE_EXHAUSTED, 'Too many wrong passwords from this address.')
    }
    const isRight = account ? sameText(account.password, password) : await this.#isRight(key, password, found?.user)
    if (!user || !isRight) {
      this.#options.onRejectedLogin?.({ ...refused, throttled: false })
      throw notAuthenticated()
    }
    this.#guesses?.giveBack(address)
    if (this.#verified.size >= maxVerified) this.#verified.clear()
    this.#verified.set(key, found?.revision ?? ofAccount)
    return user
  }

  /** Once for all calls that bring the same password at the same time; only so many at a time, as each takes a while. */
  #isRight(key: string, password: string, user: StoredUser | undefined): Promise<boolean> {
    const known = this.#verifying.get(key)
    if (known !== undefined) return known
    if (this.#verifying.size >= maxVerifying) throw new CallError(status.RESOURCE_EXHAUSTED, 'Too many logins at once.')
    // It takes as long where there is no such user, so that the time does not tell who there is.
    const { salt, hash } = user ?? nobody
    const isRight = hashPassword(password, salt).then((got) => sameText(got, hash) && user?.disabled === false)
    this.#verifying.set(key, isRight)
    const forget = () => this.#verifying.delete(key)
    isRight.then(forget, forget)
    return isRight
  }
}
