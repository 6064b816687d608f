import { randomUUID } from 'node:crypto'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { pino } from 'pino'
import { transferStream } from '../src/commands/ids.js'
import type { TransferEvent } from '../src/domain/transfer/events.js'
import { openEmbeddedEventStore } from '../src/event-store/embedded/embedded-event-store.js'
import { endOfLog } from '../src/event-store/end-of-log.js'
import { encodeEvent } from '../src/event-store/event-codec.js'
import { type Append, comparePositions, type EventStore, parsePosition } from '../src/event-store/event-store.js'
import { allProjections } from '../src/projections/all.js'
import { readCheckpoint } from '../src/projections/checkpoints.js'
import type { Projection } from '../src/projections/projection.js'
import { ProjectionRunner } from '../src/projections/runner.js'
import { openEmbeddedReadModels } from '../src/read-models/embedded/embedded-read-models.js'
import type { ReadModels } from '../src/read-models/read-models.js'

/**
 * Each projection alone, from the start of a log of transfers that are created and, a thousand transfers later, completed;
 * log and read models on disk. `node dist/bench/projections.js [transfers]`
 */

const transfers = Number(process.argv[2] ?? 100_000)
const completedAfter = 1_000
const merchants = Array.from({ length: 20 }, () => randomUUID())
const clock = () => new Date().toISOString()
const startedAtMs = Date.now()

function common(trackingId: string, n: number) {
  const at = new Date(startedAtMs + n * 5).toISOString()
  const merchantId = merchants[n % merchants.length]!
  return { trackingId, merchantId, kind: 'deposit', referenceId: trackingId, amountMinor: 10_050n, at } as const
}

function created(trackingId: string, n: number): TransferEvent {
  const customer = { userId: `customer-${n}`, name: 'Somebody With A Name', username: 'somebody', paymentMethod: 1 }
  const data = { ...common(trackingId, n), ...customer, channel: 'hosted', expiresAt: clock() } as const
  return { type: 'DepositCreated', data }
}

function completed(trackingId: string, n: number): TransferEvent {
  const outcome = { transactionAmountMinor: 10_050n, hasAmountMismatch: false, receiptUrl: null, message: null }
  return { type: 'TransferCompleted', data: { ...common(trackingId, n), ...outcome } }
}

async function fill(store: EventStore): Promise<void> {
  const ids = Array.from({ length: transfers }, () => randomUUID())
  const metadata = { actor: 'bench', $correlationId: randomUUID(), $causationId: randomUUID() }
  const append = (id: string, event: TransferEvent, expectedRevision: Append['expectedRevision']): Append => ({
    stream: transferStream(id),
    expectedRevision,
    events: [encodeEvent(event, metadata)],
  })
  let appends: Append[] = []
  for (let n = 0; n < transfers + completedAfter; n++) {
    if (n < transfers) appends.push(append(ids[n]!, created(ids[n]!, n), 'no_stream'))
    const earlier = n - completedAfter
    if (earlier >= 0) appends.push(append(ids[earlier]!, completed(ids[earlier]!, earlier), 0))
    if (appends.length < 1_000) continue
    await store.appendInOrder(appends)
    appends = []
  }
  await store.appendInOrder(appends)
}

/** Events per second, and the microseconds of processor time that one costs. */
async function measure(store: EventStore, readModels: ReadModels, projection: Projection) {
  const end = await endOfLog(store)
  const stopping = new AbortController()
  const logger = pino({ level: 'warn' })
  const lease = { token: 1, signal: stopping.signal }
  const beganAtMs = performance.now()
  const cpuBefore = process.cpuUsage()
  const running = new ProjectionRunner({ store, readModels, clock, logger }, projection, lease).run()
  for (;;) {
    await new Promise((resolve) => setTimeout(resolve, 5))
    const position = parsePosition((await readCheckpoint(readModels, projection.name))?.position ?? '')
    if (position && end && comparePositions(position, end) >= 0) break
  }
  const seconds = (performance.now() - beganAtMs) / 1_000
  const cpu = process.cpuUsage(cpuBefore)
  stopping.abort()
  await running
  const events = transfers * 2
  return { rate: events / seconds, cpuUs: (cpu.user + cpu.system) / events }
}

const directory = mkdtempSync(join(tmpdir(), 'transferd-bench-'))
const store = await openEmbeddedEventStore({ directory })
const readModels = await openEmbeddedReadModels({ directory })
try {
  await fill(store)
  console.log(
    `${transfers} transfers of ${merchants.length} merchants, created and completed ${completedAfter} transfers later`,
  )
  for (const projection of allProjections) {
    if (!projection.streamPrefixes.includes('transfer-')) continue
    const { rate, cpuUs } = await measure(store, readModels, projection)
    const perSecond = Math.round(rate).toLocaleString('en')
    console.log(`${projection.name.padEnd(16)} ${perSecond} events/s, ${cpuUs.toFixed(1)} us of CPU per event`)
  }
} finally {
  await readModels.close()
  await store.close()
  rmSync(directory, { recursive: true, force: true })
}
