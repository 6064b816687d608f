import { setMaxListeners } from 'node:events'
import type { CallbackCommands } from '../commands/callback/callback-commands.js'
import type { CallbackEvent, Delivery } from '../domain/callback.js'
import type { DataOf } from '../domain/event.js'
import { streamPrefix } from '../domain/streams.js'
import {
  comparePositions,
  type EventStore,
  endOfLog,
  logPages,
  type Page,
  type Position,
} from '../event-store/event-store.js'
import { readableEvent } from '../event-store/read-event.js'
import { type Clock, leftOfWaitMs } from '../kernel/time.js'
import { follow } from '../subscriptions/follow.js'
import { pause, type RetryOptions, retryWhileUnavailable } from '../subscriptions/retry.js'

const streamPrefixes = [streamPrefix.callback]
/** After a longer interruption, a listener continues at the end of the log. */
const maxPagesOfResume = 20
/** The most delayed callbacks in memory. Until one of them is due, the listener reads no further. */
const maxDelayed = 1_000
/** The longest pause before the clock is read again, because it can be set. */
const maxPauseMs = 1_000
/** The actor of the service's own retries. */
const serviceActor = 'system:callbacks'

/** A message to a listener. Messages are in the order of the log, except for delayed callbacks. */
export type ListenedCallback =
  | {
      readonly kind: 'callback'
      readonly trackingId: string
      readonly delivery: Pick<Delivery, 'webhookId' | 'transferRevision' | 'payload'>
      readonly recordedAt: string
      readonly isResent: boolean
    }
  | {
      readonly kind: 'attempt'
      readonly data: {
        readonly webhookId: string
        readonly trackingId: string
        readonly at: string
        readonly result: 'delivered' | 'failed' | 'parked'
        readonly httpStatus: number | null
        readonly durationMs: number
        readonly reason: string | null
        readonly nextAttemptAt: string | null
      }
    }
  /** The log has grown by too much since the listener left. */
  | { readonly kind: 'skipped' }

interface CallbackListenerOptions extends Pick<RetryOptions, 'signal' | 'onUnavailable'> {
  readonly store: EventStore
  readonly callbacks: Pick<CallbackCommands, 'lane'>
  readonly clock: Clock
  readonly merchantId: string
  /** The end of the log; `undefined` if it is empty. */
  readonly end: Position | undefined
  /** The position from which to resume; defaults to the end. */
  readonly after: Position | undefined
  /** Sends one message. It calls `settle` in the turn in which it writes: from then on, {@link CallbackListener.resumesFrom} includes the message. */
  readonly send: (heard: ListenedCallback, settle: () => void) => Promise<void>
}

interface Delayed {
  readonly webhookId: string
  /** The position before the event. */
  readonly before: Position | undefined
  readonly sent: Promise<void>
}

/** Follows the callbacks of one merchant in the log, as they are recorded, resent and attempted. */
export class CallbackListener {
  /** The position up to which every event is sent or delayed. */
  #through: Position | undefined
  /** In the order of the log. */
  #delayed: readonly Delayed[] = []
  #fail: (error: unknown) => void = () => undefined

  constructor(private readonly options: CallbackListenerOptions) {
    this.#through = options.after ?? options.end
    setMaxListeners(0, options.signal)
  }

  /** The position after which a listener that leaves now resumes without missing a message. */
  get resumesFrom(): Position | undefined {
    return this.#delayed[0] ? this.#delayed[0].before : this.#through
  }

