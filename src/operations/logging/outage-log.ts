import { StoreUnavailableError } from '../../event-store/event-store.js'
import { ReadModelsUnavailableError } from '../../read-models/read-models.js'

const reportEveryMs = 60_000
/** Longer than the longest time between two failures: a pause of 5 s, and a call that waits 10 s for a connection. */
const isOverAfterMs = 20_000

interface OutageLine {
  readonly msg: string
  /** The failures since the previous line. */
  readonly failures: number
}

interface Outage {
  readonly store: string
  readonly sinceMs: number
  lastMs: number
  reportedMs: number
  failures: number
}

/**
 * Replaces the failures of an unavailable store by a line when the outage begins, one a minute while it lasts, and one when nothing has
 * failed for 20 seconds. Without this, every request and every retry would log its own line.
 */
export class OutageLog {
  readonly #outages = new Map<string, Outage>()

  /** @param nowMs a clock that never goes back */
  constructor(private readonly nowMs: () => number = () => performance.now()) {}

  /** Returns the lines that replace this error's line, or `undefined` if the error is not an outage of a store. */
  linesFor(error: unknown): OutageLine[] | undefined {
    const store = storeOf(error)
    if (store === undefined) return undefined
    const nowMs = this.nowMs()
    const known = this.#outages.get(store)
    const outage = known ?? { store, sinceMs: nowMs, lastMs: nowMs, reportedMs: nowMs, failures: 0 }
    this.#outages.set(store, outage)
    outage.lastMs = nowMs
    outage.failures++
    if (!known) return [this.#line(outage, 'is unavailable')]
    return nowMs - outage.reportedMs >= reportEveryMs ? [this.#line(outage, 'is still unavailable')] : []
  }

  /** Returns a line for each outage that is over since the last call. */
  over(): OutageLine[] {
    const ended = [...this.#outages.values()].filter(({ lastMs }) => this.nowMs() - lastMs >= isOverAfterMs)
    return ended.map((outage) => {
      this.#outages.delete(outage.store)
      return this.#line(outage, `was unavailable for ${Math.round((outage.lastMs - outage.sinceMs) / 1_000)} s`)
    })
  }

  #line(outage: Outage, state: string): OutageLine {
    const line = { msg: `the ${outage.store} ${state}`, failures: outage.failures }
    outage.reportedMs = this.nowMs()
    outage.failures = 0
    return line
  }
}

function storeOf(error: unknown): string | undefined {
  if (error instanceof StoreUnavailableError) return 'event store'
  return error instanceof ReadModelsUnavailableError ? 'read model store' : undefined
}
