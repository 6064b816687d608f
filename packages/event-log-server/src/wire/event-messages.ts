import type { ReadResp as PersistentReadResp } from '@eventstore/db-client/generated/persistent_pb.js'
import type { ReadResp } from '@eventstore/db-client/generated/streams_pb.js'
import type { LogReader, StoredEvent } from '@transferd/event-log/streams'
import { positionText } from '@transferd/event-log/streams'
import { persistent, streams } from './generated-protocol.js'
import { identifierOf, revisionText, uuidOf } from './wire-values.js'

/** An event as it was found, and the link it was found by. One of them is there. */
export interface ResolvedEvent {
  readonly event?: StoredEvent
  readonly link?: StoredEvent
}

const ticksPerMs = 10_000

/** The event a link points to. What is no link, or not well-formed, stands for itself; a link is followed once. */
export function resolve(
  event: StoredEvent,
  reader: LogReader,
  mayFollow: (stream: string) => boolean = () => true,
): ResolvedEvent {
  if (event.type !== '$>') return { event }
  const target = linkTarget(event.data)
  if (target === undefined) return { event }
  const isPlace = target.revision >= 0 && target.stream !== ''
  const found = isPlace && mayFollow(target.stream) ? reader.visible(target.stream, target.revision) : undefined
  return found === undefined ? { link: event } : { event: found, link: event }
}

function linkTarget(data: Uint8Array): { stream: string; revision: number } | undefined {
  const match = /^(-?\d{1,19})@(.*)$/s.exec(Buffer.from(data).toString())
  return match ? { revision: Number(match[1]), stream: match[2] ?? '' } : undefined
}

/** Where a reader goes on behind it: the link's place, if it was found by one. */
export function placeOfResolved({ event, link }: ResolvedEvent): StoredEvent {
  return (link ?? event)!
}

export function readResponse(resolved: ResolvedEvent, structuredIds: boolean): ReadResp {
  const read = new streams.ReadResp.ReadEvent()
  if (resolved.event) read.setEvent(fill(new streams.ReadResp.ReadEvent.RecordedEvent(), resolved.event, structuredIds))
  if (resolved.link) read.setLink(fill(new streams.ReadResp.ReadEvent.RecordedEvent(), resolved.link, structuredIds))
  read.setCommitPosition(positionText(placeOfResolved(resolved).position))
  return new streams.ReadResp().setEvent(read)
}

export function deliveryResponse(
  resolved: ResolvedEvent,
  retryCount: number,
  structuredIds: boolean,
): PersistentReadResp {
  const read = new persistent.ReadResp.ReadEvent()
  const { RecordedEvent } = persistent.ReadResp.ReadEvent
  if (resolved.event) read.setEvent(fill(new RecordedEvent(), resolved.event, structuredIds))
  if (resolved.link) read.setLink(fill(new RecordedEvent(), resolved.link, structuredIds))
  read.setCommitPosition(positionText(placeOfResolved(resolved).position))
  read.setRetryCount(retryCount)
  return new persistent.ReadResp().setEvent(read)
}

/** Both services have a message of their own for the same thing. */
function fill<Message extends ReadResp.ReadEvent.RecordedEvent | PersistentReadResp.ReadEvent.RecordedEvent>(
  message: Message,
  event: StoredEvent,
  structuredIds: boolean,
): Message {
  message.setId(uuidOf(event.id, structuredIds))
  message.setStreamIdentifier(identifierOf(event.stream))
  message.setStreamRevision(revisionText(event.revision))
  message.setCommitPosition(positionText(event.position))
  message.setPreparePosition(positionText(event.position))
  message.setData(event.data)
  message.setCustomMetadata(event.metadata)
  const metadata = message.getMetadataMap()
  metadata.set('type', event.type)
  metadata.set('created', `${event.recordedAtMs * ticksPerMs}`)
  metadata.set('content-type', event.isJson ? 'application/json' : 'application/octet-stream')
  return message
}