  /** Sends until the signal aborts. @throws errors of `send` and unexpected ones of the store */
  async run(): Promise<void> {
    const failed = new Promise<never>((_, reject) => {
      this.#fail = reject
    })
    await Promise.race([this.#catchUpAndFollow(), failed])
  }

  async #catchUpAndFollow(): Promise<void> {
    const { store, signal, onUnavailable, after } = this.options
    if (after && !(await this.#catchUp(after))) await this.#skip()
    const handle = ({ events, checkpoint }: Page) => this.#take(events, checkpoint)
    await follow({ store, after: this.#through, streamPrefixes, signal, onUnavailable, handle })
  }

  /** Returns false if the interruption was too long, or the position is missing from the log, as after a restore. */
  async #catchUp(after: Position): Promise<boolean> {
    const { store, end, signal } = this.options
    if (!end || comparePositions(after, end) > 0) return false
    let pages = 0
    const resume = async () => {
      for await (const page of logPages(store, { after: this.#through, streamPrefixes })) {
        await this.#take(page.events, page.through)
        if (page.atEnd || signal.aborted) return true
        if (++pages === maxPagesOfResume) return false
      }
      return true
    }
    return (await retryWhileUnavailable(resume, this.options)) ?? true
  }

  async #skip(): Promise<void> {
    const end = await retryWhileUnavailable(() => endOfLog(this.options.store), this.options)
    await this.options.send({ kind: 'skipped' }, () => {
      this.#through = end
    })
  }

  async #take(events: Page['events'], through: Position | undefined): Promise<void> {
    for (const recorded of events) {
      // A page is delivered again if the log was unavailable while it was handled.
      const isKnown = this.#through && comparePositions(recorded.position, this.#through) <= 0
      if (isKnown || recorded.data.merchantId !== this.options.merchantId) continue
      const event = readableEvent(recorded) as CallbackEvent | undefined
      if (event) await this.#handle(event, recorded.position, recorded.metadata.actor === serviceActor)
      if (this.options.signal.aborted) return
      this.#through = recorded.position
    }
    if (through) this.#through = through
  }

  async #handle(event: CallbackEvent, position: Position, isOfService: boolean): Promise<void> {
    const settle = () => {
      this.#through = position
    }
    switch (event.type) {
      case 'CallbackRecorded':
        if (this.#waitMs(event.data) > 0) return this.#delay(event.data)
        return this.options.send(recordedOf(event.data), settle)
      case 'CallbackRequeued': {
        if (isOfService) return
        const { trackingId, webhookId } = event.data
        const { deliveries } = await this.options.callbacks.lane(trackingId)
        const delivery = deliveries.find((each) => each.webhookId === webhookId)
        if (!delivery) return
        const heard = {
          kind: 'callback',
          trackingId,
          delivery,
          recordedAt: delivery.recordedAt,
          isResent: true,
        } as const
        return this.options.send(heard, () => {
          settle()
          // The request ended the delay.
          this.#delayed = this.#delayed.filter((each) => each.webhookId !== webhookId)
        })
      }
      case 'CallbackDelivered':
      case 'CallbackAttemptFailed':
      case 'CallbackParked':
        return this.options.send({ kind: 'attempt', data: attemptOf(event) }, settle)
      default:
        return event satisfies never
    }
  }

  #waitMs({ at, dueAt = at }: Recorded): number {
    const [sinceMs, untilMs, nowMs] = [at, dueAt, this.options.clock()].map(Date.parse)
    return leftOfWaitMs(sinceMs!, untilMs!, nowMs!)
  }

  async #delay(data: Recorded): Promise<void> {
    if (this.#delayed.length >= maxDelayed) await Promise.race(this.#delayed.map(({ sent }) => sent))
    const { webhookId } = data
    const sent = this.#sendWhenDue(data).catch((error) => this.#fail(error))
    this.#delayed = [...this.#delayed, { webhookId, before: this.#through, sent }]
  }

  async #sendWhenDue(data: Recorded): Promise<void> {
    const { signal, send } = this.options
    const isDelayed = () => this.#delayed.some((each) => each.webhookId === data.webhookId)
    do await pause(Math.min(this.#waitMs(data), maxPauseMs), signal)
    while (this.#waitMs(data) > 0 && isDelayed() && !signal.aborted)
    const settle = () => {
      this.#delayed = this.#delayed.filter((each) => each.webhookId !== data.webhookId)
    }
    if (isDelayed()) await retryWhileUnavailable(() => send(recordedOf(data), settle), this.options)
  }
}

type Recorded = DataOf<CallbackEvent, 'CallbackRecorded'>

function recordedOf({ trackingId, webhookId, transferRevision, payload, at: recordedAt }: Recorded): ListenedCallback {
  const delivery = { webhookId, transferRevision, payload }
  return { kind: 'callback', trackingId, delivery, recordedAt, isResent: false }
}

const results = {
  CallbackDelivered: 'delivered',
  CallbackAttemptFailed: 'failed',
  CallbackParked: 'parked',
} as const

function attemptOf({ type, data }: Extract<CallbackEvent, { readonly type: keyof typeof results }>) {
  const { webhookId, trackingId, at, httpStatus, durationMs } = data
  const reason = 'reason' in data ? data.reason : null
  const nextAttemptAt = 'nextAttemptAt' in data ? data.nextAttemptAt : null
  return { webhookId, trackingId, at, result: results[type], httpStatus, durationMs, reason, nextAttemptAt }
}
