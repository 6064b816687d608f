import { randomUUID } from 'node:crypto'
import { type EmbeddedEventStore, openEmbeddedEventStore } from '../src/event-store/embedded.js'
import type { NewEvent, Position } from '../src/event-store/event-store.js'
import { part } from './support/bench-part.js'
import { row, title } from './support/bench-report.js'
import { temporaryDirectory } from './support/temporary-directory.js'

/** The embedded event store alone: durable appends, reads, memory. Sizes by BENCH_EVENTS (in the log before). */

const storedEvents = Number(process.env.BENCH_EVENTS ?? 1_000_000)
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

function tell(what: string, perSecond: readonly number[], latenciesMs: number[] = []): void {
  row(what, 'events per second', perSecond)
  const sorted = latenciesMs.sort((a, b) => a - b)
  if (sorted.length === 0) return
  const at = (share: number) => sorted[Math.floor(sorted.length * share)] ?? 0
  row(what, 'p50 ms', [at(0.5)])
  row(what, 'p99 ms', [at(0.99)])
  row(what, 'longest ms', [at(1 - 1 / sorted.length)])
}

function tellMemory(when: string): void {
  row(`memory ${when}`, 'MiB', [process.memoryUsage().rss / 1024 / 1024])
}

await part(async (atEnd) => {
  const directory = temporaryDirectory(atEnd)
  const store = await openEmbeddedEventStore({ directory })
  atEnd(() => store.close())
  const one = () => store.append(`transfer-${randomUUID()}`, 'no_stream', [event()])
  const pair = () =>
    store.appendInOrder([
      { stream: `hash-${randomUUID()}`, expectedRevision: 'no_stream', events: [event()] },
      { stream: `transfer-${randomUUID()}`, expectedRevision: 'no_stream', events: [event()] },
    ])
  title('the embedded log: median (min to max) of three rounds of 3 s')
  tellMemory('at the start')
  for (let stored = 0; stored < storedEvents; stored += 1_000) await Promise.all(Array.from({ length: 1_000 }, one))
  tellMemory(`with ${storedEvents.toLocaleString('en')} events stored`)
  for (const [what, call, each] of [
    ['append, a new stream each', one, 1],
    ['appendInOrder of two, new streams', pair, 2],
  ] as const) {
    for (const callers of [1, 64, 512]) {
      const perSecond: number[] = []
      const latenciesMs: number[] = []
      for (let i = 0; i < rounds; i++) perSecond.push((await inFlight(callers, call, latenciesMs)) * each)
      tell(`${what}, ${callers} callers`, perSecond, latenciesMs)
    }
  }
  const reads: number[] = []
  for (let i = 0; i < rounds; i++) reads.push(await readAll(store))
  tell('readAll in pages of 500', reads)
  tell('readAll, a prefix nothing has (events passed)', [await readAll(store, ['merchant-'])])
  tellMemory('at the end')
})
