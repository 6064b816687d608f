import type { StreamStore } from '@transferd/event-log/streams'
import { isMetadataStream } from '@transferd/event-log/streams'
import { accessDenied } from '../wire/call-error.js'
import { Authenticator, type AuthenticatorOptions, type IncomingCall } from './authenticator.js'
import { isServerStream } from './server-streams.js'
import type { User } from './stored-users.js'

type Right = 'read' | 'write' | 'delete'

export interface AccessOptions extends AuthenticatorOptions {
  readonly isWritable: boolean
  /** Returns whether clients can only read a stream because only direct writers of the log can change it. Defaults to none. */
  readonly isReservedStream?: (stream: string) => boolean
  /** Whether clients can also write reserved streams and the server's own streams, and consume groups created without the server. */
  readonly canWriteReserved?: boolean
  /** Grants the access that the recorded server grants: all of it without TLS, or everything that no ACL denies. For conformance tests. */
  readonly recordedAccess: 'everything' | 'unless denied by ACL' | undefined
}

export const admins = '$admins'
export const operators = '$ops'

/** Decides what callers are allowed to do. A user without a group has the rights that an ACL grants, and no others. */
export class AccessControl {
  readonly #store: StreamStore
  readonly #authenticator: Authenticator

  constructor(private readonly options: AccessOptions) {
    this.#store = options.store
    this.#authenticator = new Authenticator(options, options.recordedAccess === undefined)
  }

  /** Whether no call requires credentials. */
  get isOpen(): boolean {
    return this.options.recordedAccess === 'everything'
  }

  /** Whether clients can change streams and groups on which other programs depend. */
  get canWriteReserved(): boolean {
    return this.options.canWriteReserved === true
  }

  /** Returns the user of a call, or `undefined` if it has no credentials. @throws CallError */
  async authenticate(call: IncomingCall): Promise<User | undefined> {
    return this.isOpen ? undefined : this.#authenticator.authenticate(call)
  }

  /** @throws CallError */
  requireRight(user: User | undefined, right: Right, stream: string): void {
    if (!this.isAllowed(user, right, stream)) throw accessDenied()
  }

  /** @throws CallError */
  requireGroup(user: User | undefined, groups: readonly string[]): void {
    if (!this.#isInGroup(user, groups)) throw accessDenied()
  }

  /** @throws CallError */
  requireUser(user: User | undefined): void {
    if (!this.isOpen && user === undefined) throw accessDenied()
  }

  /** Requires a user before the request is received. The recorded server rejects each append instead. @throws CallError */
  requireSender(user: User | undefined): void {
    if (this.options.recordedAccess === undefined) this.requireUser(user)
  }

  /** Requires access to statistics of the server or of groups, which the recorded server shows to every user. @throws CallError */
  requireStatistics(user: User | undefined, stream?: string): void {
    if (this.#isInGroup(user, [admins, operators])) return
    if (user !== undefined && this.options.recordedAccess) return
    if (stream === undefined || !this.isAllowed(user, 'read', stream)) throw accessDenied()
  }

  /** Returns whether the user can see an event that was found through a link. */
  canFollowLink(user: User | undefined, stream: string): boolean {
    if (this.options.recordedAccess) return true
    return this.isAllowed(user, 'read', stream) || this.isAllowed(user, 'read', '$all')
  }

  isAllowed(user: User | undefined, right: Right, stream: string): boolean {
    if (right !== 'read' && !this.#isChangeable(stream)) return false
    if (this.isOpen) return true
    if (user === undefined) return false
    // A stream of this name could not be distinguished from the whole log.
    if (right !== 'read' && stream === '$all') return false
    if (user.groups.includes(admins)) return true
    const described = isMetadataStream(stream) ? stream.slice(2) : stream
    const { acl } = this.#store.reader.metadata(described)
    const roles = isMetadataStream(stream) ? acl?.[right === 'read' ? 'metaRead' : 'metaWrite'] : acl?.[right]
    if (roles !== undefined)
      return roles.some((role) => role === '$all' || role === user.login || user.groups.includes(role))
    const isTrusted = this.options.recordedAccess !== undefined || user.groups.includes(operators)
    return isTrusted && !described.startsWith('$')
  }

  #isInGroup(user: User | undefined, groups: readonly string[]): boolean {
    return this.isOpen || groups.some((group) => user?.groups.includes(group))
  }

  #isChangeable(stream: string): boolean {
    if (!this.options.isWritable) return false
    if (this.canWriteReserved) return true
    // Metadata, and metadata of metadata, controls the stream itself.
    const described = stream.replace(/^(\$\$)+/, '')
    return !this.options.isReservedStream?.(described) && !isServerStream(described)
  }
}
