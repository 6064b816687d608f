import { AggregatorRegistry, Counter, collectDefaultMetrics, Gauge, Registry } from 'prom-client'
import type { MerchantDirectory } from '../commands/merchant/merchant-directory.js'
import { streamKind, streamPrefixes } from '../domain/streams.js'
import type { EventStore } from '../event-store/event-store.js'
import { logCalls, logCount } from '../event-store/log-counts.js'
import { addMs, type Clock, dayMs } from '../kernel/time.js'
import { allProjections } from '../projections/all-projections.js'
import { openProblems } from '../projections/event-problems.js'
import { type ProjectionStatus, projectionStatus } from '../projections/projection-status.js'
import { pausedProjections } from '../projections/projection-tasks.js'
import { bankAccounts } from '../queries/bank-lists.js'
import { stuckReasons, stuckTransfers } from '../queries/stuck.js'
import { collections, type PointerDocument } from '../read-models/documents.js'
import type { ReadModels } from '../read-models/read-models.js'
import type { PartEnds } from '../subscriptions/under-lease.js'
import type { Configuration } from './configuration/configuration.js'
import { freeBytes } from './doctor/machine.js'
import { lastBackupMs } from './files/last-backup.js'
import { version } from './version.js'

/** The metrics of a thread with their values, which can be sent to another thread. */
export type CollectedMetrics = Awaited<ReturnType<Registry['getMetricsAsJSON']>>

/** The metrics of the main thread, followed by those of the background threads. A metric of several of these is shown once, with all series. */
export class ServiceRegistry extends Registry {
  constructor(private readonly background: () => Promise<readonly CollectedMetrics[]>) {
    super()
    // The default of 10 ms causes nearly all wake-ups of an idle process.
    collectDefaultMetrics({ register: this, eventLoopMonitoringPrecision: 100 })
  }

  override async metrics(): Promise<string> {
    const [main, background] = await Promise.all([super.metrics(), this.background()])
    return `${main}\n${await AggregatorRegistry.aggregate([...background]).metrics()}`
  }
}

interface BacklogSources {
  readonly store: EventStore
  readonly readModels: ReadModels
  readonly directory: Pick<MerchantDirectory, 'all' | 'byId' | 'problems'>
  readonly clock: Clock
}

/** Adds gauges of pending work, which each scrape reads from the stores. */
export function backlogMetrics(registry: Registry, { store, readModels, directory, clock }: BacklogSources): void {
  const callbacks = readModels.collection(collections.callbacks)
  const transfers = readModels.collection(collections.transfers)
  const payments = readModels.collection(collections.bankPayments)
  const pointers = readModels.collection(collections.pointers)
  const gauge = gaugesOf(registry)
  gauge('transferd_callbacks', 'Undelivered callbacks: waiting for an attempt, or parked.', 'state', async (set) => {
    for (const status of ['waiting', 'parked']) set(await callbacks.countDocuments({ status }), status)
  })
  gauge('transferd_unreadable_events', 'Unreadable events that are not skipped.', 'kind', async (set) => {
    const known = directory.problems().map(({ problem }) => problem)
    const problems = await openProblems(readModels, known)
    for (const prefix of streamPrefixes) {
      const count = problems.filter(({ stream }) => streamKind(stream) === prefix).length
      set(count, prefix.slice(0, -1))
    }
  })
  gauge(
    'transferd_transfers_needing_attention',
    'Transfers whose money or proposed correction needs a decision.',
    null,
    async (set) =>
      set(
        (await transfers.countDocuments({ attention: 'deposit' })) +
          (await transfers.countDocuments({ attention: 'withdrawal' })),
      ),
  )
  gauge(
    'transferd_bank_payments_unexplained',
    'Payments of bank statements that no one has decided about for a day.',
    null,
    async (set) => {
      const before = addMs(clock(), -dayMs)
      const counts = (await bankAccounts(readModels)).map(({ _id: openOf }) =>
        payments.countDocuments({ openOf, recordedAt: { $lt: before } }),
      )
      set((await Promise.all(counts)).reduce((sum, count) => sum + count, 0))
    },
  )
  gauge('transferd_transfers_stuck', 'Stuck transfers; counting stops at 100 per reason.', 'reason', async (set) => {
    const { items } = await stuckTransfers({ readModels, merchants: directory }, { now: clock() })
    for (const reason of Object.keys(stuckReasons)) set(items.filter((item) => item.reason === reason).length, reason)
  })
  gauge('transferd_endpoints_disabled', 'Endpoints to which callbacks are disabled.', null, async (set) =>
    set(directory.all().filter(({ callbacksDisabled }) => callbacksDisabled !== null).length),
  )
  gauge('transferd_projection_failed', '1 while a projection is stopped at an event.', 'projection', async (set) => {
    const stored = (await pointers.find({})) as PointerDocument[]
    for (const { _id, failure } of stored) set(failure ? 1 : 0, _id)
  })
  let reading: Promise<readonly ProjectionStatus[]> | undefined
  /** Reads the status once for all metrics of a scrape. */
  const projections = () => {
    reading ??= projectionStatus({ store, readModels }).finally(() => {
      reading = undefined
    })
    return reading
  }
  gauge('transferd_projection_paused', '1 while an operator has paused the projection.', 'projection', async (set) => {
    const names = allProjections.map(({ name }) => name)
    const paused = await pausedProjections(readModels, names)
    for (const each of names) set(paused.some(({ name }) => name === each) ? 1 : 0, each)
  })
  const lag = 'Events that a projection has not applied yet; counting stops at 1,000.'
  gauge('transferd_projection_lag_events', lag, 'projection', async (set) => {
    for (const { name, lagEvents } of await projections()) set(lagEvents, name)
  })
  const waiting = 'How long the first event that a projection has not applied yet has waited.'
  gauge('transferd_projection_lag_seconds', waiting, 'projection', async (set) => {
    const now = Date.parse(clock())
    for (const { name, waitingSince } of await projections())
      set(waitingSince === null ? 0 : Math.max(0, now - Date.parse(waitingSince)) / 1_000, name)
  })
}

