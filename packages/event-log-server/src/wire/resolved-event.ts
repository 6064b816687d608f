import type { LogReader, StoredEvent } from '@transferd/event-log/streams'

/** An event, and the link that led to it if there is one. An unresolvable link has no event. */
export interface ResolvedEvent {
  readonly event?: StoredEvent
  readonly link?: StoredEvent
}

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
