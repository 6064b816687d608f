import type { DomainEvent } from '../event-store/event-codec.js'
import type { EventStore } from '../event-store/event-store.js'
import { boundedCache } from '../kernel/bounded-cache.js'
import type { Decider } from '../kernel/decision.js'
import {
  type CommandContext,
  type CommandResult,
  emptyStream,
  handleCommand,
  type Loaded,
  loadStream,
} from './handle-command.js'

/**
 * Remembers streams as they were last read, so that the next load reads only the events recorded since. Otherwise every payment from an
 * account with thousands of payments would read all of them.
 */
export class StreamCache<State, Command, Event extends DomainEvent> {
  readonly #known: ReturnType<typeof boundedCache<Loaded<State>>>

  constructor(
    private readonly store: EventStore,
    private readonly decider: Decider<State, Command, Event>,
    maxStreams: number,
  ) {
    this.#known = boundedCache(maxStreams)
  }

  /** Returns the stream's current state. @throws StoreUnavailableError, UnreadableEventError */
  async load(stream: string): Promise<Loaded<State>> {
    const loaded = await loadStream(this.store, this.decider, stream, { known: this.#known.get(stream) })
    // A name that a stranger chose must not displace a stream that exists.
    if (loaded.revision !== 'no_stream') this.#known.set(stream, loaded)
    return loaded
  }

  /** Handles a command on the stream as it was loaded. @throws as handleCommand does */
  async handle(
    stream: string,
    command: Command,
    context: CommandContext,
    loaded: Loaded<State> = emptyStream(this.decider),
  ): Promise<CommandResult<State, Event>> {
    const result = await handleCommand(this.store, this.decider, stream, command, context, { loaded })
    if (result.accepted) this.#known.set(stream, { state: result.state, revision: result.revision })
    return result
  }
}
