import { hash, randomBytes, timingSafeEqual } from 'node:crypto'
import { isActive, type User } from '../../../domain/user/user.js'
import { loadOnce } from '../../../kernel/load-once.js'
import { addMs, hourMs, leftOfWaitMs, minuteMs } from '../../../kernel/time.js'
import type { Document } from '../../../read-models/read-models.js'
import type { HttpServices } from '../../services.js'

/** The session of a signed-in user. */
export interface Session {
  /** The SHA-256 of the cookie's value, so that a reader of the store cannot use it. */
  readonly sessionId: string
  readonly userId: string
  /** The user's epoch at the sign-in. */
  readonly epoch: number
  readonly epochStartedAt: string
  readonly createdAt: string
  readonly lastSeenAt: string
  readonly expiresAt: string
  /** The time of the last password entry, for actions that need a recent sign-in. */
  readonly authenticatedAt: string
  readonly address: string
  readonly userAgent: string
  /** The sealed secret of a second factor during its setup, or null. */
  readonly offeredSecret: string | null
}

export interface Visit {
  readonly session: Session
  readonly user: User
  readonly csrfToken: string
}

const collectionName = 'sessions'
const idleMs = 30 * minuteMs
const longestMs = 12 * hourMs
const recentMs = 10 * minuteMs
const writtenEveryMs = minuteMs
const tokenBytes = 32
const tokenForm = /^[A-Za-z0-9_-]{43}$/
/** The number of expired sessions that each sign-in removes. */
const maxRemoved = 50
const maxListed = 100
const maxUserAgent = 256

/**
 * Stores sessions as documents next to the read models, where every node finds them. Each has a MAC, because a user who can write to the
 * read models could otherwise insert a session. The log decides whether they are valid: disabling a user, changing the password or role,
 * ending the sessions, and a restore start a new epoch (src/domain/user).
 */
