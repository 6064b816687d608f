import { type DomainEvent, type EventMetadata, encodeEvent } from '../event-store/event-codec.js'
import type { EventStore, ExpectedRevision, RecordedEvent } from '../event-store/event-store.js'
import { foldEvent } from '../event-store/read-event.js'
import { type Decider, type Refusal, refuse } from '../kernel/decision.js'
import type { RuleName } from '../kernel/rules.js'
import { streamAttributes } from '../tracing/traced-store.js'
import { annotate, inSpan } from '../tracing/tracing.js'
import { retryOnConflict } from './write-contention.js'

/** The actor and the cause of a command, which every event that it leads to records. */
export type CommandContext = EventMetadata

/** A stream's state at the revision that was read. */
export interface Loaded<State> {
  readonly state: State
  readonly revision: ExpectedRevision
  /** The stream contains the event of {@link HandleOptions.onceId}. */
  readonly isDone?: boolean
}

export type CommandResult<State, Event, Rule extends string = RuleName> =
  | {
      readonly accepted: true
      readonly state: State
      /** The events that this command appended; empty if it changed nothing. */
      readonly events: readonly Event[]
      readonly revision: ExpectedRevision
    }
  | { readonly accepted: false; readonly refusal: Refusal<Rule | 'changed-meanwhile'>; readonly state: State }

export interface HandleOptions<State> {
  /** The stream that the first attempt decides on instead of reading it. */
  readonly loaded?: Loaded<State> | undefined
  /**
   * Other streams that must not exist when the events are appended. Only an engine with `appendsInOneTransaction` excludes that another
   * writer creates one of them in between.
   */
  readonly missingStreams?: readonly string[]
  /** The id of the first event, random if omitted. A stream that contains this event is not changed again, regardless of its state. */
  readonly onceId?: string | undefined
  /** The revision that the caller has seen. If the stream has changed since, the command is refused with the rule `changed-meanwhile`. */
  readonly seenRevision?: number | undefined
}

const changedMeanwhile = refuse('conflict', 'changed-meanwhile', { changes: [] })

/**
 * Loads the stream, decides, and appends at the revision that was read. Repeats this on a conflict with another writer, and only then.
 * @throws StoreUnavailableError, TooMuchContentionError, UnreadableEventError, and WrongExpectedRevisionError if a stream of `missingStreams` exists
 */
export function handleCommand<State, Command, Event extends DomainEvent, Rule extends string>(
  store: EventStore,
  decider: Decider<State, Command, Event, Rule>,
  stream: string,
  command: Command,
  context: CommandContext,
  options: HandleOptions<State> = {},
): Promise<CommandResult<State, Event, Rule>> {
  return inSpan(
    () => {
      const attributes = { ...streamAttributes(stream), 'transferd.correlation_id': context.$correlationId }
      return { name: nameOf(command), attributes }
    },
    async () => {
      const result = await decideAndAppend(store, decider, stream, command, context, options)
      if (!result.accepted) annotate(() => ({ 'transferd.refusal': result.refusal.rule }))
      return result
    },
  )
}

/** Names a span after the command's type. The command of a decider that has only one has no type. */
function nameOf(command: unknown): string {
  return typeof command === 'object' && command !== null && 'type' in command ? `command ${command.type}` : 'command'
}

function decideAndAppend<State, Command, Event extends DomainEvent, Rule extends string>(
  store: EventStore,
  decider: Decider<State, Command, Event, Rule>,
  stream: string,
  command: Command,
  context: CommandContext,
  { loaded, missingStreams = [], onceId, seenRevision }: HandleOptions<State>,
): Promise<CommandResult<State, Event, Rule>> {
  const missing = missingStreams.map((each) => ({ stream: each, expectedRevision: 'no_stream', events: [] }) as const)
  let known = loaded
  const attempt = async (): Promise<CommandResult<State, Event, Rule>> => {
    const { state, revision, isDone } = known ?? (await loadStream(store, decider, stream, { onceId }))
    known = undefined
    if (isDone) return { accepted: true, state, events: [], revision }
    const isStale = seenRevision !== undefined && revision !== 'no_stream' && revision !== seenRevision
    const decision = isStale ? changedMeanwhile : decider.decide(command, state)
    if (!decision.accepted) return { accepted: false, refusal: decision.refusal, state }
    const { events } = decision
    if (events.length === 0) return { accepted: true, state, events, revision }
    const encoded = events.map((event, index) => encodeEvent(event, context, index === 0 ? onceId : undefined))
    const results = await store.appendInOrder([...missing, { stream, expectedRevision: revision, events: encoded }])
    const after = events.reduce((folded, event) => decider.evolve(folded, event), state)
    return { accepted: true, state: after, events, revision: results.at(-1)!.revision }
  }
  return retryOnConflict(stream, attempt, (conflict) => conflict.stream === stream)
}

interface LoadOptions<State> {
  readonly onceId?: string | undefined
  /** The stream as it was read earlier, so that only later events are read. */
  readonly known?: Loaded<State> | undefined
  readonly onRead?: (recorded: RecordedEvent) => void
}

/** Reads and folds a stream. @throws StoreUnavailableError, UnreadableEventError */
export async function loadStream<State, Event extends DomainEvent>(
  store: EventStore,
  decider: Pick<Decider<State, never, Event, never>, 'initialState' | 'evolve'>,
  stream: string,
  { onceId, known, onRead }: LoadOptions<State> = {},
): Promise<Loaded<State>> {
  let { state, revision, isDone = false } = known ?? emptyStream(decider)
  const fromRevision = revision === 'no_stream' ? 0 : revision + 1
  for (const recorded of await store.readStream(stream, { fromRevision })) {
    state = foldEvent(decider.evolve, state, recorded)
    revision = recorded.revision
    isDone ||= recorded.id === onceId
    onRead?.(recorded)
  }
  return { state, revision, isDone }
}

/** Returns a nonexistent stream as if it had been loaded. This saves the read of a stream that rarely exists. */
export function emptyStream<State>({ initialState }: { readonly initialState: State }): Loaded<State> {
  return { state: initialState, revision: 'no_stream' }
}
