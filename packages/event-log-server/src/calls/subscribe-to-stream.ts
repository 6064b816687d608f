import type { ReadReq } from '@eventstore/db-client/generated/streams_pb.js'
import type { StreamStore } from '@transferd/event-log/streams'
import { followerView, type StreamView } from '@transferd/event-log/streams'
import { streamDeleted } from '../wire/call-error.js'
import { isMaxUint64, revisionOf } from '../wire/wire-values.js'
import { caughtUp, confirmation, pageEvents, type Reading } from './read-output.js'

/** A stream's events from behind a revision on, and then those that come, until the client goes or the stream ends. */
export async function subscribeToStream(
  store: StreamStore,
  { reader, outlet, signal, send }: Reading,
  stream: string,
  from: ReadReq.Options.StreamOptions,
): Promise<void> {
  const view = reader.view(stream)
  if (view.isTombstoned) throw streamDeleted(stream)
  const isFromEnd = from.hasEnd() || (from.hasRevision() && isMaxUint64(from.getRevision()))
  let next = isFromEnd ? view.current + 1 : from.hasStart() ? 0 : revisionOf(from.getRevision()) + 1
  outlet.write(confirmation())
  let hasCaughtUp = false
  if (isFromEnd) {
    hasCaughtUp = true
    outlet.write(caughtUp())
  }
  while (!signal.aborted) {
    const seen = reader.lastPosition()
    const now = reader.view(stream)
    const shown = hasCaughtUp ? followerView(now) : now
    for (;;) {
      const events = now.isMissing ? [] : reader.streamPage(shown, 'forwards', next, pageEvents)
      for (const event of events) if (!send(event) && !(await outlet.drained())) return
      const last = events.at(-1)
      if (last === undefined) break
      next = last.revision + 1
    }
    if (now.isTombstoned) {
      const end = reader.tombstone(stream)
      if (end !== undefined) send(end)
      throw streamDeleted(stream)
    }
    if (!hasCaughtUp && hasReachedEnd(now, next)) {
      hasCaughtUp = true
      next = Math.max(next, now.current + 1)
      outlet.write(caughtUp())
    }
    await store.activity.waitForEvent(stream, seen, signal)
  }
}

/** A stream that is not there yet, or not so far, has no end that could be reached. */
function hasReachedEnd({ isMissing, current }: StreamView, next: number): boolean {
  return !isMissing && next <= current + 1
}
