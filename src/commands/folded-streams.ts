import { type StreamPrefix, skippedEventsStream, streamPrefix } from '../domain/streams.js'
import { UnreadableEventError } from '../event-store/event-codec.js'
import {
  comparePositions,
  type EventStore,
  type Page,
  type Position,
  type RecordedEvent,
} from '../event-store/event-store.js'
import { foldEvent } from '../event-store/read-event.js'
import { decisionOf } from '../event-store/skipped-events.js'
import { readStreamList } from '../event-store/stream-list.js'
import { follow } from '../subscriptions/follow.js'

const pageSize = 500
/** On a server each takes a round trip. */
const atOnce = 32

export interface FoldedStreamsOptions<State, Event> {
  readonly store: EventStore
  /** How the names of the streams begin; what follows is the id. */
  readonly prefix: StreamPrefix
  readonly initialState: State
  readonly evolve: (state: State, event: Event) => State
  /** Told each time the log becomes unavailable, which is followed again when it is back, and when an event cannot be read. */
  readonly onError: (error: unknown) => void
  readonly onFold?: (id: string, before: State, after: State) => void
}

/**
 * All streams of a kind in memory, folded from the log and kept up with it. An event that cannot be read (a foreign one, or one of a
 * newer program) puts its own stream out of service until it is skipped, and no other.
 */
export class FoldedStreams<State, Event> {
  readonly #options: FoldedStreamsOptions<State, Event>
  /**
   * With what is decided about events that cannot be read, so that a stream is back in service at once; and with erasures of customers,
   * which every thread must learn of (privacy/sealing-store.ts) and this class follows in every thread.
   */
  readonly #streamPrefixes: readonly string[]
  readonly #states = new Map<string, State>()
  /** Those with an event that cannot be read, folded up to it: nothing is decided by a state whose latest change is not known. */
  readonly #outOfService = new Map<string, UnreadableEventError>()
  /** Of them, those with an event that was skipped since: to be folded again from the start. */
  readonly #freed = new Set<string>()
  /** Of them, those of which later events came by. */
  readonly #skipped = new Set<string>()
  /** Up to which revision a stream was folded again. */
  readonly #foldedTo = new Map<string, number>()
  #onChange: () => void = () => undefined
  readonly #stopping = new AbortController()
  #following: Promise<void> | undefined
  #catchingUp: Promise<void> | undefined
  /** Everything up to and including this place is known. */
  #checkpoint: Position | undefined

  constructor(options: FoldedStreamsOptions<State, Event>) {
    this.#options = options
    this.#streamPrefixes = [options.prefix, skippedEventsStream, streamPrefix.privacy]
  }

