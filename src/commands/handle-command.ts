import { type DomainEvent, type EventMetadata, encodeEvent } from '../event-store/event-codec.js'
import {
  type EventStore,
  type ExpectedRevision,
  type RecordedEvent,
  WrongExpectedRevisionError,
} from '../event-store/event-store.js'
import { foldEvent } from '../event-store/read-event.js'
import { type Decider, type Refusal, refuse } from '../kernel/decision.js'
import type { RuleName } from '../kernel/rules.js'
import { streamAttributes } from '../tracing/traced-store.js'
import { annotate, inSpan } from '../tracing/tracing.js'

/** Who asks, and why: recorded with every event that a command leads to. */
export type CommandContext = EventMetadata

/** A stream as it was when it was read. */
export interface Loaded<State> {
  readonly state: State
  readonly revision: ExpectedRevision
  /** The stream has the event of {@link HandleOptions.onceId}. */
  readonly isDone?: boolean
}

export type CommandResult<State, Event, Rule extends string = RuleName> =
  | {
      readonly accepted: true
      readonly state: State
      /** What this command appended; empty when it changed nothing. */
      readonly events: readonly Event[]
      readonly revision: ExpectedRevision
    }
  | { readonly accepted: false; readonly refusal: Refusal<Rule | 'changed-meanwhile'>; readonly state: State }

export interface HandleOptions<State> {
  /** Decides on this first, without reading. */
  readonly loaded?: Loaded<State> | undefined
  /**
   * Other streams that must not exist when the events are appended. Only an engine with `appendsInOneTransaction` excludes that another
   * writer creates one of them in between.
   */
  readonly missingStreams?: readonly string[]
  /** The id of the first event this leads to; random otherwise. A stream that has it stays as it is, whatever has come to be of it since. */
  readonly onceId?: string | undefined
  /** Decides on the stream as it was at this revision; where it has gone on since, the command is refused by the rule `changed-meanwhile`. */
  readonly seenRevision?: number | undefined
}

/** Other writers kept winning; nothing was appended. Trying again later is safe. */
export class TooMuchContentionError extends Error {
  override readonly name = 'TooMuchContentionError'
}

const maxAttempts = 10
const changedMeanwhile = refuse('conflict', 'changed-meanwhile', { changes: [] })

/**
 * Load, decide, append at the revision read; on a conflict with another writer, and only then, all of it again.
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

/** Most commands are one of several of a decider. */
function nameOf(command: unknown): string {
  return typeof command === 'object' && command !== null && 'type' in command ? `command ${command.type}` : 'command'
}

async function decideAndAppend<State, Command, Event extends DomainEvent, Rule extends string>(
  store: EventStore,
  decider: Decider<State, Command, Event, Rule>,
  stream: string,
  command: Command,
  context: CommandContext,
  { loaded, missingStreams = [], onceId, seenRevision }: HandleOptions<State>,
): Promise<CommandResult<State, Event, Rule>> {
  let current = loaded ?? (await loadStream(store, decider, stream, { onceId }))
  const missing = missingStreams.map((each) => ({ stream: each, expectedRevision: 'no_stream', events: [] }) as const)
  for (let attempt = 1; attempt <= maxAttempts; attempt++) {
    const { state, revision, isDone } = current
    if (isDone) return { accepted: true, state, events: [], revision }
    const isStale = seenRevision !== undefined && revision !== 'no_stream' && revision !== seenRevision
    const decision = isStale ? changedMeanwhile : decider.decide(command, state)
    if (!decision.accepted) return { accepted: false, refusal: decision.refusal, state }
    const { events } = decision
    if (events.length === 0) return { accepted: true, state, events, revision }
    const encoded = events.map((event, index) => encodeEvent(event, context, index === 0 ? onceId : undefined))
    try {
      const results = await store.appendInOrder([...missing, { stream, expectedRevision: revision, events: encoded }])
      const after = events.reduce((folded, event) => decider.evolve(folded, event), state)
      return { accepted: true, state: after, events, revision: results.at(-1)!.revision }
    } catch (error) {
      if (!(error instanceof WrongExpectedRevisionError) || error.stream !== stream) throw error
      if (attempt < maxAttempts) current = await loadStream(store, decider, stream, { onceId })
    }
  }
  throw new TooMuchContentionError(`${stream}: gave up after ${maxAttempts} conflicts with other writers`)
}

interface LoadOptions<State> {
  readonly onceId?: string | undefined
  readonly known?: Loaded<State> | undefined
  readonly onRead?: (recorded: RecordedEvent) => void
}

/** `known`: what was read of the stream earlier, so that only what was recorded since is. @throws StoreUnavailableError, UnreadableEventError */
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
