import { randomUUID } from 'node:crypto'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { type EmbeddedEventStore, openEmbeddedEventStore } from '../src/event-store/embedded.js'
import type { NewEvent, Position } from '../src/event-store/event-store.js'

/** The embedded event store alone: durable appends, reads, memory. `node dist/bench/engine.js [events in the log]` */

const storedEvents = Number(process.argv[2] ?? 1_000_000)
const rounds = 3
const roundMs = 3_000

/** 426 bytes of data and metadata, as a created transfer has. */
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
      name: 'Somebody With A Name',
      username: 'somebody',
      paymentMethod: 3,
      note: '.'.repeat(64),
    },
    metadata: { correlationId: randomUUID(), causedBy: 'merchant', schemaVersion: 1, address: '192.0.2.1' },
  }
}

async function inFlight(callers: number, call: () => Promise<unknown>, latenciesMs: number[]): Promise<number> {
  const startedAt = performance.now()
  let calls = 0
  const caller = async () => {
    while (performance.now() - startedAt < roundMs) {
      const at = performance.now()
      await call()
      latenciesMs.push(performance.now() - at)
      calls += 1
    }
  }
  await Promise.all(Array.from({ length: callers }, caller))
  return (calls / (performance.now() - startedAt)) * 1_000
}

async function readAll(store: EmbeddedEventStore, streamPrefixes?: readonly string[]): Promise<number> {
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

function median(values: readonly number[]): number {
  return [...values].sort((a, b) => a - b)[Math.floor(values.length / 2)] ?? 0
}

function print(what: string, perSecond: readonly number[], latenciesMs: number[] = []): void {
  const sorted = latenciesMs.sort((a, b) => a - b)
  const at = (share: number) => (sorted[Math.floor(sorted.length * share)] ?? 0).toFixed(1)
  const latency =
    sorted.length === 0 ? '' : `p50 ${at(0.5)} ms, p99 ${at(0.99)} ms, worst ${at(1 - 1 / sorted.length)} ms`
  console.log(what.padEnd(44), Math.round(median(perSecond)).toLocaleString('en').padStart(10), latency)
}

function rss(): string {
  return `${Math.round(process.memoryUsage().rss / 1024 / 1024)} MiB`
}

const directory = mkdtempSync(join(tmpdir(), 'transferd-engine-'))
const store = await openEmbeddedEventStore({ directory })
try {
  const one = () => store.append(`transfer-${randomUUID()}`, 'no_stream', [event()])
  const pair = () =>
    store.appendInOrder([
      { stream: `hash-${randomUUID()}`, expectedRevision: 'no_stream', events: [event()] },
      { stream: `transfer-${randomUUID()}`, expectedRevision: 'no_stream', events: [event()] },
    ])
  console.log(`memory at the start: ${rss()}`)
  for (let stored = 0; stored < storedEvents; stored += 1_000) await Promise.all(Array.from({ length: 1_000 }, one))
  console.log(`memory with ${storedEvents.toLocaleString('en')} events stored: ${rss()}`)
  for (const [what, call, each] of [
    ['append, a new stream each', one, 1],
    ['appendInOrder of two, new streams', pair, 2],
  ] as const) {
    for (const callers of [1, 64, 512]) {
      const perSecond: number[] = []
      const latenciesMs: number[] = []
      for (let i = 0; i < rounds; i++) perSecond.push((await inFlight(callers, call, latenciesMs)) * each)
      print(`${what}, ${callers} callers: events/s`, perSecond, latenciesMs)
    }
  }
  const reads: number[] = []
  for (let i = 0; i < rounds; i++) reads.push(await readAll(store))
  print('readAll in pages of 500: events/s', reads)
  print('readAll, a prefix nothing has: events passed/s', [await readAll(store, ['merchant-'])])
  console.log(`memory at the end: ${rss()}`)
} finally {
  await store.close()
  rmSync(directory, { recursive: true })
}
