import type { Logger } from 'pino'
import { appendUnlessChanged } from '../commands/handle-command.js'
import { maxListedStreams } from '../domain/service-events.js'
import { listedStreamsStream } from '../domain/streams.js'
import { encodeEvent } from '../event-store/event-codec.js'
import { type EventStore, firstEventIn, type Page, type Place } from '../event-store/event-store.js'
import { listedPrefixes, readStreamList, type StreamList } from '../event-store/stream-list.js'
import type { Clock } from '../kernel/time.js'
import type { ReadModels } from '../read-models/read-models.js'
import { follow } from '../subscriptions/follow.js'
import { type RetryOptions, retryWhileUnavailable } from '../subscriptions/retry.js'
import { type Part, startUnderLease } from '../subscriptions/under-lease.js'

/** A start reads at most this many pages after the list. Each covers ten thousand events of other streams or some of the listed ones. */
const pagesPerEvent = 10
/** Half of the maximum, so that the streams of the page that reaches it fit too. */
const streamsPerEvent = maxListedStreams / 2
const context = { actor: 'system:directory', $correlationId: listedStreamsStream, $causationId: listedStreamsStream }

interface Dependencies {
  readonly store: EventStore
  readonly readModels: ReadModels
  readonly clock: Clock
  readonly logger: Logger
}

/** Keeps the list of streams (event-store/stream-list.ts) near the end of the log, in one process at a time, until it is stopped. */
export function startListingStreams(deps: Dependencies): Part {
  return startUnderLease(deps, 'stream-list', async (_lease, retry) => {
    const list = await retryWhileUnavailable(() => readStreamList(deps.store), retry)
    if (list) await listStreams(deps, list, retry)
  })
}

/** Returns when the signal aborts, or when another process has extended the list, which must then be read again. */
async function listStreams({ store, clock }: Dependencies, list: StreamList, { signal, ...retry }: RetryOptions) {
  const listed = new Set(list.streams)
  const unlisted = new Set<string>()
  let { through, revision, position } = list
  let pages = 0
  const ending = new AbortController()

  const write = async ({ stream, revision: of }: Place) => {
    const place = { stream, revision: of }
    const data = { after: through ?? null, through: place, streams: [...unlisted], at: clock() }
    const event = encodeEvent({ type: 'StreamsListed', data }, context)
    const appended = await appendUnlessChanged(store, listedStreamsStream, revision, event)
    if (!appended) return ending.abort()
    revision = appended.revision
    for (const stream of unlisted) listed.add(stream)
    unlisted.clear()
    through = place
    pages = 0
  }
  /** Handles a page, which can be delivered twice. */
  const handle = async ({ events, checkpoint }: Page) => {
    for (const { stream } of events) if (!listed.has(stream)) unlisted.add(stream)
    // The place is an event of any stream, so that the list advances while no listed stream grows.
    const place = checkpoint && (await firstEventIn(store, { after: position, until: checkpoint }))
    position = checkpoint ?? position
    pages++
    if (place && (pages >= pagesPerEvent || unlisted.size >= streamsPerEvent)) await write(place)
  }
  await follow({
    ...retry,
    store,
    after: list.position,
    streamPrefixes: listedPrefixes,
    signal: AbortSignal.any([signal, ending.signal]),
    handle,
  })
}
