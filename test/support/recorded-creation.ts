import { randomUUID } from 'node:crypto'
import { transferStream } from '../../src/domain/streams.js'
import type { DomainEvent } from '../../src/event-store/event-codec.js'
import { encodeEvent } from '../../src/event-store/event-codec.js'
import type { RecordedEvent } from '../../src/event-store/event-store.js'
import { depositCreated } from '../domain/transfer-samples.js'

const context = { actor: 'merchant', $correlationId: randomUUID(), $causationId: randomUUID() }

/** Returns the creation of a deposit as a log parses it: whose texts no other event shares, at the position `n`. */
export function recordedCreation(
  n: number,
  metadata: { readonly [key: string]: string } | null,
  trackingId: string = randomUUID(),
): RecordedEvent {
  return recorded(n, {
    ...depositCreated,
    data: { ...depositCreated.data, trackingId, metadata, callbackOnCreate: true },
  })
}

export function recorded(
  n: number,
  event: DomainEvent & { data: { trackingId: string } },
  revision = 0,
): RecordedEvent {
  const { id, type, data, metadata } = encodeEvent(event, context)
  const text = JSON.stringify([id, type, data, metadata])
  const parsed = JSON.parse(text)
  return {
    ...{ id: parsed[0], type: parsed[1], data: parsed[2], metadata: parsed[3], text },
    ...{ stream: transferStream(event.data.trackingId), revision, recordedAtMs: Date.now() },
    position: { commit: BigInt(n), prepare: BigInt(n) },
  }
}
