import type { ReadResp as PersistentReadResp } from '@eventstore/db-client/generated/persistent_pb.js'
import type { ReadResp } from '@eventstore/db-client/generated/streams_pb.js'
import type { LogReader, StoredEvent } from '@transferd/event-log/streams'
import { positionText } from '@transferd/event-log/streams'
import { persistent, streams } from './generated-protocol.js'
import { revisionText, setPosition, streamIdentifier, toUuid } from './wire-values.js'

/** An event, and the link that led to it if there is one. An unresolvable link has no event. */
export interface ResolvedEvent {
  readonly event?: StoredEvent
  readonly link?: StoredEvent
}

const ticksPerMs = 10_000

/** Follows a link once. An event that is not a well-formed link resolves to itself. */
export function resolve(
  event: StoredEvent,
  reader: LogReader,
  canFollow: (stream: string) => boolean = () => true,
): ResolvedEvent {
  const target = event.type === '$>' ? parseLink(event.data) : undefined
  if (target === undefined) return { event }
  const { stream, revision } = target
  const found = revision >= 0 && stream !== '' && canFollow(stream) ? reader.visible(stream, revision) : undefined
  return found === undefined ? { link: event } : { event: found, link: event }
}

function parseLink(data: Uint8Array): { stream: string; revision: number } | undefined {
  const match = /^(-?\d{1,19})@(.*)$/s.exec(Buffer.from(data).toString())
  return match ? { revision: Number(match[1]), stream: match[2] ?? '' } : undefined
}

/** Returns the event in the stream that was read, which is the link if the event was found through one. */
export function linkOrEvent({ event, link }: ResolvedEvent): StoredEvent {
  return (link ?? event)!
}

export function readResponse(resolved: ResolvedEvent, structuredIds: boolean): ReadResp {
  const { ReadEvent } = streams.ReadResp
  const read = new ReadEvent()
  if (resolved.event) read.setEvent(fill(new ReadEvent.RecordedEvent(), resolved.event, structuredIds))
  if (resolved.link) read.setLink(fill(new ReadEvent.RecordedEvent(), resolved.link, structuredIds))
  read.setCommitPosition(positionText(linkOrEvent(resolved).position))
  return new streams.ReadResp().setEvent(read)
}

export function deliveryResponse(
  resolved: ResolvedEvent,
  retryCount: number,
  structuredIds: boolean,
): PersistentReadResp {
  const { ReadEvent } = persistent.ReadResp
  const read = new ReadEvent().setRetryCount(retryCount)
  if (resolved.event) read.setEvent(fill(new ReadEvent.RecordedEvent(), resolved.event, structuredIds))
  if (resolved.link) read.setLink(fill(new ReadEvent.RecordedEvent(), resolved.link, structuredIds))
  read.setCommitPosition(positionText(linkOrEvent(resolved).position))
  return new persistent.ReadResp().setEvent(read)
}

/** Fills a message that both services define separately. */
function fill<Message extends ReadResp.ReadEvent.RecordedEvent | PersistentReadResp.ReadEvent.RecordedEvent>(
  message: Message,
  event: StoredEvent,
  structuredIds: boolean,
): Message {
  message.setId(toUuid(event.id, structuredIds))
  message.setStreamIdentifier(streamIdentifier(event.stream))
  message.setStreamRevision(revisionText(event.revision))
  setPosition(message, event.position)
  message.setData(event.data)
  message.setCustomMetadata(event.metadata)
  const metadata = message.getMetadataMap()
  metadata.set('type', event.type)
  metadata.set('created', `${event.recordedAtMs * ticksPerMs}`)
  metadata.set('content-type', event.isJson ? 'application/json' : 'application/octet-stream')
  return message
}
