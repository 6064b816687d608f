import {
  type Attempted,
  type CallbackCommand,
  type CallbackEvent,
  callbackDecider,
  type EndpointCommand,
  type EndpointState,
  endpointDecider,
  type Lane,
  type Requeued,
  requeued,
  untilResendableMs,
} from '../../domain/callback.js'
import type { DataOf } from '../../domain/event.js'
import { callbackStream, endpointStream } from '../../domain/streams.js'
import type { EventMetadata } from '../../event-store/event-codec.js'
import type { EventStore, RecordedEvent } from '../../event-store/event-store.js'
import type { Clock } from '../../kernel/time.js'
import {
  type CommandContext,
  type HandleOptions,
  type HistoryEntry,
  handleCommand,
  type Loaded,
  loadStream,
  readHistory,
  type Untimed,
} from '../handle-command.js'
import { derivedEventId } from '../ids.js'

export type CallbackRequest = Omit<DataOf<CallbackEvent, 'CallbackRecorded'>, 'at'>

export interface LoadedLane extends Loaded<Lane> {
  readonly causes: ReadonlyMap<string, EventMetadata>
}

type Resent =
  | { readonly accepted: true; readonly count: number }
  /** `retryAfterSeconds` is omitted if the callback does not exist. */
  | { readonly accepted: false; readonly retryAfterSeconds?: number }

/** Runs every command on callback deliveries. Each method may throw StoreUnavailableError or TooMuchContentionError. */
export class CallbackCommands {
  constructor(
    private readonly store: EventStore,
    private readonly clock: Clock,
  ) {}

  /** Records a delivery once, regardless of repeats: the event's id derives from the id of the transfer event. */
  record(request: CallbackRequest, context: CommandContext, loaded?: Loaded<Lane>) {
    const onceId = derivedEventId(request.webhookId, 'callback recorded')
    return this.#execute(request.trackingId, { type: 'Record', ...request }, context, { loaded, onceId })
  }

  reportAttempt(
    trackingId: string,
    webhookId: string,
    attempted: Attempted,
    context: CommandContext,
    loaded?: Loaded<Lane>,
  ) {
    return this.#execute(trackingId, { type: 'ReportAttempt', webhookId, ...attempted }, context, { loaded })
  }

  requeue(trackingId: string, which: Requeued, context: CommandContext) {
    return this.#execute(trackingId, { type: 'Requeue', which }, context)
  }

  /** Requeues callbacks for a merchant, at a limited rate. */
  async resend(trackingId: string, which: Requeued, context: CommandContext): Promise<Resent> {
    const at = this.clock()
    const result = await this.#execute(trackingId, { type: 'Resend', which }, context)
    if (result.accepted) return { accepted: true, count: result.events.length }
    if (result.refusal.reason === 'not-found') return { accepted: false }
    const waitsMs = requeued(result.state, which).map((each) => untilResendableMs(each, Date.parse(at)))
    return { accepted: false, retryAfterSeconds: Math.ceil(Math.min(...waitsMs.filter((ms) => ms > 0)) / 1000) }
  }

  /** Requeues callbacks of a sandbox merchant, at any time, so that its listeners receive them again. */
  async replay(trackingId: string, which: Requeued, context: CommandContext): Promise<Resent> {
    const result = await this.#execute(trackingId, { type: 'Replay', which }, context)
    return result.accepted ? { accepted: true, count: result.events.length } : { accepted: false }
  }

  history(trackingId: string): Promise<readonly HistoryEntry<CallbackEvent>[]> {
    return readHistory(this.store, callbackStream(trackingId))
  }

  async lane(trackingId: string): Promise<Lane> {
    return (await this.load(trackingId)).state
  }

  /**
   * Returns the lane, which a command can decide on without another read, and the metadata of each callback by webhookId.
   */
  async load(trackingId: string): Promise<LoadedLane> {
    const causes = new Map<string, EventMetadata>()
    const onRead = ({ type, data, metadata }: RecordedEvent) => {
      if (type === 'CallbackRecorded') causes.set(String(data.webhookId), metadata as EventMetadata)
    }
    const loaded = await loadStream(this.store, callbackDecider, callbackStream(trackingId), { onRead })
    return { ...loaded, causes }
  }

  async endpointState(merchantId: string): Promise<EndpointState> {
    return (await loadStream(this.store, endpointDecider, endpointStream(merchantId))).state
  }

  noteEndpointFailing(merchantId: string, since: string, context: CommandContext) {
    return this.#executeOnEndpoint({ type: 'NoteFailing', merchantId, since, at: this.clock() }, context)
  }

