import type { Folded } from '../domain/decider.js'
import { type StreamPrefix, skippedEventsStream, streamPrefix } from '../domain/streams.js'
import { UnreadableEventError } from '../event-store/event-codec.js'
import {
  comparePositions,
  type EventStore,
  logPages,
  type Position,
  type RecordedEvent,
} from '../event-store/event-store.js'
import { decisionOf, foldEvent } from '../event-store/read-event.js'
import { readStreamList } from '../event-store/stream-list.js'
import { follow } from '../subscriptions/follow.js'
import { isUnavailable } from '../subscriptions/retry.js'

/** The number of unexpected failures in a row after which the states are behind. */
const maxFailures = 3

/** Streams are read concurrently, because each read of a server takes a round trip. */
const concurrentReads = 32

interface FoldedStreamsOptions<State, Live extends State, Event> {
  readonly store: EventStore
  readonly prefix: StreamPrefix
  readonly decider: Folded<State, Event>
  readonly isLive: (state: State) => state is Live
  /** Receives an error each time the log becomes unavailable, after which it is followed again, and for each unreadable event. */
  readonly onError: (error: unknown) => void
}

/** Keeps the states of a kind of streams in memory. An unreadable event puts only its own stream out of service, until it is skipped. */
export class FoldedStreams<State, Live extends State, Event> {
  readonly #options: FoldedStreamsOptions<State, Live, Event>
  /** Includes skipped events, which put a stream back in service, and erasures, which every thread must know (privacy/sealing-store.ts). */
  readonly #streamPrefixes: readonly string[]
  readonly #states = new Map<string, State>()
  /** The streams with an unreadable event. Their states end before it, and no decision may rely on a state without its latest change. */
  protected readonly outOfService = new Map<string, UnreadableEventError>()
  /** The streams out of service whose unreadable event has been skipped, and which must be folded again from the start. */
  readonly #recovering = new Set<string>()
  readonly #grown = new Set<string>()
  /** The last folded revision of each stream. */
  readonly #foldedTo = new Map<string, number>()
  #onChange: () => void = () => undefined
  readonly #stopping = new AbortController()
  #following: Promise<void> | undefined
  /** The number of unexpected failures since the last page. */
  #failures = 0
  #catchingUp: Promise<void> | undefined
  /** The position up to which, inclusive, everything is folded. */
  #checkpoint: Position | undefined

  constructor(options: FoldedStreamsOptions<State, Live, Event>) {
    this.#options = options
    this.#streamPrefixes = [options.prefix, skippedEventsStream, streamPrefix.privacy]
  }

