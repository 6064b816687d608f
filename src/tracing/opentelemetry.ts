import { AsyncLocalStorage } from 'node:async_hooks'
import {
  type Context,
  DiagLogLevel,
  diag,
  ROOT_CONTEXT,
  type Span,
  SpanKind,
  SpanStatusCode,
  TraceFlags,
  trace,
} from '@opentelemetry/api'
import { OTLPTraceExporter } from '@opentelemetry/exporter-trace-otlp-http'
import { detectResources, envDetector, resourceFromAttributes } from '@opentelemetry/resources'
import { BasicTracerProvider, BatchSpanProcessor } from '@opentelemetry/sdk-trace-base'
import type { Attributes, OpenSpan, SpanStart, TraceContext, Tracer } from './tracing.js'

const flushWithinMs = 3_000
const problemEveryMs = 60_000
const kinds = {
  server: SpanKind.SERVER,
  client: SpanKind.CLIENT,
  producer: SpanKind.PRODUCER,
  consumer: SpanKind.CONSUMER,
} as const

interface OpenTelemetry extends Tracer {
  /** Sends the remaining spans, for at most a few seconds. */
  close(): Promise<void>
}

/** Sends spans to the collector of the OTEL_ variables, or drops them. `onProblem` receives the reason, at most once a minute. */
export function openTelemetry(
  resource: { readonly version: string; readonly instanceId: string },
  onProblem: (reason: string) => void,
): OpenTelemetry {
  let reportedAtMs = Number.NEGATIVE_INFINITY
  const error = (message: string) => {
    if (performance.now() - reportedAtMs < problemEveryMs) return
    reportedAtMs = performance.now()
    onProblem(reasonOf(message))
  }
  const silent = () => undefined
  diag.setLogger({ error, warn: silent, info: silent, debug: silent, verbose: silent }, DiagLogLevel.ERROR)
  const own = resourceFromAttributes({
    'service.name': 'transferd',
    'service.version': resource.version,
    'service.instance.id': resource.instanceId,
  })
  const provider = new BasicTracerProvider({
    resource: own.merge(detectResources({ detectors: [envDetector] })),
    spanProcessors: [new BatchSpanProcessor(new OTLPTraceExporter())],
  })
  const spans = new Spans(provider.getTracer('transferd', resource.version))
  return Object.assign(spans, {
    async close() {
      const late = new Promise<void>((resolve) => setTimeout(resolve, flushWithinMs).unref())
      await Promise.race([provider.shutdown().catch(silent), late])
    },
  })
}

class Spans implements Tracer {
  /** Replaces the context manager of the packages, which is global. */
  readonly #around = new AsyncLocalStorage<Context>()

  constructor(private readonly tracer: ReturnType<BasicTracerProvider['getTracer']>) {}

  start(start: SpanStart, traceparent: string | undefined): OpenSpan {
    const span = this.#started(start, remote(parsed(traceparent)))
    const inside = trace.setSpan(ROOT_CONTEXT, span)
    return {
      enter: (work) => this.#around.run(inside, work),
      end(attributes, failed) {
        span.setAttributes({ ...attributes })
        if (failed) span.setStatus({ code: SpanStatusCode.ERROR })
        span.end()
      },
    }
  }

  async inSpan<Result>(
    start: SpanStart,
    parent: TraceContext | undefined,
    work: () => Promise<Result>,
  ): Promise<Result> {
    const around = parent ? remote({ ...parent, traceFlags: TraceFlags.SAMPLED }) : this.#around.getStore()
    if (around === undefined) return work()
    const span = this.#started(start, around)
    try {
      return await this.#around.run(trace.setSpan(around, span), work)
    } catch (error) {
      // Never the message, which may quote the request.
      span.setAttribute('error.type', error instanceof Error ? error.name : 'unknown')
      span.setStatus({ code: SpanStatusCode.ERROR })
      throw error
    } finally {
      span.end()
    }
  }

  record(start: SpanStart, parent: TraceContext, startedMs: number, endedMs: number): void {
    this.#started(start, remote({ ...parent, traceFlags: TraceFlags.SAMPLED }), startedMs).end(endedMs)
  }

  current(): TraceContext | undefined {
    const found = this.#span()?.spanContext()
    if (!found || (found.traceFlags & TraceFlags.SAMPLED) === 0) return undefined
    return { traceId: found.traceId, spanId: found.spanId }
  }

  annotate(attributes: Attributes): void {
    this.#span()?.setAttributes({ ...attributes })
  }

  #span(): Span | undefined {
    const around = this.#around.getStore()
    return around && trace.getSpan(around)
  }

  #started({ name, kind, attributes = {} }: SpanStart, around: Context, startTime?: number): Span {
    const options = { kind: kind ? kinds[kind] : SpanKind.INTERNAL, attributes: { ...attributes } }
    return this.tracer.startSpan(name, { ...options, ...(startTime !== undefined && { startTime }) }, around)
  }
}

interface RemoteContext extends TraceContext {
  readonly traceFlags: number
}

function remote(parent: RemoteContext | undefined): Context {
  return parent ? trace.setSpanContext(ROOT_CONTEXT, { ...parent, isRemote: true }) : ROOT_CONTEXT
}

const traceparentForm = /^(?!ff)[0-9a-f]{2}-(?!0{32})([0-9a-f]{32})-(?!0{16})([0-9a-f]{16})-([0-9a-f]{2})(?:-.*)?$/

/** Parses a header of W3C Trace Context. Returns `undefined` if it is invalid, which starts a new trace. */
function parsed(traceparent: string | undefined): RemoteContext | undefined {
  const [, traceId, spanId, flags] = traceparentForm.exec(traceparent ?? '') ?? []
  if (traceId === undefined || spanId === undefined || flags === undefined) return undefined
  return { traceId, spanId, traceFlags: Number.parseInt(flags, 16) & TraceFlags.SAMPLED }
}

/** Returns only a code, because the library's text contains stacks and may contain headers. */
function reasonOf(message: string): string {
  return /"code":"?([A-Z0-9_]{1,40})/.exec(message)?.[1] ?? 'the collector rejected the spans'
}