  /** Resolves when everything in the log is known. @throws StoreUnavailableError */
  async start(): Promise<void> {
    await this.#readToEnd()
    const { store, onError } = this.#options
    this.#following = follow({
      store,
      after: this.#checkpoint,
      streamPrefixes: this.#streamPrefixes,
      signal: this.#stopping.signal,
      isRetried: () => true,
      // Once each time the log becomes unavailable: it may stay so for hours.
      onUnavailable: (error, failures) => {
        if (failures === 1) onError(error)
      },
      handle: async (page) => {
        await this.#apply(page)
        this.#onChange()
      },
    })
  }

  /**
   * Resolves when what was in the log at the call is known: another process or node may have recorded it a moment ago.
   * Calls share one reading. @throws StoreUnavailableError
   */
  async catchUp(): Promise<void> {
    // What is under way may have read past the place where the caller's event came to stand since.
    if (this.#catchingUp) await this.#catchingUp
    this.#catchingUp ??= this.#readToEnd().finally(() => {
      this.#catchingUp = undefined
    })
    await this.#catchingUp
  }

  async stop(): Promise<void> {
    this.#stopping.abort()
    await this.#following
  }

  /** Calls it whenever something may have become known; one listener at a time. */
  whenChanged(listener: () => void): void {
    this.#onChange = listener
  }

  ids(): Iterable<string> {
    return this.#states.keys()
  }

  /** Also of one out of service: as it was before what cannot be read. */
  stateOf(id: string): State | undefined {
    return this.#states.get(id)
  }

  problems(): ReadonlyMap<string, UnreadableEventError> {
    return this.#outOfService
  }

  async #readToEnd(): Promise<void> {
    const { store } = this.#options
    this.#checkpoint ??= await this.#foldListed()
    for (;;) {
      const after = this.#checkpoint && { after: this.#checkpoint }
      const page = await store.readAll({ streamPrefixes: this.#streamPrefixes, maxCount: pageSize, ...after })
      await this.#apply(page)
      if (page.atEnd) return
    }
  }

  /** The streams that the log lists, each from itself: what there is behind the answered place is to be read yet. */
  async #foldListed(): Promise<Position | undefined> {
    const { store, prefix } = this.#options
    const { streams, position } = await readStreamList(store)
    const wanted = [...streams].filter((stream) => this.#streamPrefixes.some((each) => stream.startsWith(each)))
    for (let from = 0; from < wanted.length; from += atOnce) {
      const reading = wanted.slice(from, from + atOnce).map(async (stream) => {
        if (stream.startsWith(prefix)) await this.#foldAgain(stream.slice(prefix.length))
        else await store.readStream(stream)
      })
      await Promise.all(reading)
    }
    return position
  }

  /** Two readers bring the same events when a request caught up; each counts once. */
  async #apply(page: Page): Promise<void> {
    for (const recorded of page.events) {
      if (this.#checkpoint && comparePositions(recorded.position, this.#checkpoint) <= 0) continue
      if (recorded.stream === skippedEventsStream) this.#noteDecision(recorded)
      else if (recorded.stream.startsWith(this.#options.prefix)) this.#take(recorded)
    }
    const { checkpoint } = page
    if (checkpoint && (!this.#checkpoint || comparePositions(checkpoint, this.#checkpoint) > 0))
      this.#checkpoint = checkpoint
    for (const id of this.#freed) await this.#foldAgain(id)
  }

  #noteDecision(recorded: RecordedEvent): void {
    const { prefix } = this.#options
    const { stream = '' } = decisionOf(recorded) ?? {}
    const id = stream.slice(prefix.length)
    if (stream.startsWith(prefix) && this.#outOfService.has(id)) this.#freed.add(id)
  }

  #take(recorded: RecordedEvent): void {
    const id = recorded.stream.slice(this.#options.prefix.length)
    if (this.#outOfService.has(id)) this.#skipped.add(id)
    else if (recorded.revision > (this.#foldedTo.get(id) ?? -1))
      this.#fold(id, this.#states.get(id) ?? this.#options.initialState, [recorded])
  }

  async #foldAgain(id: string): Promise<void> {
    const { store, prefix, initialState } = this.#options
    let events: readonly RecordedEvent[]
    do {
      this.#skipped.delete(id)
      events = await store.readStream(`${prefix}${id}`)
      // What the other reader brought meanwhile may not have been there yet.
    } while (this.#skipped.has(id))
    this.#freed.delete(id)
    this.#outOfService.delete(id)
    this.#foldedTo.set(id, events.at(-1)?.revision ?? -1)
    this.#fold(id, initialState, events)
  }

  #fold(id: string, from: State, events: readonly RecordedEvent[]): void {
    const { evolve, initialState, onError, onFold } = this.#options
    let after = from
    try {
      for (const recorded of events) after = foldEvent(evolve, after, recorded)
    } catch (error) {
      if (!(error instanceof UnreadableEventError)) throw error
      this.#outOfService.set(id, error)
      onError(error)
    }
    onFold?.(id, this.#states.get(id) ?? initialState, after)
    this.#states.set(id, after)
  }
}
