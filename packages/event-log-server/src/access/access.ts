import { createHash, randomBytes, scrypt, timingSafeEqual } from 'node:crypto'
import { type Metadata, status } from '@grpc/grpc-js'
import type { StreamStore } from '@transferd/event-log/streams'
import { isMetadataStream, parseObject } from '@transferd/event-log/streams'
import { epochStream } from '../first-event.js'
import { accessDenied, CallError, notAuthenticated } from '../wire/call-error.js'
import { addressOf, Guesses } from './guesses.js'

export interface Account {
  readonly login: string
  readonly password: string
  readonly groups: readonly string[]
}

export interface User {
  readonly login: string
  readonly groups: readonly string[]
}

/** A user as kept in the log. */
export interface StoredUser extends User {
  readonly fullName: string
  readonly disabled: boolean
  readonly salt: string
  readonly hash: string
}

export type Right = 'read' | 'write' | 'delete'

export interface AccessOptions {
  readonly store: StreamStore
  /** Those whoever runs the server has named, beside the users kept in the log. */
  readonly accounts: readonly Account[]
  readonly isWritable: boolean
  readonly isReserved?: (stream: string) => boolean
  readonly opensReserved?: boolean
  /** Told of each log-in that was refused. */
  readonly onRefusedLogIn?: (refused: RefusedLogIn) => void
  /** What the recorded server leaves open is open: `everything` where it runs without TLS. For tests of conformance. */
  readonly openAsRecorded: 'everything' | 'what no ACL closes' | undefined
}

export interface RefusedLogIn {
  /** IPv6 by its network. */
  readonly address: string
  /** Where there is such a user: anything else may be a password that was typed in the wrong place. */
  readonly login: string | null
  /** Of too many guesses, not of a wrong password. */
  readonly throttled: boolean
}

/** Whoever asks: what all kinds of calls have. */
export interface Asking {
  readonly metadata: Metadata
  /** Address and port. */
  getPeer(): string
}

const maxVerified = 1_000
/** In place of a user's revision. */
const ofAccount = -1
const maxVerifying = 32
/** To guess at a password so long is hopeless: whoever has it is let in, however many others guess at the same address. */
const unguessableLength = 32

export const admins = '$admins'
export const operators = '$ops'

/** Streams this server keeps for itself; they are changed by the calls that are made for it. */
const ofServer = ['$persistentSubscriptionConfig', '$persistentsubscription-', '$user-', epochStream]

export function userStream(login: string): string {
  return `$user-${login}`
}

/** Who calls, and what they may do. Whoever is in no group may do what an ACL says, and nothing else. */
export class Access {
  readonly #store: StreamStore
  readonly #options: AccessOptions
  readonly #guesses = new Guesses()
  /** Hashes of logins and passwords that were right, with the revision of the user they were right for. */
  readonly #verified = new Map<string, number>()
  readonly #verifying = new Map<string, Promise<boolean>>()

  constructor(options: AccessOptions) {
    this.#store = options.store
    this.#options = options
  }

  /** Nobody is asked who they are. */
  get isOpen(): boolean {
    return this.#options.openAsRecorded === 'everything'
  }

  /** Undefined: nobody has said who calls. @throws CallError */
  async caller(asking: Asking): Promise<User | undefined> {
    if (this.isOpen) return undefined
    const header = asking.metadata.get('authorization')[0]
    if (header === undefined) return undefined
    const match = /^Basic (.+)$/i.exec(String(header))
    const [, login, password] = /^([^:]*):(.*)$/s.exec(Buffer.from(match?.[1] ?? '', 'base64').toString()) ?? []
    if (login === undefined || password === undefined) throw notAuthenticated()
    return this.#user(login, password, addressOf(asking.getPeer()))
  }

  /** @throws CallError */
  mayUse(user: User | undefined, right: Right, stream: string): void {
    if (!this.isAllowed(user, right, stream)) throw accessDenied()
  }

  /** @throws CallError */
  mayReadAll(user: User | undefined): void {
    this.mayUse(user, 'read', '$all')
  }

  /** @throws CallError */
  mustBeIn(user: User | undefined, groups: readonly string[]): void {
    if (!this.isIn(user, groups)) throw accessDenied()
  }

  /** @throws CallError */
  mustBeKnown(user: User | undefined): void {
    if (!this.isOpen && user === undefined) throw accessDenied()
  }

