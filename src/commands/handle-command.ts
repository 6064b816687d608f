import type { Decider, Refusal } from '../domain/decision.js'
import { type DomainEvent, type EventMetadata, encodeEvent, UnreadableEventError } from '../event-store/event-codec.js'
import {
  type Append,
  type EventStore,
  type ExpectedRevision,
  type Position,
  type RecordedEvent,
  WrongExpectedRevisionError,
} from '../event-store/event-store.js'
import { foldEvent, readEvent } from '../event-store/read-event.js'

export type CommandContext = EventMetadata

/** ISO 8601 with milliseconds. */
export type Clock = () => string

export type CommandResult<State, Event> =
  | {
      readonly accepted: true
      readonly state: State
      /** What this command appended; empty when it changed nothing. */
      readonly events: readonly Event[]
      readonly revision: ExpectedRevision
    }
  | { readonly accepted: false; readonly refusal: Refusal; readonly state: State }

/** Other writers kept winning; nothing was appended. Trying again later is safe. */
export class TooMuchContentionError extends Error {
  override readonly name = 'TooMuchContentionError'
}

const maxAttempts = 10

/** A stream as it was when it was read. */
export interface Loaded<State> {
  readonly state: State
  readonly revision: ExpectedRevision
  /** The stream has the event of {@link HandleOptions.onceId}. */
  readonly isDone?: boolean
}

export interface HandleOptions<State, Event> {
  /** Decides on the initial state first, without reading: for streams that hardly ever exist yet. */
  readonly assumeNew?: boolean
  /** Decides on this first, without reading it again. */
  readonly loaded?: Loaded<State>
  /** Appends to other streams that must succeed before this one's. */
  readonly before?: readonly Append[]
  /** Event ids that derive from their cause, where an append may be repeated. Random otherwise. */
  readonly eventId?: (event: Event) => string
  /** The id of the first event this leads to. A stream that has it stays as it is, whatever has come to be of it since. */
  readonly onceId?: string
}

/** `before`: what was known of the stream earlier, so that only what was recorded since is read. @throws StoreUnavailableError, UnreadableEventError */
export async function loadStream<State, Command, Event extends DomainEvent>(
  store: EventStore,
  decider: Decider<State, Command, Event>,
  stream: string,
  onceId?: string,
  before: Loaded<State> = { state: decider.initialState, revision: 'no_stream' },
): Promise<Loaded<State>> {
  let { state, revision, isDone = false } = before
  const fromRevision = revision === 'no_stream' ? 0 : revision + 1
  for (const recorded of await store.readStream(stream, { fromRevision })) {
    state = foldEvent(decider.evolve, state, recorded)
    revision = recorded.revision
    isDone ||= recorded.id === onceId
  }
  return { state, revision, isDone }
}

/** An event as it was recorded, and what is known about how it came to be. */
export interface HistoryEntry<Event> {
  readonly id: string
  readonly revision: number
  readonly position: Position
  readonly event: Event
  readonly metadata: EventMetadata
}

/**
 * A stream from its start, without what is passed over; empty when there is none. `unreadable`: what to do about an event that
 * cannot be read. @throws StoreUnavailableError, UnreadableEventError
 */
export async function readHistory<Event extends DomainEvent>(
  store: EventStore,
  stream: string,
  unreadable: 'throw' | 'leave out' = 'throw',
): Promise<readonly HistoryEntry<Event>[]> {
  const recorded = await store.readStream(stream)
  return recorded.flatMap((one) => {
    const event = unreadable === 'throw' ? readEvent(one) : readable(one)
    if (!event) return []
    const { id, revision, position, metadata } = one
    return [{ id, revision, position, event: event as Event, metadata: metadata as unknown as EventMetadata }]
  })
}

function readable(recorded: RecordedEvent): DomainEvent | undefined {
  try {
    return readEvent(recorded)
  } catch (error) {
    if (error instanceof UnreadableEventError) return undefined
    throw error
  }
}

/**
 * Load, decide, append at the revision read; on a conflict with another writer, and only then, all of it again.
 * @throws StoreUnavailableError, TooMuchContentionError, and WrongExpectedRevisionError of a `before` stream
 */
export async function handleCommand<State, Command, Event extends DomainEvent>(
  store: EventStore,
  decider: Decider<State, Command, Event>,
  stream: string,
  command: Command,
  context: CommandContext,
  options: HandleOptions<State, Event> = {},
): Promise<CommandResult<State, Event>> {
  const { assumeNew, loaded = assumeNew && ({ state: decider.initialState, revision: 'no_stream' } as Loaded<State>) } =
    options
  for (let attempt = 0; attempt < maxAttempts; attempt++) {
    const { state, revision, isDone } =
      (attempt === 0 && loaded) || (await loadStream(store, decider, stream, options.onceId))
    if (isDone) return { accepted: true, state, events: [], revision }
    const decision = decider.decide(command, state)
    if (!decision.accepted) return { accepted: false, refusal: decision.refusal, state }
    if (decision.events.length === 0) return { accepted: true, state, events: [], revision }
    const idOf = (event: Event, index: number) => (index === 0 && options.onceId) || options.eventId?.(event)
    const events = decision.events.map((event, index) => encodeEvent(event, context, idOf(event, index)))
    const append = { stream, expectedRevision: revision, events }
    try {
      const results = await store.appendInOrder([...(options.before ?? []), append])
      const after = decision.events.reduce((folded, event) => decider.evolve(folded, event), state)
      return { accepted: true, state: after, events: decision.events, revision: results.at(-1)!.revision }
    } catch (error) {
      if (!(error instanceof WrongExpectedRevisionError) || error.stream !== stream) throw error
    }
  }
  throw new TooMuchContentionError(`${stream}: gave up after ${maxAttempts} conflicts with other writers`)
}
