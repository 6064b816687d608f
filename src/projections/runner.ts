import type { Logger } from 'pino'
import { endOfLog } from '../event-store/end-of-log.js'
import type { Page } from '../event-store/event-store.js'
import type { RebuildDocument } from '../read-models/documents.js'
import type { Lease } from '../read-models/leases.js'
import { follow, readAnew } from '../subscriptions/follow.js'
import { pause, type RetryOptions, retryWhileUnavailable } from '../subscriptions/retry.js'
import { applyPage } from './apply-page.js'
import { Checkpoint, isOfThisLog, LeaseLostError, readCheckpoint } from './checkpoints.js'
import { type Projection, ProjectionError } from './projection.js'
import { dropLeftovers, Rebuild, type RebuildDependencies } from './rebuild/rebuild.js'
import { RebuildRequests } from './rebuild/rebuild-requests.js'

const lookForRequestsEveryMs = 1_000
const gatherMs = 25

export interface RunnerDependencies extends RebuildDependencies {
  readonly logger: Logger
}

/** Runs one projection while its lease lasts: follows the log, and rebuilds on request or when the documents are outdated. */
export class ProjectionRunner {
  readonly #lease: Lease
  readonly #ending = new AbortController()
  readonly #checkpoint: Checkpoint
  readonly #requests: RebuildRequests
  readonly #retry: RetryOptions
  readonly #logger: Logger
  /** The stored documents must be rebuilt before anything is added to them. */
  #outdated = false
  /** The event at which it is stopped. */
  #stoppedAt: ProjectionError['event'] | undefined
  #serving: { readonly stopping: AbortController; readonly ended: Promise<void> } | undefined

