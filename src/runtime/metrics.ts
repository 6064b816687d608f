import { collectDefaultMetrics, Gauge, Registry } from 'prom-client'
import type { MerchantDirectory } from '../commands/merchant-directory.js'
import { streamKind, streamPrefixes } from '../domain/streams.js'
import type { EventStore } from '../event-store/event-store.js'
import { openProblems } from '../projections/open-problems.js'
import { projectionStatus } from '../projections/status.js'
import { type CheckpointDocument, collections } from '../read-models/documents.js'
import type { ReadModels } from '../read-models/read-models.js'

/** The metrics of the main thread, and with every scrape those of the background thread behind them. */
export class ServiceRegistry extends Registry {
  constructor(private readonly background: () => Promise<string>) {
    super()
    // Every 100 ms: at the default of 10 these were nearly all the wake-ups of an idle process.
    collectDefaultMetrics({ register: this, eventLoopMonitoringPrecision: 100 })
  }

  override async metrics(): Promise<string> {
    const [main, background] = await Promise.all([super.metrics(), this.background()])
    return `${main}\n${background}`
  }
}

/** What waits for somebody or something, looked up at every scrape; absent while a store is unavailable. */
export function backlogMetrics(
  registry: Registry,
  deps: { store: EventStore; readModels: ReadModels; directory: Pick<MerchantDirectory, 'problems'> },
): void {
  const callbacks = deps.readModels.collection(collections.callbacks)
  const registers = [registry]
  new Gauge({
    name: 'transferd_callbacks',
    help: 'Callbacks not delivered: waiting for an attempt, or given up and parked.',
    labelNames: ['state'],
    registers,
    async collect() {
      await setOrReset(this, async () => {
        this.set({ state: 'waiting' }, await callbacks.countDocuments({ status: 'waiting' }))
        this.set({ state: 'parked' }, await callbacks.countDocuments({ status: 'parked' }))
      })
    },
  })
  new Gauge({
    name: 'transferd_unreadable_events',
    help: 'Events that cannot be read and that nobody has decided to pass over, by the kind of their stream.',
    labelNames: ['kind'],
    registers,
    async collect() {
      await setOrReset(this, async () => {
        const problems = await openProblems(deps.readModels, deps.directory)
        for (const prefix of streamPrefixes) {
          const ofKind = problems.filter(({ stream }) => streamKind(stream) === prefix)
          this.set({ kind: prefix.slice(0, -1) }, ofKind.length)
        }
      })
    },
  })
  const transfers = deps.readModels.collection(collections.transfers)
  new Gauge({
    name: 'transferd_transfers_needing_attention',
    help: 'Deposits about whose money a person has to decide.',
    registers,
    async collect() {
      await setOrReset(this, async () => this.set(await transfers.countDocuments({ attention: 'open' })))
    },
  })
  const checkpoints = deps.readModels.collection(collections.checkpoints)
  new Gauge({
    name: 'transferd_projection_failed',
    help: '1 while a projection stands still at an event that it cannot apply.',
    labelNames: ['projection'],
    registers,
    async collect() {
      await setOrReset(this, async () => {
        const stored = (await checkpoints.find({})) as CheckpointDocument[]
        for (const { _id, failure } of stored) this.set({ projection: _id }, failure ? 1 : 0)
      })
    },
  })
  new Gauge({
    name: 'transferd_projection_lag_events',
    help: 'Events a projection has not applied yet; counting stops at 10,000.',
    labelNames: ['projection'],
    registers,
    async collect() {
      await setOrReset(this, async () => {
        for (const { name, lagEvents } of await projectionStatus(deps)) this.set({ projection: name }, lagEvents)
      })
    },
  })
}

/** An unavailable store must not take the other metrics along, nor leave figures that no longer hold. */
async function setOrReset(gauge: Gauge, set: () => Promise<void>): Promise<void> {
  try {
    await set()
  } catch {
    gauge.reset()
  }
}
