import { createHash, randomBytes, scrypt, timingSafeEqual } from 'node:crypto'
import { type Metadata, status } from '@grpc/grpc-js'
import { parseObject } from '../embedded/streams/event-body.js'
import { isMetadataStream } from '../embedded/streams/stream-metadata.js'
import type { StreamStore } from '../embedded/streams/stream-store.js'
import { accessDenied, CallError, notAuthenticated } from './call-error.js'

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

const maxVerified = 1_000
const maxVerifying = 32

export const admins = '$admins'
export const operators = '$ops'

export function userStream(login: string): string {
  return `$user-${login}`
}

/** Who calls, and what they may do. Without TLS nothing is checked, as in the real server's insecure mode. */
export class Access {
  /** Hashes of authorization headers that were right, with the revision of the user they were right for. */
  readonly #verified = new Map<string, number>()
  readonly #verifying = new Map<string, Promise<boolean>>()

  /** @param accounts those of the configuration; undefined: nothing is checked */
  constructor(
    private readonly store: StreamStore,
    private readonly accounts: readonly Account[] | undefined,
  ) {}

  get isInsecure(): boolean {
    return this.accounts === undefined
  }

  /** Undefined: nobody has said who calls. @throws CallError */
  async caller(metadata: Metadata): Promise<User | undefined> {
    if (this.accounts === undefined) return undefined
    const header = metadata.get('authorization')[0]
    if (header === undefined) return undefined
    const match = /^Basic (.+)$/i.exec(String(header))
    const [, login, password] = /^([^:]*):(.*)$/s.exec(Buffer.from(match?.[1] ?? '', 'base64').toString()) ?? []
    if (login === undefined || password === undefined) throw notAuthenticated()
    const account = this.accounts.find((one) => one.login === login)
    if (account !== undefined) {
      if (!sameText(account.password, password)) throw notAuthenticated()
      return account
    }
    return this.#storedUser(login, password)
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
    if (this.isInsecure || groups.some((group) => user?.groups.includes(group))) return
    throw accessDenied()
  }

  /** @throws CallError */
  mustBeKnown(user: User | undefined): void {
    if (!this.isInsecure && user === undefined) throw accessDenied()
  }

  isAllowed(user: User | undefined, right: Right, stream: string): boolean {
    if (this.isInsecure) return true
    if (user === undefined) return false
    if (user.groups.includes(admins)) return true
    const described = isMetadataStream(stream) ? stream.slice(2) : stream
    const { acl } = this.store.reader.metadata(described)
    const roles = isMetadataStream(stream) ? acl?.[right === 'read' ? 'metaRead' : 'metaWrite'] : acl?.[right]
    if (roles === undefined) return !described.startsWith('$')
    return roles.some((role) => role === '$all' || role === user.login || user.groups.includes(role))
  }

  /** A user of the log; undefined when there is none. */
  find(login: string): { user: StoredUser; revision: number; changedAtMs: number } | undefined {
    const last = this.store.reader.last(userStream(login))
    const user = last && (parseObject(last.data) as StoredUser | undefined)
    return user && last.type !== '$UserDeleted'
      ? { user, revision: last.revision, changedAtMs: last.recordedAtMs }
      : undefined
  }

  /** Of a user's stream, one who was deleted too. */
  lastRevision(login: string): number | 'no_stream' {
    return this.store.reader.last(userStream(login))?.revision ?? 'no_stream'
  }

  async #storedUser(login: string, password: string): Promise<User> {
    const found = this.find(login)
    if (found === undefined || found.user.disabled) throw notAuthenticated()
    const key = createHash('sha256').update(`${login}\0${password}`).digest('base64')
    if (this.#verified.get(key) !== found.revision) {
      if (!(await this.#isRight(key, password, found.user))) throw notAuthenticated()
      if (this.#verified.size >= maxVerified) this.#verified.clear()
      this.#verified.set(key, found.revision)
    }
    return found.user
  }

  /** Once for all calls that bring the same at the same time; of guesses only so many at a time, as each takes a while. */
  #isRight(key: string, password: string, { salt, hash }: StoredUser): Promise<boolean> {
    const known = this.#verifying.get(key)
    if (known !== undefined) return known
    if (this.#verifying.size >= maxVerifying) throw new CallError(status.RESOURCE_EXHAUSTED, 'Too many logins at once.')
    const isRight = hashPassword(password, salt).then((got) => sameText(got, hash))
    this.#verifying.set(key, isRight)
    const forget = () => this.#verifying.delete(key)
    isRight.then(forget, forget)
    return isRight
  }
}

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