/** Adds the counter of the parts of background work that ended unexpectedly. */
export function restartMetrics(registry: Registry, ends: () => readonly PartEnds[]): void {
  new Counter({
    name: 'transferd_background_restarts_total',
    help: 'Unexpected ends of the parts of background work, which restart.',
    labelNames: ['part'],
    registers: [registry],
    collect() {
      this.reset()
      for (const { name, count } of ends()) this.inc({ part: name }, count)
    },
  })
}

/** Adds gauges of this installation. They need no store, so they are shown even while every store is unavailable. */
export function installationMetrics(
  registry: Registry,
  { dataDirectory, readModels }: Pick<Configuration, 'dataDirectory' | 'readModels'>,
): void {
  const gauge = gaugesOf(registry)
  gauge('transferd_build_info', '1, with the version of transferd.', 'version', async (set) => set(1, version))
  const directories = new Map([['data', dataDirectory]])
  if (readModels.engine === 'embedded' && readModels.directory !== dataDirectory)
    directories.set('read_models', readModels.directory)
  gauge('transferd_disk_free_bytes', "Free disk space for the service's files.", 'directory', async (set) => {
    for (const [directory, path] of directories) set(await freeBytes(path), directory)
  })
  const backup = 'Time of the last transferd backup on this machine; 0 before the first one.'
  gauge('transferd_last_backup_timestamp_seconds', backup, null, async (set) =>
    set(((await lastBackupMs(dataDirectory)) ?? 0) / 1_000),
  )
}

/** Adds counters of the calls that all threads make to EventStoreDB. */
export function logMetrics(registry: Registry): void {
  const counter = (name: string, help: string, labelNames: string[], collect: (counter: Counter) => void) =>
    new Counter({
      name,
      help,
      labelNames,
      registers: [registry],
      collect() {
        this.reset()
        collect(this)
      },
    })
  counter('transferd_log_calls_total', 'Calls to EventStoreDB.', ['call'], (calls) => {
    for (const call of logCalls) calls.inc({ call }, logCount(call))
  })
  const received = 'Events that EventStoreDB sent to this process.'
  counter('transferd_log_events_received_total', received, [], (events) => events.inc(logCount('event_received')))
  const dropped = 'Subscriptions that EventStoreDB ended during a burst and this process resumed.'
  counter('transferd_log_subscriptions_dropped_total', dropped, [], (drops) =>
    drops.inc(logCount('subscription_dropped')),
  )
}

type Collect = (set: (value: number, label?: string) => void) => Promise<void>

/** Returns a function that adds a gauge with at most one label, which each scrape collects. */
export function gaugesOf(registry: Registry) {
  return (name: string, help: string, label: string | null, collect: Collect): void => {
    new Gauge({
      name,
      help,
      labelNames: label === null ? [] : [label],
      registers: [registry],
      async collect() {
        try {
          await collect((value, of) => (label === null ? this.set(value) : this.set({ [label]: of! }, value)))
        } catch {
          // An unavailable store must neither break the other metrics nor leave an outdated value.
          this.reset()
        }
      },
    })
  }
}
