/**
 * Measures a rebuild of all projections in a single read of a log in which each transfer is completed a thousand transfers after its
 * creation: first without existing documents, then next to the existing ones, with a comparison and a switch. BENCH_TRANSFERS (two
 * events each) sets the size.
 */

import { openEventLog } from '@transferd/event-log'
import { pino } from 'pino'
import type { EventStore } from '../src/event-store/event-store.js'
import { skipEvents } from '../src/event-store/read-event.js'
import { allProjections } from '../src/projections/all-projections.js'
import { type ProjectionTask, ProjectionTasks } from '../src/projections/projection-tasks.js'
import { watchTasks } from '../src/projections/start-projections.js'
import { openEmbeddedReadModels } from '../src/read-models/embedded/embedded-read-models.js'
import type { ReadModels } from '../src/read-models/read-models.js'
import { runPart } from './support/bench-part.js'
import { row, title } from './support/bench-report.js'
import { fillLog } from './support/fill-log.js'
import { temporaryDirectory } from './support/temporary-directory.js'

const transfers = Number(process.env.BENCH_TRANSFERS ?? 100_000)
const clock = () => new Date().toISOString()
let peakBytes = 0

async function rebuildAll(subject: string, store: EventStore, readModels: ReadModels): Promise<void> {
  const tasks = new ProjectionTasks(readModels, clock)
  const requested: ProjectionTask[] = []
  const startedAtMs = performance.now()
  const cpuBefore = process.cpuUsage()
  peakBytes = 0
  for (const { name } of allProjections)
    requested.push((await tasks.request(name, { what: 'rebuild', by: 'bench' })).task)
  let builtAtMs = 0
  let ended: ReadonlyMap<string, ProjectionTask | null> = new Map()
  const deps = { store, readModels, clock, logger: pino({ level: 'warn' }) }
  for await (const watched of watchTasks(deps, requested, new AbortController().signal)) {
    if ([...watched.values()].some((task) => task?.phase === 'building')) builtAtMs = performance.now()
    ended = watched
  }
  const failed = [...ended.values()].filter((task) => task?.state !== 'done' || (task.comparison?.differing ?? 0) > 0)
  if (failed.length > 0) throw new Error(JSON.stringify(failed))
  const seconds = (performance.now() - startedAtMs) / 1_000
  const { user, system } = process.cpuUsage(cpuBefore)
  row(subject, 'events per second', [(2 * transfers) / seconds])
  row(subject, 'build time, s', [(builtAtMs - startedAtMs) / 1_000])
  row(subject, 'us of CPU per event', [(user + system) / (2 * transfers)])
  row(subject, 'peak memory, MiB', [peakBytes / 1024 / 1024])
}

await runPart(async (cleanup) => {
  const directory = temporaryDirectory(cleanup)
  title(`all ${allProjections.length} projections in one pass over ${(transfers * 2).toLocaleString('en')} events`)
  fillLog(directory, transfers)
  const store = skipEvents(await openEventLog({ directory }))
  cleanup(() => store.close())
  const readModels = await openEmbeddedReadModels({ directory })
  cleanup(() => readModels.close())
  const watching = setInterval(() => {
    peakBytes = Math.max(peakBytes, process.memoryUsage.rss())
  }, 100)
  cleanup(() => clearInterval(watching))
  await rebuildAll('without existing documents', store, readModels)
  await rebuildAll('next to existing documents', store, readModels)
})
