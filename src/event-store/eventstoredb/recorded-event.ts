import type { UUID } from '@eventstore/db-client/generated/shared_pb.js'
import type { ReadResp } from '@eventstore/db-client/generated/streams_pb.js'
import { eventText, type JsonObject, type Position, type RecordedEvent } from '../event-store.js'

export type WireEvent = ReadResp.ReadEvent.RecordedEvent

/** The store counts time in ticks of 100 ns. */
const ticksPerMs = 10_000n

/** Converts an event to the port's form. Data that is not a JSON object, which other programs can write, becomes an empty object. */
export function toRecordedEvent(event: WireEvent): RecordedEvent {
  const attributes = event.getMetadataMap()
  const isJson = attributes.get('content-type') === 'application/json'
  const data = isJson ? parsed(event.getData_asU8()) : undefined
  const metadata = parsed(event.getCustomMetadata_asU8())
  const [id, type] = [idOf(event.getId()), attributes.get('type') ?? '']
  const recorded = {
    stream: Buffer.from(event.getStreamIdentifier()?.getStreamName_asU8() ?? []).toString('utf8'),
    revision: Number(event.getStreamRevision()),
    position: positionOf(event),
    id,
    type,
    data: data?.value ?? {},
    metadata: metadata?.value ?? {},
    recordedAtMs: Number(BigInt(attributes.get('created') ?? 0) / ticksPerMs),
    text: data && metadata && eventText(id, type, data.text, metadata.text),
  }
  if (recorded.text !== undefined) return recorded
  const names = [id, type, isJson ? 'json' : 'binary'].map((name) => Buffer.from(name))
  return { ...recorded, bytes: [...names, event.getData_asU8(), event.getCustomMetadata_asU8()] }
}

/** The prepare half of a checkpoint is 0 while a subscription catches up. 0 would precede the event, so the commit half replaces it. */
export function positionOf(position: Pick<WireEvent, 'getCommitPosition' | 'getPreparePosition'>): Position {
  const commit = BigInt(position.getCommitPosition())
  const prepare = BigInt(position.getPreparePosition())
  return { commit, prepare: prepare === 0n ? commit : prepare }
}

export function idOf(uuid: UUID | undefined): string {
  const structured = uuid?.getStructured()
  if (structured === undefined) return (uuid?.getString() ?? '').toLowerCase()
  const hex = bits(structured.getMostSignificantBits()) + bits(structured.getLeastSignificantBits())
  return `${hex.slice(0, 8)}-${hex.slice(8, 12)}-${hex.slice(12, 16)}-${hex.slice(16, 20)}-${hex.slice(20)}`
}

function bits(text: string): string {
  return BigInt.asUintN(64, BigInt(text)).toString(16).padStart(16, '0')
}

const strict = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true })

/** Returns a JSON object and its text, or `undefined` for other content. */
function parsed(bytes: Uint8Array): { readonly text: string; readonly value: JsonObject } | undefined {
  if (bytes.length === 0) return undefined
  try {
    const text = strict.decode(bytes)
    const value: unknown = JSON.parse(text)
    return value !== null && typeof value === 'object' && !Array.isArray(value)
      ? { text, value: value as JsonObject }
      : undefined
  } catch {
    return undefined
  }
}
