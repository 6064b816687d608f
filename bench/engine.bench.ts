import { randomUUID } from 'node:crypto'
import { openEventLog, type SharedEventLog } from '@transferd/event-log'
import type { NewEvent, Position } from '../src/event-store/event-store.js'
import { runPart } from './support/bench-part.js'
import { row, title } from './support/bench-report.js'
import { temporaryDirectory } from './support/temporary-directory.js'

/** Measures the embedded event store alone: durable appends, reads and memory. BENCH_EVENTS sets the size of the log. */

const storedEvents = Number(process.env.BENCH_EVENTS ?? 1_000_000)
const rounds = 3
const roundMs = 3_000

/** Returns an event with 426 bytes of data and metadata, the size of a created transfer. */
function event(): NewEvent {
  return {
    id: randomUUID(),
    type: 'DepositCreated',
    data: {
      trackingId: randomUUID(),
      referenceId: randomUUID(),
      merchantId: randomUUID(),
      amountMinor: '1000050',
      userId: 'customer-1234567',
      name: 'A Customer With A Name',
      username: 'customer',
      paymentMethod: 3,
      note: '.'.repeat(64),
    },
    metadata: { correlationId: randomUUID(), causedBy: 'merchant', schemaVersion: 1, address: '192.0.2.1' },
  }
}

async function callsPerSecond(callers: number, call: () => Promise<unknown>, latenciesMs: number[]): Promise<number> {
  const startedAt = performance.now()
  let calls = 0
  const caller = async () => {
    while (performance.now() - startedAt < roundMs) {
      const calledAt = performance.now()
      await call()
      latenciesMs.push(performance.now() - calledAt)
      calls += 1
    }
  }
  await Promise.all(Array.from({ length: callers }, caller))
  return (calls / (performance.now() - startedAt)) * 1_000
}

async function readAll(store: SharedEventLog, streamPrefixes?: readonly string[]): Promise<number> {
  const filter = streamPrefixes === undefined ? {} : { streamPrefixes }
  let after: Position | undefined
  let events = 0
  const startedAt = performance.now()
  for (;;) {
    const page = await store.readAll({ ...filter, maxCount: 500, ...(after === undefined ? {} : { after }) })
    events += page.events.length
    if (page.checkpoint !== undefined) after = page.checkpoint
    if (page.atEnd) break
  }
  return (
    ((streamPrefixes === undefined ? events : Number(after?.commit ?? 0n)) / (performance.now() - startedAt)) * 1_000
  )
}

function report(subject: string, perSecond: readonly number[], latenciesMs: number[] = []): void {
  row(subject, 'events per second', perSecond)
  const sorted = latenciesMs.sort((a, b) => a - b)
  if (sorted.length === 0) return
  const quantile = (share: number) => sorted[Math.floor(sorted.length * share)] ?? 0
  row(subject, 'p50 ms', [quantile(0.5)])
  row(subject, 'p99 ms', [quantile(0.99)])
  row(subject, 'max ms', [sorted.at(-1)!])
}

function reportMemory(when: string): void {
  row(`memory ${when}`, 'MiB', [process.memoryUsage().rss / 1024 / 1024])
}

await runPart(async (cleanup) => {
  const directory = temporaryDirectory(cleanup)
  const store = await openEventLog({ directory })
  cleanup(() => store.close())
  const one = () => store.append(`transfer-${randomUUID()}`, 'no_stream', [event()])
  const pair = () =>
    store.appendInOrder([
      { stream: `hash-${randomUUID()}`, expectedRevision: 'no_stream', events: [event()] },
      { stream: `transfer-${randomUUID()}`, expectedRevision: 'no_stream', events: [event()] },
    ])
  title('the embedded log, three rounds of 3 s: median (min to max)')
  reportMemory('at the start')
  for (let stored = 0; stored < storedEvents; stored += 1_000) await Promise.all(Array.from({ length: 1_000 }, one))
  reportMemory(`with ${storedEvents.toLocaleString('en')} events stored`)
  for (const [subject, call, eventsPerCall] of [
    ['append to a new stream', one, 1],
    ['appendInOrder to two new streams', pair, 2],
  ] as const) {
    for (const callers of [1, 64, 512]) {
      const perSecond: number[] = []
      const latenciesMs: number[] = []
      for (let i = 0; i < rounds; i++) {
        perSecond.push((await callsPerSecond(callers, call, latenciesMs)) * eventsPerCall)
      }
      report(`${subject}, ${callers} callers`, perSecond, latenciesMs)
    }
  }
  const reads: number[] = []
  for (let i = 0; i < rounds; i++) reads.push(await readAll(store))
  report('readAll in pages of 500', reads)
  report('readAll with an unused prefix (scanned events)', [await readAll(store, ['merchant-'])])
  reportMemory('at the end')
})
