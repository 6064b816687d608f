import type { Logger } from 'pino'
import { appendUnlessChanged } from '../commands/write-contention.js'
import { maxListedStreams } from '../domain/service-events.js'
import { listedStreamsStream } from '../domain/streams.js'
import { encodeEvent } from '../event-store/event-codec.js'
import { type Place, ReadProgress } from '../event-store/event-location.js'
import type { EventStore, ExpectedRevision, Page } from '../event-store/event-store.js'
import { listedPrefixes, readStreamList, type StreamList } from '../event-store/stream-list.js'
import type { Clock } from '../kernel/clock.js'
import type { ReadModels } from '../read-models/read-models.js'
import { follow } from '../subscriptions/follow.js'
import { retryWhileUnavailable } from '../subscriptions/retry.js'
import { type Part, startUnderLease } from '../subscriptions/under-lease.js'

/** Of them each stands for ten thousand events of other streams, or holds some of listed ones: what a start reads at most. */
const pagesPerEvent = 10
/** New names that are written at once; what comes with the page that reaches it finds room as well. */
const streamsPerEvent = maxListedStreams / 2
const context = { actor: 'system:directory', $correlationId: listedStreamsStream, $causationId: listedStreamsStream }

export interface StreamListerDependencies {
  readonly store: EventStore
  readonly readModels: ReadModels
  readonly clock: Clock
  readonly logger: Logger
}

/** Keeps the list of streams (event-store/stream-list.ts) near the end of the log, in one process at a time, until it is stopped. */
export function startListingStreams(deps: StreamListerDependencies): Part {
  return startUnderLease(deps, 'stream-list', async ({ signal }) => {
    const onUnavailable = (err: Error, failures: number) =>
      deps.logger.warn({ err, failures }, 'a store is unavailable')
    const retry = { signal, onUnavailable }
    const list = await retryWhileUnavailable(() => readStreamList(deps.store), retry)
    if (list) await new StreamLister(deps, list).run(retry)
  })
}

class StreamLister {
  readonly #deps: StreamListerDependencies
  readonly #progress: ReadProgress
  readonly #listed: Set<string>
  readonly #from: StreamList
  #new = new Set<string>()
  #through: Place | undefined
  #revision: ExpectedRevision
  #pages = 0

  constructor(deps: StreamListerDependencies, list: StreamList) {
    this.#deps = deps
    this.#progress = new ReadProgress(deps.store, list.position)
    this.#from = list
    this.#listed = new Set(list.streams)
    this.#through = list.through
    this.#revision = list.revision
  }

  /** Ends, too, when another process has written: what that listed is to be read first. */
  async run({ signal, ...retry }: Pick<Parameters<typeof follow>[0], 'signal' | 'onUnavailable'>): Promise<void> {
    const ending = new AbortController()
    await follow({
      ...retry,
      store: this.#deps.store,
      after: this.#from.position,
      streamPrefixes: listedPrefixes,
      signal: AbortSignal.any([signal, ending.signal]),
      handle: async (page) => {
        if (!(await this.#take(page))) ending.abort()
      },
    })
  }

  /** A page may come again. False when another process has written. */
  async #take({ events, checkpoint }: Page): Promise<boolean> {
    for (const { stream } of events) if (!this.#listed.has(stream)) this.#new.add(stream)
    const through = checkpoint && (await this.#progress.advanceTo(checkpoint))
    this.#pages++
    const isDue = this.#pages >= pagesPerEvent || this.#new.size >= streamsPerEvent
    return through && isDue ? this.#write(through) : true
  }

  async #write(through: Place): Promise<boolean> {
    const { store, clock } = this.#deps
    const data = { after: this.#through ?? null, through, streams: [...this.#new], at: clock() }
    const event = encodeEvent({ type: 'StreamsListed', data }, context)
    const appended = await appendUnlessChanged(store, listedStreamsStream, this.#revision, event)
    if (!appended) return false
    this.#revision = appended.revision
    for (const stream of this.#new) this.#listed.add(stream)
    this.#new = new Set()
    this.#through = through
    this.#pages = 0
    return true
  }
}
