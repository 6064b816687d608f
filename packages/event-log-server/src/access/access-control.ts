import type { StreamStore } from '@transferd/event-log/streams'
import { isMetadataStream } from '@transferd/event-log/streams'
import { accessDenied } from '../wire/call-error.js'
import { type Asking, type AuthenticatorOptions, LogIns } from './authenticator.js'
import { isOwnStream } from './server-streams.js'
import type { User } from './stored-users.js'

export type Right = 'read' | 'write' | 'delete'

export interface AccessOptions extends AuthenticatorOptions {
  readonly isWritable: boolean
  /** Streams that clients only read, as those who write to the log directly have rules of their own; none when absent … */
  readonly isReservedStream?: (stream: string) => boolean
  /** … unless clients are to write these as well, those this server keeps for itself, and consume the groups made without it. */
  readonly canWriteReserved?: boolean
  /** What the recorded server leaves open is open: `everything` where it runs without TLS. For tests of conformance. */
  readonly recordedAccess: 'everything' | 'what no ACL closes' | undefined
}

export const admins = '$admins'
export const operators = '$ops'

/** Who calls, and what they may do. A user in no group may do what an ACL says, and nothing else. */
export class Access {
  readonly #store: StreamStore
  readonly #options: AccessOptions
  readonly #logIns: LogIns

  constructor(options: AccessOptions) {
    this.#store = options.store
    this.#options = options
    this.#logIns = new LogIns(options, options.recordedAccess === undefined)
  }

  /** Nobody needs credentials. */
  get isOpen(): boolean {
    return this.#options.recordedAccess === 'everything'
  }

  /** Undefined: nobody has said who calls. @throws CallError */
  async caller(asking: Asking): Promise<User | undefined> {
    return this.isOpen ? undefined : this.#logIns.caller(asking)
  }

  /** @throws CallError */
  mayUse(user: User | undefined, right: Right, stream: string): void {
    if (!this.isAllowed(user, right, stream)) throw accessDenied()
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
    if (this.#options.recordedAccess === undefined) this.mustBeKnown(user)
  }

  isIn(user: User | undefined, groups: readonly string[]): boolean {
    return this.isOpen || groups.some((group) => user?.groups.includes(group))
  }

  /** Figures of the server and of groups: the recorded server shows them to every user. @throws CallError */
  mayLook(user: User | undefined, stream?: string): void {
    if (this.isIn(user, [admins, operators])) return
    if (user !== undefined && this.#options.recordedAccess) return
    if (stream === undefined || !this.isAllowed(user, 'read', stream)) throw accessDenied()
  }

  /** Whether clients may change what others stand on. */
  get canWriteReserved(): boolean {
    return this.#options.canWriteReserved === true
  }

  /** Whether an event may be shown that was found by a link. */
  mayFollow(user: User | undefined, stream: string): boolean {
    if (this.#options.recordedAccess) return true
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
    if (this.canWriteReserved) return true
    // Of metadata, and of the metadata of metadata: it rules the stream itself.
    const itself = stream.replace(/^(\$\$)+/, '')
    return !this.#options.isReservedStream?.(itself) && !isOwnStream(itself)
  }

  /** With what no ACL names. */
  #isTrusted(user: User): boolean {
    return this.#options.recordedAccess !== undefined || user.groups.includes(operators)
  }
}
