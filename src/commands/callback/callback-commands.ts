import {
  type AttemptOutcome,
  type CallbackCommand,
  callbackDecider,
  type Lane,
  type Requeued,
  requeued,
  resendableAtMs,
} from '../../domain/callback/callback-decider.js'
import type { CallbackEvent } from '../../domain/callback/callback-events.js'
import { endpointDecider } from '../../domain/callback/endpoint-decider.js'
import type { DataOf } from '../../domain/event.js'
import { callbackStream, endpointStream } from '../../domain/streams.js'
import type { EventMetadata } from '../../event-store/event-codec.js'
import type { EventStore, RecordedEvent } from '../../event-store/event-store.js'
import type { Clock } from '../../kernel/clock.js'
import { type CommandContext, type HandleOptions, handleCommand, type Loaded, loadStream } from '../handle-command.js'
import { derivedEventId } from '../ids.js'
import { type HistoryEntry, readHistory } from '../stream-history.js'

export type CallbackRequest = Omit<DataOf<CallbackEvent, 'CallbackRecorded'>, 'at'>

export interface Attempted {
  /** Which attempt of the callback it was, from 1, by what was known as it was sent. */
  readonly attempt: number
  readonly httpStatus: number | null
  readonly durationMs: number
  readonly outcome: AttemptOutcome
}

export interface LoadedLane extends Loaded<Lane> {
  readonly causes: ReadonlyMap<string, EventMetadata>
}

export type Resent =
  | { readonly accepted: true; readonly count: number }
  /** Without seconds: there is no such callback. */
  | { readonly accepted: false; readonly retryAfterSeconds?: number }

/** All that is done to callback deliveries. Every method may throw StoreUnavailableError or TooMuchContentionError. */
export class CallbackCommands {
  constructor(
    private readonly store: EventStore,
    private readonly clock: Clock,
  ) {}

  /** Records a delivery once, however often it is asked to: the event's id derives from the transfer event's. */
  record(request: CallbackRequest, context: CommandContext, loaded?: Loaded<Lane>) {
    const onceId = derivedEventId(request.webhookId, 'callback recorded')
    return this.#execute(request.trackingId, { type: 'Record', ...request, at: this.clock() }, context, {
      loaded,
      onceId,
    })
  }

  reportAttempt(
    trackingId: string,
    webhookId: string,
    attempted: Attempted,
    context: CommandContext,
    loaded?: Loaded<Lane>,
  ) {
    const command = { type: 'ReportAttempt', webhookId, ...attempted, at: this.clock() } as const
    return this.#execute(trackingId, command, context, { loaded })
  }

  /** By an operator. */
  requeue(trackingId: string, which: Requeued, context: CommandContext) {
    return this.#execute(trackingId, { type: 'Requeue', which, at: this.clock() }, context)
  }

  /** By a merchant: as above, but bounded. */
  async resend(trackingId: string, which: Requeued, context: CommandContext): Promise<Resent> {
    const at = this.clock()
    const result = await this.#execute(trackingId, { type: 'Resend', which, at }, context)
    if (result.accepted) return { accepted: true, count: result.events.length }
    if (result.refusal.reason === 'not-found') return { accepted: false }
    const freeAtMs = Math.min(...requeued(result.state, which).map(resendableAtMs))
    return { accepted: false, retryAfterSeconds: Math.ceil((freeAtMs - Date.parse(at)) / 1000) }
  }

  /** All that happened to a transfer's callbacks, oldest first. */
  history(trackingId: string): Promise<readonly HistoryEntry<CallbackEvent>[]> {
    return readHistory(this.store, callbackStream(trackingId))
  }

  async lane(trackingId: string): Promise<Lane> {
    return (await this.load(trackingId)).state
  }

  /**
   * The lane, and the revision at which a command may decide on it without reading it again; and by webhookId what is known about how
   * each callback came to be.
   */
  async load(trackingId: string): Promise<LoadedLane> {
    const causes = new Map<string, EventMetadata>()
    const onRead = ({ type, data, metadata }: RecordedEvent) => {
      if (type === 'CallbackRecorded') causes.set(String(data.webhookId), metadata as EventMetadata)
    }
    const loaded = await loadStream(this.store, callbackDecider, callbackStream(trackingId), { onRead })
    return { ...loaded, causes }
  }

  /** Since when (ISO 8601) the merchant's endpoint is known to fail; null while it answers. */
  async endpointFailingSince(merchantId: string): Promise<string | null> {
    return (await loadStream(this.store, endpointDecider, endpointStream(merchantId))).state.failingSince
  }

  noteEndpointFailing(merchantId: string, since: string, context: CommandContext) {
    const command = { type: 'NoteFailing', merchantId, since, at: this.clock() } as const
    return handleCommand(this.store, endpointDecider, endpointStream(merchantId), command, context)
  }

  noteEndpointRecovered(merchantId: string, context: CommandContext) {
    const command = { type: 'NoteRecovered', merchantId, at: this.clock() } as const
    return handleCommand(this.store, endpointDecider, endpointStream(merchantId), command, context)
  }

  #execute(trackingId: string, command: CallbackCommand, context: CommandContext, options?: HandleOptions<Lane>) {
    return handleCommand(this.store, callbackDecider, callbackStream(trackingId), command, context, options)
  }
}
