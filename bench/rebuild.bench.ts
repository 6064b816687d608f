/**
 * All projections rebuilt in one pass over a log of transfers that are created and, a thousand transfers later, completed: first from nothing,
 * then beside what the first has made, compared with it and switched to. Sizes by BENCH_TRANSFERS (2 events each).
 */
import { pino } from 'pino'
import { openEmbeddedEventStore } from '../src/event-store/embedded.js'
import type { EventStore } from '../src/event-store/event-store.js'
import { skipEvents } from '../src/event-store/skipped-events.js'
import { allProjections } from '../src/projections/all-projections.js'
import { type ProjectionTask, ProjectionTasks } from '../src/projections/tasks/projection-tasks.js'
import { watchTasks } from '../src/projections/tasks/watch-tasks.js'
import { openEmbeddedReadModels } from '../src/read-models/embedded/embedded-read-models.js'
import type { ReadModels } from '../src/read-models/read-models.js'
import { part } from './support/bench-part.js'
import { row, title } from './support/bench-report.js'
import { fillLog } from './support/fill-log.js'
import { temporaryDirectory } from './support/temporary-directory.js'

const transfers = Number(process.env.BENCH_TRANSFERS ?? 100_000)
const clock = () => new Date().toISOString()
let highestBytes = 0

async function rebuildAll(what: string, store: EventStore, readModels: ReadModels): Promise<void> {
  const tasks = new ProjectionTasks(readModels, clock)
  const asked: ProjectionTask[] = []
  const beganAtMs = performance.now()
  const cpuBefore = process.cpuUsage()
  highestBytes = 0
  for (const { name } of allProjections) asked.push((await tasks.request(name, { what: 'rebuild', by: 'bench' })).task)
  let builtAtMs = 0
  let ended: ReadonlyMap<string, ProjectionTask | null> = new Map()
  const deps = { store, readModels, clock, logger: pino({ level: 'warn' }) }
  for await (const watched of watchTasks(deps, asked, new AbortController().signal)) {
    if ([...watched.values()].some((task) => task?.phase === 'building')) builtAtMs = performance.now()
    ended = watched
  }
  const failed = [...ended.values()].filter((task) => task?.state !== 'done' || (task.comparison?.differing ?? 0) > 0)
  if (failed.length > 0) throw new Error(JSON.stringify(failed))
  const seconds = (performance.now() - beganAtMs) / 1_000
  const { user, system } = process.cpuUsage(cpuBefore)
  row(what, 'events per second', [(2 * transfers) / seconds])
  row(what, 'of that building, s', [(builtAtMs - beganAtMs) / 1_000])
  row(what, 'us of CPU per event', [(user + system) / (2 * transfers)])
  row(what, 'memory at most, MiB', [highestBytes / 1024 / 1024])
}

await part(async (atEnd) => {
  const directory = temporaryDirectory(atEnd)
  title(`all ${allProjections.length} projections in one pass over ${(transfers * 2).toLocaleString('en')} events`)
  fillLog(directory, transfers)
  const store = skipEvents(await openEmbeddedEventStore({ directory }))
  atEnd(() => store.close())
  const readModels = await openEmbeddedReadModels({ directory })
  atEnd(() => readModels.close())
  const watching = setInterval(() => {
    highestBytes = Math.max(highestBytes, process.memoryUsage.rss())
  }, 100)
  atEnd(() => clearInterval(watching))
  await rebuildAll('from nothing', store, readModels)
  await rebuildAll('beside, compared, switched', store, readModels)
})
