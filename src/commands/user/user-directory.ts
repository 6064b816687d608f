import { streamPrefix } from '../../domain/streams.js'
import { evolve, initialState, type User, type UserState } from '../../domain/user/user.js'
import type { UserEvent } from '../../domain/user/user-events.js'
import type { UnreadableEventError } from '../../event-store/event-codec.js'
import type { EventStore } from '../../event-store/event-store.js'
import { FoldedStreams } from '../folded-streams.js'

/** All users of the dashboard in memory, folded from the log and kept up with it: what sessions are valid by. */
export class UserDirectory {
  readonly #users: FoldedStreams<UserState, UserEvent>

  /** `onError` is told when the log becomes unavailable, and when an event cannot be read: its user is out of service, nobody else. */
  constructor(store: EventStore, onError: (error: unknown) => void) {
    this.#users = new FoldedStreams({ store, prefix: streamPrefix.user, initialState, evolve, onError })
  }

  /** Resolves when everything in the log is known. @throws StoreUnavailableError */
  start(): Promise<void> {
    return this.#users.start()
  }

  /** See {@link FoldedStreams.catchUp}. @throws StoreUnavailableError */
  catchUp(): Promise<void> {
    return this.#users.catchUp()
  }

  stop(): Promise<void> {
    return this.#users.stop()
  }

  /** Undefined also for one out of service. */
  byId(userId: string): User | undefined {
    const user = this.#users.stateOf(userId)
    return user?.userId && !this.#users.problems().has(userId) ? user : undefined
  }

  all(): User[] {
    return [...this.#users.ids()].flatMap((userId) => this.byId(userId) ?? [])
  }

  problems(): readonly UnreadableEventError[] {
    return [...this.#users.problems().values()]
  }
}