export class Sessions {
  readonly #createIndexes = loadOnce(() =>
    this.services.readModels.createIndexes(collectionName, [
      { key: { userId: 1, createdAt: -1 } },
      { key: { endsAt: 1 } },
    ]),
  )

  constructor(private readonly services: HttpServices) {}

  /** Starts a session. Only the browser receives the token. `authenticatedAt` is that of the session it replaces, if any. */
  async begin(user: User, seen: { readonly address: string; readonly userAgent: string }, authenticatedAt?: string) {
    const token = randomBytes(tokenBytes).toString('base64url')
    const now = this.services.clock()
    const session: Session = {
      sessionId: idOf(token),
      userId: user.userId,
      epoch: user.epoch,
      epochStartedAt: user.epochStartedAt,
      createdAt: now,
      lastSeenAt: now,
      expiresAt: addMs(now, longestMs),
      authenticatedAt: authenticatedAt ?? now,
      address: seen.address,
      userAgent: seen.userAgent.slice(0, maxUserAgent),
      offeredSecret: null,
    }
    const { sessionId: _id, ...fields } = session
    const collection = await this.#collection()
    await collection.bulkWrite([{ insertOne: { document: { _id, ...fields, ...this.#derived(session) } } }])
    const over = await collection.find({ endsAt: { $lt: now } }, { sort: { endsAt: 1 }, limit: maxRemoved })
    if (over.length > 0) await collection.bulkWrite(over.map(({ _id }) => ({ deleteOne: { filter: { _id } } })))
    return { token, visit: { session, user, csrfToken: this.#csrfToken(token) } satisfies Visit }
  }

  /** Returns a valid session, or `undefined`. */
  async visit(token: string | undefined): Promise<Visit | undefined> {
    if (token === undefined || !tokenForm.test(token)) return undefined
    const collection = await this.#collection()
    const document = await collection.findOne({ _id: idOf(token) })
    const found = document && this.#valid(document)
    if (!found) return undefined
    const session = await this.#seen(found.session)
    return { ...found, session, csrfToken: this.#csrfToken(token) }
  }

  /** Returns whether a session is still valid, without extending it. */
  async isActive(sessionId: string): Promise<boolean> {
    const collection = await this.#collection()
    const document = await collection.findOne({ _id: sessionId })
    return document !== null && this.#valid(document) !== undefined
  }

  isRecent(session: Session): boolean {
    const times = [session.authenticatedAt, recentUntil(session), this.services.clock()] as const
    const [sinceMs, untilMs, nowMs] = times.map((time) => Date.parse(time))
    return leftOfWaitMs(sinceMs!, untilMs!, nowMs!) > 0
  }

  /** Returns the valid sessions, the latest first. */
  async ofUser(userId: string): Promise<readonly Session[]> {
    const collection = await this.#collection()
    const documents = await collection.find({ userId }, { sort: { createdAt: -1 }, limit: maxListed })
    return documents.flatMap((document) => this.#valid(document)?.session ?? [])
  }

  /** Records a password entry. */
  async confirm(session: Session): Promise<Session> {
    return this.#change(session, { authenticatedAt: this.services.clock() })
  }

  async offerSecret(session: Session, offeredSecret: string | null): Promise<Session> {
    return this.#change(session, { offeredSecret })
  }

  /** Ends a session of the user. Ignores sessions of other users. */
  async end(userId: string, sessionId: string): Promise<void> {
    const collection = await this.#collection()
    await collection.bulkWrite([{ deleteOne: { filter: { _id: sessionId, userId } } }])
  }

  /** Applies changes of concurrent requests in turn, because a mixture of both would have neither's MAC. */
  async #change(session: Session, changes: Partial<Session>): Promise<Session> {
    const collection = await this.#collection()
    for (let before = session; ; ) {
      const changed = { ...before, ...changes }
      const filter = { _id: before.sessionId, mac: this.#macOf(before) }
      const update = { $set: { ...changes, ...this.#derived(changed) } }
      const { matchedCount } = await collection.bulkWrite([{ updateOne: { filter, update } }])
      if (matchedCount > 0) return changed
      const stored = await collection.findOne({ _id: session.sessionId })
      const found = stored && this.#valid(stored)
      // A session that has ended in the meantime must not return.
      if (!found) return changed
      before = found.session
    }
  }

  async #seen(session: Session): Promise<Session> {
    const lastSeenAt = this.services.clock()
    const isCurrent = lastSeenAt >= session.lastSeenAt && lastSeenAt < addMs(session.lastSeenAt, writtenEveryMs)
    if (isCurrent) return session
    return this.#change(session, { lastSeenAt })
  }

  #valid(document: Document): { readonly session: Session; readonly user: User } | undefined {
    const { _id, endsAt: _, mac, ...fields } = document
    // The MAC shows that this program has written it.
    const session = { sessionId: _id, ...fields } as Session
    if (!isSame(mac, this.#macOf(session))) return undefined
    const user = this.services.userDirectory.byId(session.userId)
    if (!user || !isActive(user) || !isSameEpoch(user, session)) return undefined
    return this.services.clock() < endOf(session) ? { session, user } : undefined
  }

  /** Returns the stored fields that derive from the others. `endsAt` only finds expired sessions, and is never believed. */
  #derived(session: Session) {
    return { endsAt: endOf(session), mac: this.#macOf(session) }
  }

  #macOf(session: Session): string {
    const { sessionId, userId, epoch, epochStartedAt, createdAt, lastSeenAt, expiresAt, authenticatedAt } = session
    const times = [epochStartedAt, createdAt, lastSeenAt, expiresAt, authenticatedAt]
    const { address, userAgent, offeredSecret } = session
    const fields = [sessionId, userId, epoch, ...times, address, userAgent, offeredSecret]
    return this.services.secretBox.mac('session', JSON.stringify(fields))
  }

  #csrfToken(token: string): string {
    return this.services.secretBox.mac('csrf', token)
  }

  async #collection() {
    await this.#createIndexes()
    return this.services.readModels.collection(collectionName)
  }
}

/** Returns the time until which the sign-in counts as recent. */
export function recentUntil({ authenticatedAt }: Session): string {
  return addMs(authenticatedAt, recentMs)
}

function isSameEpoch(user: Pick<User, 'epoch' | 'epochStartedAt'>, session: Session): boolean {
  return user.epoch === session.epoch && user.epochStartedAt === session.epochStartedAt
}

/** Compares in constant time. */
export function isSame(given: unknown, expected: string): boolean {
  if (typeof given !== 'string' || given.length !== expected.length) return false
  return timingSafeEqual(Buffer.from(given, 'latin1'), Buffer.from(expected, 'latin1'))
}

function idOf(token: string): string {
  return hash('sha256', token)
}

/** Returns the time at which the session expires if it is not used. */
export function endOf({ lastSeenAt, expiresAt }: Pick<Session, 'lastSeenAt' | 'expiresAt'>): string {
  const idleAt = addMs(lastSeenAt, idleMs)
  return idleAt < expiresAt ? idleAt : expiresAt
}