  noteEndpointRecovered(merchantId: string, context: CommandContext) {
    return this.#executeOnEndpoint({ type: 'NoteRecovered', merchantId, at: this.clock() }, context)
  }

  /** Sends the merchant's callbacks that wait after a failed attempt again. */
  requestRetry(merchantId: string, context: CommandContext) {
    return this.#executeOnEndpoint({ type: 'RequestRetry', merchantId, at: this.clock() }, context)
  }

  #executeOnEndpoint(command: EndpointCommand, context: CommandContext) {
    return handleCommand(this.store, endpointDecider, endpointStream(command.merchantId), command, context)
  }

  #execute(
    trackingId: string,
    command: Untimed<CallbackCommand>,
    context: CommandContext,
    options?: HandleOptions<Lane>,
  ) {
    const timed = { ...command, at: this.clock() }
    return handleCommand(this.store, callbackDecider, callbackStream(trackingId), timed, context, options)
  }
}

export type NamedCallback = { readonly trackingId: string; readonly webhookId: string }

/** A request to resend callbacks, by a caller who is allowed to see those of some merchants. */
export interface ResendRequest {
  readonly callbacks: readonly NamedCallback[]
  readonly sees: (merchantId: string) => boolean
  /** The rate is limited for a merchant and its users, and unlimited for the operator. */
  readonly by: 'merchant' | 'operator'
  /** Callers can {@link CallbackCommands.replay} the callbacks of a sandbox merchant. */
  readonly isSandbox: (merchantId: string) => boolean
  /** Counts callbacks that are replayed. Returns 0, or the seconds until as many are allowed. */
  readonly takeReplays: (merchantId: string, count: number) => number
}

/** The lanes are handled concurrently. The callbacks of a lane are handled one at a time, because they share a stream. */
const concurrency = 16

/**
 * Resends callbacks. `unknown`: one does not exist or is not visible, and nothing was done. `too-often`: all were resent just now. A repeat
 * after an error requeues none of them again, except for a sandbox merchant. @throws StoreUnavailableError, TooMuchContentionError
 */
export async function resendCallbacks(
  commands: CallbackCommands,
  { callbacks, sees, by, isSandbox, takeReplays }: ResendRequest,
  context: CommandContext,
) {
  const lanes = new Map<string, Set<string>>()
  for (const { trackingId, webhookId } of callbacks) {
    lanes.set(trackingId, (lanes.get(trackingId) ?? new Set()).add(webhookId))
  }
  const known = await inBatches([...lanes], async ([trackingId, wanted]) => {
    const { merchantId, deliveries } = await commands.lane(trackingId)
    const there = new Set(deliveries.map(({ webhookId }) => webhookId))
    const isKnown = merchantId !== null && sees(merchantId) && [...wanted].every((each) => there.has(each))
    return isKnown ? { trackingId, wanted, merchantId, replays: isSandbox(merchantId) } : undefined
  })
  const found = known.filter((lane) => lane !== undefined)
  if (found.length < known.length) return { accepted: false, reason: 'unknown' } as const
  const replayed = new Map<string, number>()
  for (const { merchantId, wanted, replays } of found)
    if (replays) replayed.set(merchantId, (replayed.get(merchantId) ?? 0) + wanted.size)
  const retryAfterSeconds = Math.max(0, ...[...replayed].map((each) => takeReplays(...each)))
  if (retryAfterSeconds > 0) return { accepted: false, reason: 'too-often', retryAfterSeconds } as const
  const waitSeconds: number[] = []
  const counts = await inBatches(found, async ({ trackingId, wanted, replays }) => {
    let requeued = 0
    for (const webhookId of wanted) {
      if (by === 'operator' && !replays) {
        const result = await commands.requeue(trackingId, { webhookId }, context)
        if (result.accepted) requeued += result.events.length
      } else {
        const send = replays ? 'replay' : 'resend'
        const result = await commands[send](trackingId, { webhookId }, context)
        if (result.accepted) requeued += result.count
        else if (result.retryAfterSeconds !== undefined) waitSeconds.push(result.retryAfterSeconds)
      }
    }
    return requeued
  })
  const requeued = counts.reduce((sum, each) => sum + each, 0)
  if (requeued > 0 || waitSeconds.length === 0) return { accepted: true, requeued } as const
  return { accepted: false, reason: 'too-often', retryAfterSeconds: Math.min(...waitSeconds) } as const
}

async function inBatches<Item, Result>(
  items: readonly Item[],
  act: (item: Item) => Promise<Result>,
): Promise<Result[]> {
  const results: Result[] = []
  for (let from = 0; from < items.length; from += concurrency) {
    results.push(...(await Promise.all(items.slice(from, from + concurrency).map(act))))
  }
  return results
}
