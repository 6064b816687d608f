import type { ReadReq } from '@eventstore/db-client/generated/streams_pb.js'
import type { StreamStore } from '@transferd/event-log/streams'
import { followerView, type StreamView } from '@transferd/event-log/streams'
import { streamDeleted } from '../wire/call-error.js'
import { isMaxUint64, parseRevision } from '../wire/wire-values.js'
import { caughtUp, confirmation, pageEvents, type ReadContext } from './read-context.js'

/** Sends a stream's events after a revision, and then new events until the client disconnects or the stream ends. */
export async function subscribeToStream(
  store: StreamStore,
  { reader, writer, signal, send }: ReadContext,
  stream: string,
  from: ReadReq.Options.StreamOptions,
): Promise<void> {
  const view = reader.view(stream)
  if (view.isTombstoned) throw streamDeleted(stream)
  const isFromEnd = from.hasEnd() || (from.hasRevision() && isMaxUint64(from.getRevision()))
  let next = isFromEnd ? view.current + 1 : from.hasStart() ? 0 : parseRevision(from.getRevision()) + 1
  writer.write(confirmation())
  let hasCaughtUp = isFromEnd
  if (hasCaughtUp) writer.write(caughtUp())
  while (!signal.aborted) {
    const seen = reader.lastPosition()
    const current = reader.view(stream)
    const visible = hasCaughtUp ? followerView(current) : current
    for (;;) {
      const events = current.isMissing ? [] : reader.streamPage(visible, 'forwards', next, pageEvents)
      for (const event of events) if (!send(event) && !(await writer.drained())) return
      const last = events.at(-1)
      if (last === undefined) break
      next = last.revision + 1
    }
    if (current.isTombstoned) {
      const tombstone = reader.tombstone(stream)
      if (tombstone !== undefined) send(tombstone)
      throw streamDeleted(stream)
    }
    if (!hasCaughtUp && hasReachedEnd(current, next)) {
      hasCaughtUp = true
      next = Math.max(next, current.current + 1)
      writer.write(caughtUp())
    }
    await store.activity.waitForEvent(stream, seen, signal)
  }
}

/** Returns whether the subscription has reached the end of the stream. A missing or shorter stream has no end to reach. */
function hasReachedEnd({ isMissing, current }: StreamView, next: number): boolean {
  return !isMissing && next <= current + 1
}
