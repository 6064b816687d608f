import { streamKind, streamPrefix } from '../domain/streams.js'
import { decorateStore } from '../event-store/decorate-store.js'
import type { Append, EventStore, NewEvent } from '../event-store/event-store.js'
import { type Attributes, inSpan, installedTracer } from './tracing.js'

/**
 * Returns a store that records a span around each append of a traced request. The metadata of the appended events names the span, so a
 * reader in another thread or node continues the trace.
 */
export function tracedStore(store: EventStore): EventStore {
  return decorateStore(store, {
    append: (stream, expectedRevision, events) =>
      inAppendSpan(stream, events.length, () => store.append(stream, expectedRevision, stamped(events))),
    appendInOrder: (appends, options) => {
      const count = appends.reduce((sum, { events }) => sum + events.length, 0)
      const traced = () => appends.map((append): Append => ({ ...append, events: stamped(append.events) }))
      return inAppendSpan(appends.at(-1)?.stream ?? '', count, () => store.appendInOrder(traced(), options))
    },
  })
}

function inAppendSpan<Result>(stream: string, events: number, work: () => Promise<Result>): Promise<Result> {
  const attributes = () => ({ ...streamAttributes(stream), 'transferd.events': events })
  return inSpan(() => ({ name: 'append', kind: 'producer', attributes: attributes() }), work)
}

function stamped(events: readonly NewEvent[]): readonly NewEvent[] {
  const context = installedTracer()?.current()
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
