/**
 * Measures the evidence package of a deposit in a grown log, and its verification by each of the programs in it. BENCH_EVIDENCE_EVENTS
 * sets the size of the log.
 */

import { execFileSync, spawnSync } from 'node:child_process'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { formatVerifier } from '@transferd/transparency-log'
import { evidencePackage } from '../src/audit/evidence/evidence-package.js'
import { transferStream } from '../src/domain/streams.js'
import { readConfiguration } from '../src/operations/configuration/configuration.js'
import { openLog } from '../src/operations/stores/stores.js'
import { signer, TestSealedLog } from '../test/audit/proofs/test-sealed-log.js'
import { runPart } from './support/bench-part.js'
import { note, row, title } from './support/bench-report.js'
import { growLog } from './support/grown-log.js'
import { temporaryDirectory } from './support/temporary-directory.js'

const events = Number(process.env.BENCH_EVIDENCE_EVENTS ?? 120_000)
const rounds = 5

/** Returns the seconds of each round. */
async function timed(work: () => unknown): Promise<number[]> {
  const seconds: number[] = []
  for (let round = 0; round < rounds; round++) {
    const startedAtMs = performance.now()
    await work()
    seconds.push((performance.now() - startedAtMs) / 1_000)
  }
  return seconds
}

await runPart(async (cleanup) => {
  const directory = temporaryDirectory(cleanup)
  const log = await openLog(readConfiguration({ EVENT_STORE_URL: `embedded:${directory}` }))
  cleanup(() => log.close())
  await growLog(log.eventStore, log.box, events)
  const sealed = new TestSealedLog(log.rawEventStore)
  await sealed.seal()
  const { events: created } = await log.rawEventStore.readAll({ maxCount: 1, streamPrefixes: [transferStream('')] })
  const trackingId = String(created[0]!.data.trackingId)
  const source = { log: log.rawEventStore, tiles: sealed.tiles, key: signer, keys: log.customerKeys }
  const make = () => evidencePackage(source, trackingId, { disclose: ['name', 'username'] })
  const made = (await make())!
  title(`an evidence package of ${made.events} events, from a log of ${made.treeSize.toLocaleString('en')} events`)
  row('transferd', 'package, s', await timed(make))
  row('transferd', 'size, kB', [made.bytes.length / 1_000])
  const file = join(directory, 'package.zip')
  writeFileSync(file, made.bytes)
  const options = [file, '--key', formatVerifier(signer)]
  const python = ['src/audit/evidence/verify.py', ...options]
  if (spawnSync('python3', ['--version']).status === 0)
    row('verify.py', 'verification, s', await timed(() => execFileSync('python3', python)))
  else note('verify.py was not measured: Python is not installed')
  const built = join(directory, 'verify')
  if (spawnSync('go', ['build', '-o', built, 'src/audit/evidence/verify.go']).status === 0)
    row('verify.go', 'verification, s', await timed(() => execFileSync(built, options)))
  else note('verify.go was not measured: Go is not installed')
})
