import { type Decider, type Folded, type Refusal, refuse } from '../domain/decider.js'
import type { Change } from '../domain/rule-values.js'
import type { RuleName } from '../domain/rules.js'
import { type DomainEvent, type EventMetadata, encodeEvent } from '../event-store/event-codec.js'
import {
  type Append,
  type AppendResult,
  type EventStore,
  type NewEvent,
  type RecordedEvent,
  type StreamRevision,
  WrongExpectedRevisionError,
} from '../event-store/event-store.js'
import { foldEvent, readableEvent, readEvent, unreadableReason } from '../event-store/read-event.js'
import { boundedCache } from '../kernel/bounded-cache.js'
import { KeyedLimit } from '../kernel/concurrency.js'
import { annotate, inSpan, streamAttributes } from '../tracing/tracing.js'
import { uuidV5 } from './ids.js'

/** The actor and the cause of a command, which every event that it leads to records. */
export type CommandContext = EventMetadata

/** A command without its time, which comes from the service's clock. */
export type Untimed<Command> = Command extends unknown ? Omit<Command, 'at'> : never

export interface Loaded<State> {
  readonly state: State
  readonly revision: StreamRevision
  /** The {@link HandleOptions.onceId} of the load, if the stream contains its event. Other ids were not searched. */
  readonly doneId?: string | undefined
}

export type CommandResult<State, Event, Rule extends string = RuleName> =
  /** `events` are those that this command appended, and none if it changed nothing. */
  | (Loaded<State> & {
      readonly accepted: true
      readonly events: readonly Event[]
      /** The stream already contained the event of {@link HandleOptions.onceId}. */
      readonly isRepeat?: true
    })
  | { readonly accepted: false; readonly refusal: Refusal<Rule | 'changed-meanwhile'>; readonly state: State }

export interface HandleOptions<State> {
  /** The stream that the first attempt decides on instead of reading it. */
  readonly loaded?: Loaded<State> | undefined
  /** The keys that the stream reserves when the command creates it. */
  readonly reserves?: readonly string[] | undefined
  /** Returns the appends that must succeed before the command's if the stream exists. It cannot reserve keys, and others may do so for it. */
  readonly appendsBefore?: (() => readonly Append[]) | undefined
  /** Whether a conflict with another writer is left to the caller, whose `appendsBefore` it may be about. */
  readonly isTriedOnce?: boolean
  /** The id of the first event, random if omitted. A stream that contains this event is not changed again, regardless of its state. */
  readonly onceId?: string | undefined
  /** The revision that the caller has seen. If the stream has changed since, the command is refused with the rule `changed-meanwhile`. */
  readonly seenRevision?: number | undefined
}

/** A rejection because of a stale revision shows at most this many of the latest changes. */
const maxShownChanges = 5

/** Returns the refusal with the changes since the revision, of which unreadable ones are omitted. */
async function refuseWithChanges(store: EventStore, stream: string, seenRevision: number) {
  const history = await readHistory<DomainEvent & { readonly data: { readonly at: string } }>(store, stream, 'omit')
  const changes = history
    .filter(({ revision }) => revision > seenRevision)
    .slice(-maxShownChanges)
    .map(({ event: { type, data }, metadata }): Change => ({ type, by: metadata.actor, at: data.at }))
  return refuse('conflict', 'changed-meanwhile', { changes })
}

/** The namespace of the ids that actions on a revision give their first event. */
const seenNamespace = '0c2e7c0b-3d86-4b1f-9d3c-6a0f5e1c7b42'

/**
 * Makes an action of a user happen only on the revision that the user saw, and only once, so that a repeat after a lost response gets the
 * same response. Without a revision, the action applies to the current state.
 */
export function onSeen(
  stream: string,
  revision: number | undefined,
  { actor }: CommandContext,
  action: object,
): Pick<HandleOptions<never>, 'onceId' | 'seenRevision'> {
  if (revision === undefined) return {}
  const purpose = JSON.stringify([stream, actor, revision, action], (_, value) =>
    typeof value === 'bigint' ? value.toString() : value,
  )
  return { seenRevision: revision, onceId: uuidV5(purpose, seenNamespace) }
}

/**
 * Loads the stream, decides, and appends at the revision that was read. Repeats this on a conflict with another writer, and only then.
 * @throws StoreUnavailableError, TooMuchContentionError, UnreadableEventError, KeyReservedError
 */
