import { collectDefaultMetrics, Gauge, Registry } from 'prom-client'
import type { MerchantDirectory } from '../commands/merchant/merchant-directory.js'
import { streamKind, streamPrefixes } from '../domain/streams.js'
import type { EventStore } from '../event-store/event-store.js'
import { openProblems } from '../projections/open-problems.js'
import { type ProjectionStatus, projectionStatus } from '../projections/projection-status.js'
import { stuckReasons, stuckTransfers } from '../queries/stuck.js'
import { collections, type PointerDocument } from '../read-models/documents.js'
import type { ReadModels } from '../read-models/read-models.js'
import type { Configuration } from './configuration/configuration.js'
import { freeBytes } from './doctor/machine.js'
import { lastBackupMs } from './files/last-backup.js'
import { version } from './version.js'

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
  deps: {
    store: EventStore
    readModels: ReadModels
    directory: Pick<MerchantDirectory, 'all' | 'byId' | 'problems'>
    clock: () => string
  },
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
    help: 'Events that cannot be read and that no one has decided to skip, by the kind of their stream.',
    labelNames: ['kind'],
    registers,
    async collect() {
      await setOrReset(this, async () => {
        const problems = await openProblems(
          deps.readModels,
          deps.directory.problems().map(({ problem }) => problem),
        )
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
  new Gauge({
    name: 'transferd_transfers_stuck',
    help: 'Transfers that stand still and need somebody, by reason; counting stops at 100 of each.',
    labelNames: ['reason'],
    registers,
    async collect() {
      await setOrReset(this, async () => {
        const approvalAboveMinor = (id: string) => deps.directory.byId(id)?.settings.approvalAboveMinor ?? null
        const { items } = await stuckTransfers({ readModels: deps.readModels, approvalAboveMinor }, deps.clock())
        for (const reason of Object.keys(stuckReasons))
          this.set({ reason }, items.filter((item) => item.reason === reason).length)
      })
    },
  })
  new Gauge({
    name: 'transferd_endpoints_disabled',
    help: 'Endpoints that nothing is sent to any more.',
    registers,
    collect() {
      this.set(deps.directory.all().filter(({ callbacksDisabled }) => callbacksDisabled !== null).length)
    },
  })
  const pointers = deps.readModels.collection(collections.pointers)
  let looking: Promise<readonly ProjectionStatus[]> | undefined
  /** Once for all metrics of a scrape. */
  const projections = () => {
    looking ??= projectionStatus(deps).finally(() => {
      looking = undefined
    })
    return looking
  }
  new Gauge({
    name: 'transferd_projection_failed',
    help: '1 while a projection stands still at an event that it cannot apply.',
    labelNames: ['projection'],
    registers,
    async collect() {
      await setOrReset(this, async () => {
        const stored = (await pointers.find({})) as PointerDocument[]
        for (const { _id, failure } of stored) this.set({ projection: _id }, failure ? 1 : 0)
      })
    },
  })
  new Gauge({
    name: 'transferd_projection_lag_events',
    help: 'Events a projection has not applied yet; counting stops at 1,000.',
    labelNames: ['projection'],
    registers,
    async collect() {
      await setOrReset(this, async () => {
        for (const { name, lagEvents } of await projections()) this.set({ projection: name }, lagEvents)
      })
    },
  })
  new Gauge({
    name: 'transferd_projection_lag_seconds',
    help: 'How long the first event has waited that a projection has not applied yet.',
    labelNames: ['projection'],
    registers,
    async collect() {
      await setOrReset(this, async () => {
        const now = Date.parse(deps.clock())
        for (const { name, waitingSince } of await projections()) {
          const waitedMs = waitingSince === null ? 0 : Math.max(0, now - Date.parse(waitingSince))
          this.set({ projection: name }, waitedMs / 1_000)
        }
      })
    },
  })
}

/** What is installed, and the room it has. */
export function installationMetrics(registry: Registry, { dataDirectory, readModels }: Configuration): void {
  const registers = [registry]
  const build = { name: 'transferd_build_info', help: '1, with the version of transferd.', labelNames: ['version'] }
  new Gauge({ ...build, registers }).set({ version }, 1)
  const directories = new Map([['data', dataDirectory]])
  if (readModels.engine === 'embedded' && readModels.directory !== dataDirectory)
    directories.set('read_models', readModels.directory)
  new Gauge({
    name: 'transferd_disk_free_bytes',
    help: 'Free for the files in a directory of the service.',
    labelNames: ['directory'],
    registers,
    async collect() {
      for (const [directory, path] of directories)
        await setOrReset(this, async () => this.set({ directory }, await freeBytes(path)))
    },
  })
  new Gauge({
    name: 'transferd_last_backup_timestamp_seconds',
    help: 'When a command of this machine has made a backup last; 0 while none has.',
    registers,
    async collect() {
      await setOrReset(this, async () => this.set(((await lastBackupMs(dataDirectory)) ?? 0) / 1_000))
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
