/**
 * What is traced of one request and of all that it causes, in whichever thread: HTTP, command, append, projection, callback. Off unless
 * a {@link Tracer} is installed in the thread, and then nothing here does more than look whether one is.
 */

/** Of W3C Trace Context; only of spans that are sampled. */
export interface TraceContext {
  readonly traceId: string
  readonly spanId: string
}

/** All that a span may tell. None is, or holds, a name, an account, an amount or a secret. */
export interface Attributes {
  readonly 'http.request.method'?: string
  /** The pattern. */
  readonly 'http.route'?: string
  readonly 'http.response.status_code'?: number
  /** The request's id, and the events' `$correlationId`. */
  readonly 'transferd.correlation_id'?: string
  readonly 'transferd.merchant_id'?: string
  readonly 'transferd.tracking_id'?: string
  /** How a stream's name begins; some go on with an account. */
  readonly 'transferd.stream_kind'?: string
  /** How many are appended. */
  readonly 'transferd.events'?: number
  readonly 'transferd.event_type'?: string
  readonly 'transferd.projection'?: string
  /** Whether a command was refused, and by which rule. */
  readonly 'transferd.refusal'?: string
  readonly 'transferd.callback.attempt'?: number
  readonly 'transferd.callback.outcome'?: string
  /** An error's class, never its message. */
  readonly 'error.type'?: string
}

export interface SpanStart {
  readonly name: string
  readonly kind?: 'server' | 'client' | 'producer' | 'consumer'
  readonly attributes?: Attributes
}

/** A span that outlives a call. */
export interface OpenSpan {
  /** Makes it the span that is around `work`. */
  enter<Result>(work: () => Result): Result
  end(attributes: Attributes, failed: boolean): void
}

export interface Tracer {
  /** `traceparent` as a caller sent it; the begin of a trace where it is none. */
  begin(start: SpanStart, traceparent: string | undefined): OpenSpan
  /** In a span around `work`; of `parent`, or of the span that is around the call. Without either `work` is run alone. */
  inSpan<Result>(start: SpanStart, parent: TraceContext | undefined, work: () => Promise<Result>): Promise<Result>
  /** A span that is over. Milliseconds since the epoch. */
  record(start: SpanStart, parent: TraceContext, beganMs: number, endedMs: number): void
  /** Of the span around the call. */
  current(): TraceContext | undefined
  /** Tells more of the span around the call. */
  annotate(attributes: Attributes): void
}

/** Each thread has its own. */
let tracer: Tracer | undefined

export function installTracer(installed: Tracer | undefined): void {
  tracer = installed
}

export function installedTracer(): Tracer | undefined {
  return tracer
}

/** A span below the one that is around the call, if there is one. */
export function inSpan<Result>(start: () => SpanStart, work: () => Promise<Result>): Promise<Result> {
  return tracer ? tracer.inSpan(start(), undefined, work) : work()
}

/** Any event as it was recorded. */
interface Caused {
  readonly type: string
  readonly metadata: { readonly [name: string]: unknown }
}

/** A span below what recorded the event, if that was traced. */
export function inSpanOf<Result>(
  caused: Pick<Caused, 'metadata'> | undefined,
  start: () => SpanStart,
  work: () => Promise<Result>,
): Promise<Result> {
  const parent = tracer && caused ? contextOf(caused) : undefined
  return tracer && parent ? tracer.inSpan(start(), parent, work) : work()
}

/** One span for each of the events, below what recorded it, of the time that `work` took for all of them. */
export async function inSpanOfEach(
  events: readonly Caused[],
  start: (event: Caused) => SpanStart,
  work: () => Promise<void>,
): Promise<void> {
  if (!tracer) return work()
  const beganMs = nowMs()
  await work()
  const endedMs = nowMs()
  for (const event of events) {
    const parent = contextOf(event)
    if (parent) tracer.record(start(event), parent, beganMs, endedMs)
  }
}

export function annotate(attributes: () => Attributes): void {
  tracer?.annotate(attributes())
}

const hex = { trace: /^[0-9a-f]{32}$/, span: /^[0-9a-f]{16}$/ }

/** Beside the correlation id, under the names of EventStoreDB's own clients; undefined where it was not traced. */
function contextOf({ metadata: { $traceId, $spanId } }: Pick<Caused, 'metadata'>): TraceContext | undefined {
  if (typeof $traceId !== 'string' || typeof $spanId !== 'string') return undefined
  return hex.trace.test($traceId) && hex.span.test($spanId) ? { traceId: $traceId, spanId: $spanId } : undefined
}

function nowMs(): number {
  return performance.timeOrigin + performance.now()
}