  /** As above, before anything a caller sends is held; the recorded server answers strangers for each append. @throws CallError */
  mustBeKnownToSend(user: User | undefined): void {
    if (this.#options.openAsRecorded === undefined) this.mustBeKnown(user)
  }

  isIn(user: User | undefined, groups: readonly string[]): boolean {
    return this.isOpen || groups.some((group) => user?.groups.includes(group))
  }

  /** Figures of the server, and how groups stand: the recorded server tells them to all it knows. @throws CallError */
  mayLook(user: User | undefined, stream?: string): void {
    if (this.isIn(user, [admins, operators])) return
    if (user !== undefined && this.#options.openAsRecorded) return
    if (stream === undefined || !this.isAllowed(user, 'read', stream)) throw accessDenied()
  }

  /** Whether clients may change what others stand on. */
  get opensReserved(): boolean {
    return this.#options.opensReserved === true
  }

  /** Whether an event may be shown that was found by a link. */
  mayFollow(user: User | undefined, stream: string): boolean {
    if (this.#options.openAsRecorded) return true
    return this.isAllowed(user, 'read', stream) || this.isAllowed(user, 'read', '$all')
  }

  isAllowed(user: User | undefined, right: Right, stream: string): boolean {
    if (right !== 'read' && !this.#isChangeable(stream)) return false
    if (this.isOpen) return true
    if (user === undefined) return false
    if (user.groups.includes(admins)) return true
    const described = isMetadataStream(stream) ? stream.slice(2) : stream
    const { acl } = this.#store.reader.metadata(described)
    const roles = isMetadataStream(stream) ? acl?.[right === 'read' ? 'metaRead' : 'metaWrite'] : acl?.[right]
    if (roles === undefined) return !described.startsWith('$') && this.#isTrusted(user)
    return roles.some((role) => role === '$all' || role === user.login || user.groups.includes(role))
  }

  #isChangeable(stream: string): boolean {
    if (!this.#options.isWritable) return false
    if (this.opensReserved) return true
    // Of metadata, and of the metadata of metadata: it rules the stream itself.
    const itself = stream.replace(/^(\$\$)+/, '')
    return !this.#options.isReserved?.(itself) && !ofServer.some((prefix) => itself.startsWith(prefix))
  }

  /** With what no ACL names. */
  #isTrusted(user: User): boolean {
    return this.#options.openAsRecorded !== undefined || user.groups.includes(operators)
  }

  /** A user of the log; undefined when there is none. */
  find(login: string): { user: StoredUser; revision: number; changedAtMs: number } | undefined {
    const last = this.#store.reader.last(userStream(login))
    const user = last && (parseObject(last.data) as StoredUser | undefined)
    return user && last.type !== '$UserDeleted'
      ? { user, revision: last.revision, changedAtMs: last.recordedAtMs }
      : undefined
  }

  /** Of a user's stream, one who was deleted too. */
  lastRevision(login: string): number | 'no_stream' {
    return this.#store.reader.last(userStream(login))?.revision ?? 'no_stream'
  }

  async #user(login: string, password: string, address: string): Promise<User> {
    const account = this.#options.accounts.find((one) => one.login === login)
    const found = account ? undefined : this.find(login)
    const key = createHash('sha256').update(`${login}\0${password}`).digest('base64')
    const user = account ?? found?.user
    if (user && this.#verified.get(key) === (found?.revision ?? ofAccount)) return user
    if (account && account.password.length >= unguessableLength && sameText(account.password, password)) return account
    const refused = { address, login: user?.login ?? null }
    if (!this.#options.openAsRecorded && !this.#guesses.take(address)) {
      this.#options.onRefusedLogIn?.({ ...refused, throttled: true })
      throw new CallError(status.RESOURCE_EXHAUSTED, 'Too many wrong passwords from this address.')
    }
    const isRight = account ? sameText(account.password, password) : await this.#isRight(key, password, found?.user)
    if (!user || !isRight) {
      this.#options.onRefusedLogIn?.({ ...refused, throttled: false })
      throw notAuthenticated()
    }
    this.#guesses.giveBack(address)
    if (this.#verified.size >= maxVerified) this.#verified.clear()
    this.#verified.set(key, found?.revision ?? ofAccount)
    return user
  }

  /** Once for all calls that bring the same at the same time; of guesses only so many at a time, as each takes a while. */
  #isRight(key: string, password: string, user: StoredUser | undefined): Promise<boolean> {
    const known = this.#verifying.get(key)
    if (known !== undefined) return known
    if (this.#verifying.size >= maxVerifying) throw new CallError(status.RESOURCE_EXHAUSTED, 'Too many logins at once.')
    // Of somebody who is not there it takes as long: the time does not tell who is.
    const { salt, hash } = user ?? nobody
    const isRight = hashPassword(password, salt).then((got) => sameText(got, hash) && user?.disabled === false)
    this.#verifying.set(key, isRight)
    const forget = () => this.#verifying.delete(key)
    isRight.then(forget, forget)
    return isRight
  }
}

const nobody = { salt: newSalt(), hash: '' }

export function newSalt(): string {
  return randomBytes(16).toString('base64')
}

export function hashPassword(password: string, salt: string): Promise<string> {
  return new Promise((resolve, reject) => {
    scrypt(password, salt, 32, (error, key) => (error ? reject(error) : resolve(key.toString('base64'))))
  })
}

function sameText(a: string, b: string): boolean {
  const digest = (text: string) => createHash('sha256').update(text).digest()
  return timingSafeEqual(digest(a), digest(b))
}
