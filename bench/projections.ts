import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { openEmbeddedEventStore } from '../src/event-store/embedded.js'
import type { Append, EventStore } from '../src/event-store/event-store.js'
import { allProjections } from '../src/projections/all.js'
import { openEmbeddedReadModels } from '../src/read-models/embedded/embedded-read-models.js'
import { measureProjection } from './support/measure-projection.js'
import { merchantCount, transferAppends } from './support/transfer-log.js'

/**
 * Each projection alone, from the start of a log of transfers that are created and, a thousand transfers later, completed;
 * log and read models on disk. `node dist/bench/projections.js [transfers]`
 */

const transfers = Number(process.argv[2] ?? 100_000)
const completedAfter = 1_000

async function fill(store: EventStore): Promise<Append> {
  let appends: Append[] = []
  let last: Append | undefined
  for (const append of transferAppends(transfers, completedAfter, 'transfer-')) {
    appends.push(append)
    last = append
    if (appends.length < 1_000) continue
    await store.appendInOrder(appends)
    appends = []
  }
  await store.appendInOrder(appends)
  return last!
}

const directory = mkdtempSync(join(tmpdir(), 'transferd-bench-'))
const store = await openEmbeddedEventStore({ directory })
const readModels = await openEmbeddedReadModels({ directory })
try {
  const { stream } = await fill(store)
  console.log(
    `${transfers} transfers of ${merchantCount} merchants, created and completed ${completedAfter} transfers later`,
  )
  for (const projection of allProjections) {
    if (!projection.streamPrefixes.includes('transfer-')) continue
    const log = { events: transfers * 2, last: { stream, revision: 1 } }
    const { rate, cpuUs } = await measureProjection(store, readModels, projection, log)
    const perSecond = Math.round(rate).toLocaleString('en')
    console.log(`${projection.name.padEnd(16)} ${perSecond} events/s, ${cpuUs.toFixed(1)} us of CPU per event`)
  }
} finally {
  await readModels.close()
  await store.close()
  rmSync(directory, { recursive: true, force: true })
}