export function handleCommand<State, Command, Event extends DomainEvent, Rule extends string>(
  store: EventStore,
  decider: Decider<State, Command, Event, Rule>,
  stream: string,
  command: Command,
  context: CommandContext,
  options: HandleOptions<State> = {},
): Promise<CommandResult<State, Event, Rule>> {
  const { loaded, reserves, appendsBefore, isTriedOnce = false, onceId, seenRevision } = options
  let known = loaded
  const attempt = async (): Promise<CommandResult<State, Event, Rule>> => {
    const { state, revision, doneId } = known ?? (await loadStream(store, decider, stream, { onceId }))
    known = undefined
    if (onceId !== undefined && doneId === onceId)
      return { accepted: true, state, events: [], revision, isRepeat: true }
    const isStale = seenRevision !== undefined && revision !== 'no_stream' && revision !== seenRevision
    const decision = isStale ? await refuseWithChanges(store, stream, seenRevision) : decider.decide(command, state)
    if (!decision.accepted) return { accepted: false, refusal: decision.refusal, state }
    const { events } = decision
    if (events.length === 0) return { accepted: true, state, events, revision }
    const encoded = events.map((event, index) => encodeEvent(event, context, index === 0 ? onceId : undefined))
    const append = { stream, expectedRevision: revision, events: encoded }
    const isNew = revision === 'no_stream'
    const appends = isNew ? [{ ...append, reserves }] : [...(appendsBefore?.() ?? []), append]
    const results = await store.appendInOrder(appends)
    const after = events.reduce((folded, event) => decider.evolve(folded, event), state)
    return { accepted: true, state: after, events, revision: results.at(-1)!.revision }
  }
  const attributes = () => ({ ...streamAttributes(stream), 'transferd.correlation_id': context.$correlationId })
  return inSpan(
    () => ({ name: nameOf(command), attributes: attributes() }),
    async () => {
      const result = await (isTriedOnce ? attempt() : retryOnConflict(stream, attempt))
      if (!result.accepted) annotate(() => ({ 'transferd.refusal': result.refusal.rule }))
      return result
    },
  )
}

function nameOf(command: unknown): string {
  return typeof command === 'object' && command !== null && 'type' in command ? `command ${command.type}` : 'command'
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
  decider: Folded<State, Event>,
  stream: string,
  { onceId, known, onRead }: LoadOptions<State> = {},
): Promise<Loaded<State>> {
  let { state, revision, doneId } = known ?? emptyStream(decider)
  const fromRevision = revision === 'no_stream' ? 0 : revision + 1
  for (const recorded of await store.readStream(stream, { fromRevision })) {
    state =
      decider.evolveUnreadable && !recorded.isSkipped && unreadableReason(recorded) !== undefined
        ? decider.evolveUnreadable(state, recorded.recordedAtMs)
        : foldEvent(decider.evolve, state, recorded)
    revision = recorded.revision
    if (recorded.id === onceId) doneId = onceId
    onRead?.(recorded)
  }
  return { state, revision, doneId }
}

/** Returns a nonexistent stream as if it had been loaded. This saves the read of a stream that rarely exists. */
export function emptyStream<State>({ initialState }: { readonly initialState: State }): Loaded<State> {
  return { state: initialState, revision: 'no_stream' }
}

/** Other writers won every attempt and nothing was appended. Trying again later is safe. */
export class TooMuchContentionError extends Error {
  override readonly name = 'TooMuchContentionError'
}

const maxAttempts = 10

/** Runs the tasks of each key one at a time, so that writers of one stream in this process do not conflict with one another. */
export function oneAtATime(maxWaiting: number): KeyedLimit {
  const tooMany = (key: string) => new TooMuchContentionError(`${maxWaiting} tasks are waiting for ${key}`)
  return new KeyedLimit({ concurrency: 1, maxWaiting }, tooMany)
}

/** Repeats `attempt` on conflicts with other writers, at most ten times, unless `isRetried` excludes them. @throws TooMuchContentionError */
export async function retryOnConflict<Result>(
  subject: string,
  attempt: () => Promise<Result>,
  isRetried: (error: WrongExpectedRevisionError) => boolean = () => true,
): Promise<Result> {
  for (let attempts = 0; attempts < maxAttempts; attempts++) {
    try {
      return await attempt()
    } catch (error) {
      if (!(error instanceof WrongExpectedRevisionError) || !isRetried(error)) throw error
    }
  }
  throw new TooMuchContentionError(`${subject}: gave up after ${maxAttempts} conflicts with other writers`)
}

/** Appends an event that depends on none of the stream's earlier events. @throws StoreUnavailableError, TooMuchContentionError */
export async function appendToEnd(store: EventStore, stream: string, event: NewEvent): Promise<void> {
  await retryOnConflict(stream, async () => {
    const [last] = await store.readStream(stream, { direction: 'backwards', maxCount: 1 })
    await store.append(stream, last?.revision ?? 'no_stream', [event])
  })
}

/** Returns `undefined`, and appends nothing, if another writer has changed the stream. @throws StoreUnavailableError */
export async function appendUnlessChanged(
  store: EventStore,
  stream: string,
  expectedRevision: StreamRevision,
  event: NewEvent,
): Promise<AppendResult | undefined> {
  try {
    return await store.append(stream, expectedRevision, [event])
  } catch (error) {
    if (error instanceof WrongExpectedRevisionError) return undefined
    throw error
  }
}

/** Remembers streams, so that a payment from an account with thousands of payments reads only the latest events. */
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

export interface HistoryEntry<Event> extends Pick<RecordedEvent, 'id' | 'revision' | 'position'> {
  readonly event: Event
  readonly metadata: EventMetadata
}

export type Unreadable = 'throw' | 'omit'

/** Reads every event of a stream, except skipped ones, oldest first. @throws StoreUnavailableError, UnreadableEventError */
export async function readHistory<Event extends DomainEvent>(
  store: Pick<EventStore, 'readStream'>,
  stream: string,
  unreadable: Unreadable = 'throw',
): Promise<readonly HistoryEntry<Event>[]> {
  const recorded = await store.readStream(stream)
  return recorded.flatMap((one) => {
    const event = unreadable === 'omit' ? readableEvent(one) : readEvent(one)
    if (!event) return []
    const { id, revision, position, metadata } = one
    return [{ id, revision, position, event: event as Event, metadata: metadata as EventMetadata }]
  })
}
