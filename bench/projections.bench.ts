/**
 * Measures each projection separately, from the start of a log in which each transfer is completed a thousand transfers after its
 * creation. The log and the read models are on disk. BENCH_TRANSFERS (two events each) sets the size.
 */
import { openEventLog } from '@transferd/event-log'
import { allProjections } from '../src/projections/all-projections.js'
import { openEmbeddedReadModels } from '../src/read-models/embedded/embedded-read-models.js'
import { runPart } from './support/bench-part.js'
import { row, title } from './support/bench-report.js'
import { fillLog } from './support/fill-log.js'
import { measureProjection } from './support/measure-projection.js'
import { temporaryDirectory } from './support/temporary-directory.js'
import { merchantCount } from './support/transfer-log.js'

const transfers = Number(process.env.BENCH_TRANSFERS ?? 100_000)

await runPart(async (cleanup) => {
  const directory = temporaryDirectory(cleanup)
  title(`each projection separately, ${(transfers * 2).toLocaleString('en')} events of ${merchantCount} merchants`)
  const stream = fillLog(directory, transfers)
  const store = await openEventLog({ directory })
  cleanup(() => store.close())
  const readModels = await openEmbeddedReadModels({ directory })
  cleanup(() => readModels.close())
  for (const projection of allProjections) {
    if (!projection.streamPrefixes.includes('transfer-')) continue
    const log = { events: transfers * 2, last: { stream, revision: 1 } }
    const { rate, cpuUs } = await measureProjection(store, readModels, projection, log)
    row(projection.name, 'events per second', [rate])
    row(projection.name, 'us of CPU per event', [cpuUs])
  }
})
