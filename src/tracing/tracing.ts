import { streamKind, streamPrefix } from '../domain/streams.js'
import type { Append, EventStore, NewEvent } from '../event-store/event-store.js'

/** Traces a request and everything that it causes, in any thread. Without an installed {@link Tracer}, these functions do nothing. */

/** The ids of a sampled span (W3C Trace Context). */
export type TraceContext = { readonly traceId: string; readonly spanId: string }

/** All attributes that a span can have. None contains a name, an account, an amount or a secret. */
export interface Attributes {
  readonly 'http.request.method'?: string
  readonly 'http.route'?: string
  readonly 'http.response.status_code'?: number
  /** The id of the request, which is the events' `$correlationId`. */
  readonly 'transferd.correlation_id'?: string
  readonly 'transferd.merchant_id'?: string
  readonly 'transferd.tracking_id'?: string
  /** The prefix of the stream's name. The rest may be an account. */
  readonly 'transferd.stream_kind'?: string
  readonly 'transferd.events'?: number
  readonly 'transferd.event_type'?: string
  readonly 'transferd.projection'?: string
  readonly 'transferd.refusal'?: string
  readonly 'transferd.callback.attempt'?: number
  readonly 'transferd.callback.outcome'?: string
  /** The class of the error, never its message. */
  readonly 'error.type'?: string
}

export interface SpanStart {
  readonly name: string
  readonly kind?: 'server' | 'client' | 'producer' | 'consumer'
  readonly attributes?: Attributes
}

export interface OpenSpan {
  enter<Result>(work: () => Result): Result
  end(attributes: Attributes, failed: boolean): void
}

export interface Tracer {
  /** Starts a span below the caller's `traceparent`, or a new trace if it is not valid. */
  start(start: SpanStart, traceparent: string | undefined): OpenSpan
  /** Runs `work` in a span below `parent`, or below the current span. Without either, it runs `work` without a span. */
  inSpan<Result>(start: SpanStart, parent: TraceContext | undefined, work: () => Promise<Result>): Promise<Result>
  /** Records a span that has ended. The times are milliseconds since the epoch. */
  record(start: SpanStart, parent: TraceContext, startedMs: number, endedMs: number): void
  current(): TraceContext | undefined
  annotate(attributes: Attributes): void
}

let tracer: Tracer | undefined

export function installTracer(installed: Tracer | undefined): void {
  tracer = installed
}

export const installedTracer = (): Tracer | undefined => tracer

export function inSpan<Result>(start: () => SpanStart, work: () => Promise<Result>): Promise<Result> {
  return tracer ? tracer.inSpan(start(), undefined, work) : work()
}

type Caused = { readonly type: string; readonly metadata: { readonly [name: string]: unknown } }

/** Runs `work` in a span below the one that recorded the event, if it was traced. */
export function inSpanOf<Result>(
  caused: Pick<Caused, 'metadata'> | undefined,
  start: () => SpanStart,
  work: () => Promise<Result>,
): Promise<Result> {
  const parent = tracer && caused ? traceContextOf(caused) : undefined
  return tracer && parent ? tracer.inSpan(start(), parent, work) : work()
}

/** Records one span per event, below the span that recorded it. Each lasts as long as `work` took for all events. */
export async function inSpanOfEach(
  events: readonly Caused[],
  start: (event: Caused) => SpanStart,
  work: () => Promise<void>,
): Promise<void> {
  if (!tracer) return work()
  const startedMs = nowMs()
  await work()
  const endedMs = nowMs()
  for (const event of events) {
    const parent = traceContextOf(event)
    if (parent) tracer.record(start(event), parent, startedMs, endedMs)
  }
}

export function annotate(attributes: () => Attributes): void {
  tracer?.annotate(attributes())
}

const hex = { trace: /^[0-9a-f]{32}$/, span: /^[0-9a-f]{16}$/ }

/** Returns the span in the event's metadata, under the names of EventStoreDB's own clients, or `undefined` if it was not traced. */
function traceContextOf({ metadata: { $traceId, $spanId } }: Pick<Caused, 'metadata'>): TraceContext | undefined {
  if (typeof $traceId !== 'string' || typeof $spanId !== 'string') return undefined
  return hex.trace.test($traceId) && hex.span.test($spanId) ? { traceId: $traceId, spanId: $spanId } : undefined
}

const nowMs = (): number => performance.timeOrigin + performance.now()
const maxLabelValues = 50

/** Limits the values of a metric label that clients choose: the first fifty have their own series while the process runs, all others share one. */
export class BoundedLabel {
  readonly #own = new Set<string>()

  of(value: string): string {
    if (this.#own.has(value)) return value
    if (this.#own.size === maxLabelValues) return 'other'
    this.#own.add(value)
    return value
  }
}

/** Records a span around each append. The metadata of the events names it, so that a reader in another thread continues the trace. */
export function tracedStore(store: EventStore): EventStore {
  return {
    ...store,
    append: (stream, expectedRevision, events) =>
      inAppendSpan(stream, events.length, () => store.append(stream, expectedRevision, stamped(events))),
    appendInOrder: (appends, options) => {
      const count = appends.reduce((sum, { events }) => sum + events.length, 0)
      const traced = () => appends.map((append): Append => ({ ...append, events: stamped(append.events) }))
      return inAppendSpan(appends.at(-1)?.stream ?? '', count, () => store.appendInOrder(traced(), options))
    },
  }
}

function inAppendSpan<Result>(stream: string, events: number, work: () => Promise<Result>): Promise<Result> {
  const attributes = () => ({ ...streamAttributes(stream), 'transferd.events': events })
  return inSpan(() => ({ name: 'append', kind: 'producer', attributes: attributes() }), work)
}

function stamped(events: readonly NewEvent[]): readonly NewEvent[] {
  const context = tracer?.current()
  if (!context) return events
  const { traceId: $traceId, spanId: $spanId } = context
  return events.map((event) => ({ ...event, metadata: { ...event.metadata, $traceId, $spanId } }))
}

/** The prefixes of streams whose names end with a trackingId. */
const ofTransfers: readonly string[] = [streamPrefix.transfer, streamPrefix.callback, streamPrefix.payment]

export function streamAttributes(stream: string): Attributes {
  const kind = streamKind(stream)
  return {
    'transferd.stream_kind': kind?.slice(0, -1) ?? 'other',
    ...(kind !== undefined && ofTransfers.includes(kind) && { 'transferd.tracking_id': stream.slice(kind.length) }),
  }
}
