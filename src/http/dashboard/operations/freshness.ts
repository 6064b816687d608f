import type { Clock } from '../../../kernel/time.js'
import type { HttpServices } from '../../services.js'

/** Lists are out of date from this lag on, because a shorter one is normal under load. */
const staleAfterMs = 5_000
const knownForMs = 1_000
const sampleEveryMs = 60_000
const maxSamples = 60

interface LagSample {
  readonly at: string
  /** Null if the projection is stopped with nothing to apply. */
  readonly lagMs: number | null
}

/** Measures the age of lists: which projections are stopped or behind, and the lag of each over the last hour. */
export class Freshness {
  readonly #samples = new Map<string, LagSample[]>()
  #known: { readonly until: number; readonly lags: ReturnType<HttpServices['projectionLags']> } | undefined
  readonly #timer: NodeJS.Timeout

  constructor(
    private readonly lagsNow: HttpServices['projectionLags'],
    private readonly clock: Clock,
  ) {
    // A store that is unavailable leaves a gap.
    this.#timer = setInterval(() => void this.#sample().catch(() => undefined), sampleEveryMs).unref()
  }

  close(): void {
    clearInterval(this.#timer)
  }

  /** Returns the projections whose lists are out of date. Many open pages ask, so one reading serves all of them. @throws StoreUnavailableError, ReadModelsUnavailableError */
  async stale() {
    const nowMs = performance.now()
    if (!this.#known || nowMs >= this.#known.until) {
      this.#known = { until: nowMs + knownForMs, lags: this.lagsNow() }
    }
    const lags = await this.#known.lags
    const isStale = ({ state, lagMs }: (typeof lags)[number]) =>
      state === 'paused' || state === 'failed' || (lagMs ?? 0) > staleAfterMs
    return lags.filter(isStale).map(({ name, state, since }) => ({ name, state, since }))
  }

  samplesOf(projection: string): readonly LagSample[] {
    return this.#samples.get(projection) ?? []
  }

  async #sample(): Promise<void> {
    for (const { name, lagMs } of await this.lagsNow()) {
      this.#samples.set(name, [...this.samplesOf(name), { at: this.clock(), lagMs }].slice(-maxSamples))
    }
  }
}