  /** Resolves when the whole log is folded, and follows it from there. @throws StoreUnavailableError */
  async start(): Promise<void> {
    await this.#readToEnd()
    const { store, onError } = this.#options
    this.#following = follow({
      store,
      after: this.#checkpoint,
      streamPrefixes: this.#streamPrefixes,
      signal: this.#stopping.signal,
      isRetried: () => true,
      // The log can stay unavailable for hours, so only its first failure is reported.
      onUnavailable: (error, failures) => {
        if (failures === 1) onError(error)
        this.#failures = isUnavailable(error) ? 0 : failures
      },
      handle: async (page) => {
        this.#failures = 0
        await this.#apply(page.events, page.checkpoint)
        this.#onChange()
      },
    })
  }

  /** Whether it has failed several times in a row, so that it may lack the newest changes. */
  get isBehind(): boolean {
    return this.#failures >= maxFailures
  }

  /** Resolves when all that the log contained at the call is folded. Concurrent calls share one read. @throws StoreUnavailableError */
  async catchUp(): Promise<void> {
    // A read in progress may already have passed the position of the caller's event.
    if (this.#catchingUp) await this.#catchingUp
    this.#catchingUp ??= this.#readToEnd().finally(() => (this.#catchingUp = undefined))
    await this.#catchingUp
  }

  async stop(): Promise<void> {
    this.#stopping.abort()
    await this.#following
  }

  whenChanged(listener: () => void): void {
    this.#onChange = listener
  }

  ids(): Iterable<string> {
    return this.#states.keys()
  }

  /** Returns `undefined` also for a stream out of service. */
  byId(id: string): Live | undefined {
    const state = this.#states.get(id)
    const { isLive } = this.#options
    return state !== undefined && isLive(state) && !this.outOfService.has(id) ? state : undefined
  }

  all(): Live[] {
    return [...this.ids()].flatMap((id) => this.byId(id) ?? [])
  }

  /** Returns the revision of the state that {@link byId} returns. */
  revisionOf(id: string): number {
    return this.#foldedTo.get(id) ?? -1
  }

  /** Returns the state, which ends before the unreadable event if the stream is out of service. */
  protected stateOf(id: string): State | undefined {
    return this.#states.get(id)
  }

  protected onFold(_id: string, _before: State, _after: State): void {}

  async #readToEnd(): Promise<void> {
    const { store } = this.#options
    this.#checkpoint ??= await this.#foldListed()
    const range = { after: this.#checkpoint, streamPrefixes: this.#streamPrefixes }
    for await (const { events, through } of logPages(store, range)) await this.#apply(events, through)
  }

  /** Folds each stream that the log lists, and returns the position up to which the list is complete. */
  async #foldListed(): Promise<Position | undefined> {
    const { store, prefix } = this.#options
    const { streams, position } = await readStreamList(store)
    const wanted = [...streams].filter((stream) => this.#streamPrefixes.some((each) => stream.startsWith(each)))
    for (let from = 0; from < wanted.length; from += concurrentReads) {
      const reading = wanted.slice(from, from + concurrentReads).map(async (stream) => {
        if (stream.startsWith(prefix)) await this.#foldAgain(stream.slice(prefix.length))
        else await store.readStream(stream)
      })
      await Promise.all(reading)
    }
    return position
  }

  /** Applies a page. The follower and a caller that catches up can bring the same event: it is applied once. */
  async #apply(events: readonly RecordedEvent[], through: Position | undefined): Promise<void> {
    for (const recorded of events) {
      if (this.#checkpoint && comparePositions(recorded.position, this.#checkpoint) <= 0) continue
      if (recorded.stream === skippedEventsStream) this.#noteSkipped(recorded)
      else if (recorded.stream.startsWith(this.#options.prefix)) this.#take(recorded)
    }
    if (through && (!this.#checkpoint || comparePositions(through, this.#checkpoint) > 0)) this.#checkpoint = through
    for (const id of this.#recovering) await this.#foldAgain(id)
  }

  #noteSkipped(recorded: RecordedEvent): void {
    const { prefix } = this.#options
    const { stream = '' } = decisionOf(recorded) ?? {}
    const id = stream.slice(prefix.length)
    if (stream.startsWith(prefix) && this.outOfService.has(id)) this.#recovering.add(id)
  }

  #take(recorded: RecordedEvent): void {
    const id = recorded.stream.slice(this.#options.prefix.length)
    if (this.outOfService.has(id)) this.#grown.add(id)
    else if (recorded.revision > (this.#foldedTo.get(id) ?? -1))
      this.#fold(id, this.#states.get(id) ?? this.#options.decider.initialState, [recorded])
  }

  async #foldAgain(id: string): Promise<void> {
    const { store, prefix, decider } = this.#options
    let events: readonly RecordedEvent[]
    do {
      this.#grown.delete(id)
      events = await store.readStream(`${prefix}${id}`)
      // An event that the other reader brought in the meantime may be missing from this read.
    } while (this.#grown.has(id))
    this.#recovering.delete(id)
    this.outOfService.delete(id)
    this.#fold(id, decider.initialState, events)
  }

  #fold(id: string, from: State, events: readonly RecordedEvent[]): void {
    const { decider, onError } = this.#options
    let after = from
    try {
      for (const recorded of events) after = foldEvent(decider.evolve, after, recorded)
    } catch (error) {
      if (!(error instanceof UnreadableEventError)) throw error
      this.outOfService.set(id, error)
      onError(error)
    }
    this.onFold(id, this.#states.get(id) ?? decider.initialState, after)
    this.#states.set(id, after)
    this.#foldedTo.set(id, events.at(-1)?.revision ?? -1)
  }
}
