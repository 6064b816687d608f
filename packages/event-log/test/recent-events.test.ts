import { randomUUID } from 'node:crypto'
import fc from 'fast-check'
import t from 'tap'
import { openEventLog } from '../src/event-log.js'
import type { Position, RecordedEvent } from '../src/event-log-types.js'
import { toPosition } from '../src/file/event-body.js'
import { RecentEvents } from '../src/reader/event-rows.js'
import { tempDirectory } from './support/temp-directory.js'

const eventAt = (position: number): RecordedEvent => ({
  id: `id-${position}`,
  type: 'T',
  data: {},
  metadata: {},
  stream: 'a',
  revision: position,
  position: toPosition(position),
  recordedAtMs: 0,
})

/** Scans a log in which every third event matches, from `after` to `to` or until `maxCount` events are found. */
function scan(after: number, to: number, maxCount: number) {
  const events: RecordedEvent[] = []
  for (let position = after + 1; position <= to; position++) {
    if (position % 3 !== 0) continue
    events.push(eventAt(position))
    if (events.length === maxCount) return { after, through: position, events, size: events.length }
  }
  return { after, through: to, events, size: events.length }
}

const positions = (events: readonly RecordedEvent[]) => events.map(({ position }) => Number(position.commit))

t.test('returns only events of the log, to any number of readers in any order', async (t) => {
  const step = fc.record({
    reader: fc.nat(3),
    grows: fc.nat(40),
    maxCount: fc.integer({ min: 1, max: 700 }),
    restarts: fc.boolean(),
  })
  fc.assert(
    fc.property(fc.array(step, { minLength: 20, maxLength: 200 }), (steps) => {
      const recent = new RecentEvents()
      const readers = [0, 0, 0, 0]
      let end = 3_000
      for (const { reader, grows, maxCount, restarts } of steps) {
        end += grows
        const after = restarts && reader === 3 ? 0 : (readers[reader] ?? 0)
        const known = recent.after('f', after, maxCount)
        t.same(positions(known.events), positions(scan(after, known.through, maxCount).events))
        let through = known.through
        if (known.events.length < maxCount && through < end) {
          const found = scan(through, end, maxCount - known.events.length)
          recent.add('f', found)
          through = found.through
        }
        readers[reader] = through
      }
    }),
    { numRuns: process.env.TEST_LONG === '1' ? 50 : 10 },
  )
})

t.test('shares the events of a reader only with readers of the same filter', async (t) => {
  const recent = new RecentEvents()
  recent.add('f', scan(0, 30, 100))
  recent.add('f', scan(30, 60, 100))
  t.same(recent.after('f', 15, 8), { events: [18, 21, 24, 27, 30, 33, 36, 39].map(eventAt), through: 39 })
  t.equal(recent.after('f', 15, 100).through, 60)
  t.same(recent.after('g', 15, 100), { events: [], through: 15 })
})

t.test('keeps a limited number of the newest events', async (t) => {
  const recent = new RecentEvents()
  for (let after = 0; after < 30_000; after += 30) recent.add('f', scan(after, after + 30, 100))
  t.equal(recent.after('f', 0, 1).through, 0)
  t.equal(recent.after('f', 29_000, 10_000).through, 30_000)
  recent.add('f', { after: 30_000, through: 30_001, events: [eventAt(30_001)], size: 9 * 1024 * 1024 })
  t.same(recent.after('f', 30_000, 10).events, [])
})

t.test(
  'a reader of some of the streams of another reader shares its events and receives each event once',
  async (t) => {
    const log = await openEventLog({ directory: tempDirectory(t), writerThread: false })
    t.teardown(() => log.close())
    const prefixes = { some: ['a-'], more: ['a-', 'b-'] }
    const read = { some: [] as RecordedEvent[], more: [] as RecordedEvent[] }
    const readPage = async (reader: 'some' | 'more', maxCount: number) => {
      const after = checkpoint[reader]
      const page = await log.readAll({ streamPrefixes: prefixes[reader], maxCount, ...(after && { after }) })
      read[reader].push(...page.events)
      checkpoint[reader] = page.checkpoint
      return page.atEnd
    }
    const checkpoint: { [reader: string]: Position | undefined } = {}
    for (let round = 0; round < 40; round++) {
      const appends = ['a', 'b', 'c', 'a'].map((name, n) => ({
        stream: `${name}-${round}-${n}`,
        expectedRevision: 'no_stream' as const,
        events: [{ id: randomUUID(), type: 'T', data: {}, metadata: {} }],
      }))
      await log.appendInOrder(appends)
      // Vary which reader is first and how much it reads.
      for (const reader of round % 3 === 0 ? (['more', 'some'] as const) : (['some', 'more'] as const))
        await readPage(reader, 1 + (round % 7))
    }
    for (const reader of ['some', 'more'] as const) while (!(await readPage(reader, 100))) {}
    t.same(
      read.some.map(({ stream }) => stream),
      read.more.map(({ stream }) => stream).filter((name) => name.startsWith('a-')),
    )
    t.equal(read.some.length, 80)
    const shared = new Set<RecordedEvent>(read.more)
    t.ok(
      read.some.some((event) => shared.has(event)),
      'an event is parsed once for both',
    )
  },
)