  constructor(
    private readonly deps: RunnerDependencies,
    private readonly projection: Projection,
    lease: Lease,
  ) {
    this.#lease = { token: lease.token, signal: AbortSignal.any([lease.signal, this.#ending.signal]) }
    this.#logger = deps.logger.child({ projection: projection.name })
    this.#checkpoint = new Checkpoint(deps.readModels, projection, lease.token, deps.clock)
    this.#requests = new RebuildRequests(deps.readModels, deps.clock)
    this.#retry = {
      signal: this.#lease.signal,
      onUnavailable: (error, failures) => this.#logger.warn({ err: error, failures }, 'a store is unavailable'),
    }
  }

  /** Ends with the lease. A failure is logged and recorded; the projection then is stopped until the event is passed over, or it is rebuilt. */
  async run(): Promise<void> {
    try {
      await retryWhileUnavailable(() => this.#prepare(), this.#retry)
      if (this.#outdated) {
        this.#logger.info('rebuilding, as the documents are not those this version would have built')
        await this.#renew()
      } else this.#serve()
      while (!this.#lease.signal.aborted) {
        const request = await retryWhileUnavailable(() => this.#requests.find(this.projection.name), this.#retry)
        if (request?.state === 'requested') await this.#answer(request)
        await retryWhileUnavailable(() => this.#goOn(), this.#retry)
        await pause(lookForRequestsEveryMs, this.#lease.signal)
      }
    } catch (error) {
      if (!(error instanceof LeaseLostError)) throw error
    } finally {
      await this.#stopServing()
    }
  }

  /** A rebuild where no service runs, unless one has answered the request before it ended. */
  async rebuildOnly({ _id, requestId }: RebuildDocument): Promise<void> {
    const request = await this.#requests.find(_id)
    if (request?.requestId !== requestId || request.state === 'done' || request.state === 'failed') return
    await dropLeftovers(this.deps.readModels, this.projection)
    await this.#checkpoint.load()
    await this.#attempt(request)
  }

  async #prepare(): Promise<void> {
    const { readModels, store } = this.deps
    const { name, version, collection, indexes } = this.projection
    await dropLeftovers(readModels, this.projection)
    await this.#failInterrupted(name)
    await this.#checkpoint.load()
    const stored = await readCheckpoint(readModels, name)
    const exists = (await readModels.listCollections()).includes(collection)
    this.#outdated = stored !== null && (stored.version !== version || !exists || !(await isOfThisLog(store, stored)))
    // Also on documents that are to be rebuilt: until the switch it is they that this version's questions are answered from.
    if (!this.#outdated || exists) await readModels.createIndexes(collection, indexes)
  }

  /** Not taken up again: nobody may be waiting for it still, and it might be what ended the holder before. */
  async #failInterrupted(name: string): Promise<void> {
    const last = await this.#requests.find(name)
    if (last?.state === 'running') await this.#requests.report(last, 'failed', { reason: 'it was interrupted' })
  }

  #serve(): void {
    this.#stoppedAt = undefined
    const stopping = new AbortController()
    const ended = follow({
      ...this.#retry,
      signal: AbortSignal.any([this.#lease.signal, stopping.signal]),
      store: this.deps.store,
      after: this.#checkpoint.position,
      streamPrefixes: this.projection.streamPrefixes,
      gatherMs,
      handle: (page) => this.#apply(page),
    }).catch((error) => this.#stop(error))
    this.#serving = { stopping, ended }
  }

  async #stopServing(): Promise<void> {
    this.#serving?.stopping.abort()
    await this.#serving?.ended
    this.#serving = undefined
  }

  async #apply(page: Page): Promise<void> {
    if (this.#lease.signal.aborted) return
    await applyPage(this.projection, this.deps.readModels.collection(this.projection.collection), page)
    if (page.checkpoint) await this.#checkpoint.reached(page.checkpoint, page.events.at(-1))
  }

  /** Stops at an event that cannot be applied: to skip it would be a silent hole in the documents. */
  async #stop(error: unknown): Promise<void> {
    try {
      if (error instanceof LeaseLostError) throw error
      this.#logger.error({ err: error }, 'the projection stopped; see docs/operating/projections.md')
      const event = error instanceof ProjectionError ? error.event : undefined
      await retryWhileUnavailable(() => this.#checkpoint.fail(event, reasonOf(error)), this.#retry)
      this.#stoppedAt = event
    } catch (lost) {
      this.#logger.warn({ err: lost }, 'the lease was lost')
      this.#ending.abort()
    }
  }

  /** Once a person has decided to pass over the event it is stopped at. */
  async #goOn(): Promise<void> {
    if (!this.#stoppedAt) return
    const { stream, revision: fromRevision } = this.#stoppedAt
    const [event] = await this.deps.store.readStream(stream, { fromRevision, maxCount: 1 })
    if (!event?.isPassedOver) return
    this.#logger.info({ event: `${stream}@${fromRevision}` }, 'going on, as the event is passed over')
    this.#stoppedAt = undefined
    await this.#stopServing()
    readAnew(this.deps.store)
    if (this.#outdated) await this.#renew()
    else this.#serve()
  }

  /** Nothing may be added to documents of another shape or another log. */
  async #renew(): Promise<void> {
    const request = await retryWhileUnavailable(() => this.#requests.put(this.projection.name), this.#retry)
    if (request) await this.#answer(request)
  }

  async #answer(request: RebuildDocument): Promise<void> {
    await this.#attempt(request)
    if (!this.#serving && !this.#outdated) this.#serve()
  }

  async #attempt(request: RebuildDocument): Promise<void> {
    try {
      await retryWhileUnavailable(() => this.#rebuild(request), this.#retry)
      this.#logger.info('rebuilt')
    } catch (error) {
      if (error instanceof LeaseLostError) throw error
      this.#logger.error({ err: error }, 'the rebuild failed; the old documents stay')
      // Nothing follows the log until it is rebuilt: it is stopped as one that serves would be.
      if (this.#outdated && error instanceof ProjectionError) await this.#stop(error)
      await retryWhileUnavailable(
        () => this.#requests.report(request, 'failed', { reason: reasonOf(error) }),
        this.#retry,
      )
    }
  }

  async #rebuild(request: RebuildDocument): Promise<void> {
    const rebuild = new Rebuild(this.deps, this.projection, this.#lease)
    try {
      await this.#requests.report(request, 'running', { end: await endOfLog(this.deps.store) })
      await rebuild.build((position) => this.#requests.report(request, 'running', { position }))
      await this.#stopServing()
      await rebuild.switchOver(this.#checkpoint)
      this.#outdated = false
    } catch (error) {
      if (!(error instanceof LeaseLostError)) await rebuild.abandon()
      throw error
    }
    await this.#requests.report(request, 'done', { position: rebuild.position })
  }
}

function reasonOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error)
}
