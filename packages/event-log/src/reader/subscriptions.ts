import { setTimeout as sleep } from 'node:timers/promises'
import {
  type Page,
  type Position,
  type ReadAllOptions,
  type RecordedEvent,
  StreamDeletedError,
} from '../event-log-types.js'
import type { CommitWatcher } from './commit-watcher.js'
import { type LogReader, scanWindow } from './log-reader.js'
import type { StreamActivity } from './stream-activity.js'
import { completeRange, nextTurn, streamPages } from './stream-pages.js'

/** The pause after a page without matching events. It is well below the 100 ms within which subscribers see appends. */
const emptyPagePauseMs = 20

/** Yields the events of a stream from a revision until the signal aborts. @throws StreamDeletedError after the last event of a tombstoned stream */
export async function* followStream(
  { reader, activity }: { readonly reader: LogReader; readonly activity: StreamActivity },
  stream: string,
  fromRevision: number,
  signal: AbortSignal,
): AsyncGenerator<RecordedEvent> {
  let next = fromRevision
  while (!signal.aborted) {
    const seen = reader.lastPosition()
    // A tombstone has no event after it, so the events that are read now are the last ones.
    const { isTombstoned } = reader.view(stream)
    for await (const page of streamPages(reader, stream, completeRange({ fromRevision: next }))) {
      for (const event of page) {
        if (signal.aborted) return
        yield event
        next = event.revision + 1
      }
    }
    if (isTombstoned) throw new StreamDeletedError(stream)
    await activity.waitForEvent(stream, seen, signal)
  }
}

/** Yields the log in pages from a position until the signal aborts. */
export async function* followLog(
  { reader, commits }: { readonly reader: LogReader; readonly commits: CommitWatcher },
  from: Position | undefined,
  options: ReadAllOptions,
  signal: AbortSignal,
): AsyncGenerator<Page> {
  let after = from
  let hasReachedEnd = false
  let skipped = 0
  while (!signal.aborted) {
    await nextTurn()
    const page = reader.readAll(after === undefined ? options : { ...options, after })
    if (signal.aborted) return
    skipped += Number((page.checkpoint?.commit ?? 0n) - (after?.commit ?? 0n)) - page.events.length
    after = page.checkpoint
    // An empty page only moves the checkpoint past filtered events. Yield few of them: a subscriber that stores its
    // checkpoint in the log would otherwise wake itself forever.
    if (page.events.length > 0 || skipped >= scanWindow || (page.atEnd && !hasReachedEnd)) {
      skipped = 0
      hasReachedEnd ||= page.atEnd
      yield page
    }
    if (!page.atEnd) continue
    // Without the pause, every group commit would wake a reader of rare streams, which would cost as much as a reader of all.
    if (page.events.length === 0) await sleep(emptyPagePauseMs, undefined, { signal }).catch(() => undefined)
    await commits.waitForCommit(Number(after?.commit ?? 0n), signal)
  }
}
