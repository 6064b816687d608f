import { streamPrefix } from '../../domain/streams.js'
import { evolve, initialState, type User, type UserEvent, type UserState } from '../../domain/user/user.js'
import type { UnreadableEventError } from '../../event-store/event-codec.js'
import type { EventStore } from '../../event-store/event-store.js'
import { FoldedStreams } from '../folded-streams.js'

/** Keeps all users of the dashboard in memory, folded from the log. Sessions are checked against them. */
export class UserDirectory extends FoldedStreams<UserState, UserEvent> {
  constructor(store: EventStore, onError: (error: unknown) => void) {
    super({ store, prefix: streamPrefix.user, initialState, evolve, onError })
  }

  /** Returns `undefined` also for a user out of service. */
  byId(userId: string): User | undefined {
    const user = this.stateOf(userId)
    return user?.userId && !this.outOfService.has(userId) ? user : undefined
  }

  all(): User[] {
    return [...this.ids()].flatMap((userId) => this.byId(userId) ?? [])
  }

  problems(): readonly UnreadableEventError[] {
    return [...this.outOfService.values()]
  }
}
