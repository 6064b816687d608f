import { streamKind, streamPrefix } from '../domain/streams.js'
import type { Append, EventStore, NewEvent } from '../event-store/event-store.js'
import { type Attributes, inSpan, installedTracer } from './tracing.js'

/**
 * The same store, with a span around each append that a traced request makes. What is appended then names the span beside its
 * correlation id, so that whoever reads it, in another thread or node, goes on with the same trace.
 */
export function tracedStore(store: EventStore): EventStore {
  return {
    persistentSubscriptions: store.persistentSubscriptions,
    ...(store.appendsInOneTransaction && { appendsInOneTransaction: true }),
    readStream: (stream, options) => store.readStream(stream, options),
    readAll: (options) => store.readAll(options),
    subscribeToAll: (options) => store.subscribeToAll(options),
    close: () => store.close(),
    append: (stream, expectedRevision, events) =>
      inSpan(
        () => ({ name: 'append', kind: 'producer', attributes: appendAttributes(stream, events.length) }),
        () => store.append(stream, expectedRevision, stamped(events)),
      ),
    appendInOrder: (appends) =>
      inSpan(
        () => {
          const count = appends.reduce((sum, { events }) => sum + events.length, 0)
          const attributes = appendAttributes(appends.at(-1)?.stream ?? '', count)
          return { name: 'append', kind: 'producer', attributes }
        },
        () => store.appendInOrder(appends.map((append): Append => ({ ...append, events: stamped(append.events) }))),
      ),
  }
}

function stamped(events: readonly NewEvent[]): readonly NewEvent[] {
  const context = installedTracer()?.current()
  if (!context) return events
  const { traceId: $traceId, spanId: $spanId } = context
  return events.map((event) => ({ ...event, metadata: { ...event.metadata, $traceId, $spanId } }))
}

/** Streams that go on with a trackingId. */
const ofTransfers: readonly string[] = [streamPrefix.transfer, streamPrefix.callback, streamPrefix.payment]

function appendAttributes(stream: string, events: number): Attributes {
  return { ...streamAttributes(stream), 'transferd.events': events }
}

export function streamAttributes(stream: string): Attributes {
  const kind = streamKind(stream)
  return {
    'transferd.stream_kind': kind?.slice(0, -1) ?? 'other',
    ...(kind !== undefined && ofTransfers.includes(kind) && { 'transferd.tracking_id': stream.slice(kind.length) }),
  }
}
