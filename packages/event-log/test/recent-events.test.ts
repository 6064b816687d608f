import { randomUUID } from 'node:crypto'
import fc from 'fast-check'
import t from 'tap'
import { openEventLog } from '../src/event-log.js'
import type { Position, RecordedEvent } from '../src/event-log-types.js'
import { RecentEvents } from '../src/reader/recent-events.js'
import { tempDirectory } from './support/temp-directory.js'

const eventAt = (place: number): RecordedEvent => ({
  id: `id-${place}`,
  type: 'T',
  data: {},
  metadata: {},
  stream: 'a',
  revision: place,
  position: { commit: BigInt(place), prepare: BigInt(place) },
  recordedAtMs: 0,
})

/** What the log holds behind `after`, where every third event matches: up to `to`, or until there are enough. */
function fromLog(after: number, to: number, maxCount: number) {
  const events: RecordedEvent[] = []
  for (let place = after + 1; place <= to; place++) {
    if (place % 3 !== 0) continue
    events.push(eventAt(place))
    if (events.length === maxCount) return { after, through: place, events, size: events.length }
  }
  return { after, through: to, events, size: events.length }
}

const places = (events: readonly RecordedEvent[]) => events.map(({ position }) => Number(position.commit))

t.test('readers that come and go in any order are never told anything but what the log holds', async (t) => {
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
        const known = recent.behind('f', after, maxCount)
        t.same(places(known.events), places(fromLog(after, known.through, maxCount).events))
        let through = known.through
        if (known.events.length < maxCount && through < end) {
          const found = fromLog(through, end, maxCount - known.events.length)
          recent.add('f', found)
          through = found.through
        }
        readers[reader] = through
      }
    }),
    { numRuns: 50 },
  )
})

t.test(
  'who follows another is given what that one read, and what is known of one filter is not known of another',
  async (t) => {
    const recent = new RecentEvents()
    recent.add('f', fromLog(0, 30, 100))
    recent.add('f', fromLog(30, 60, 100))
    t.same(recent.behind('f', 15, 8), { events: [18, 21, 24, 27, 30, 33, 36, 39].map(eventAt), through: 39 })
    t.equal(recent.behind('f', 15, 100).through, 60)
    t.same(recent.behind('g', 15, 100), { events: [], through: 15 })
  },
)

t.test('what is remembered has a limit, and the youngest stays', async (t) => {
  const recent = new RecentEvents()
  for (let after = 0; after < 30_000; after += 30) recent.add('f', fromLog(after, after + 30, 100))
  t.equal(recent.behind('f', 0, 1).through, 0)
  t.equal(recent.behind('f', 29_000, 10_000).through, 30_000)
  recent.add('f', { after: 30_000, through: 30_001, events: [eventAt(30_001)], size: 9 * 1024 * 1024 })
  t.same(recent.behind('f', 30_000, 10).events, [])
})

t.test(
  'who reads some streams of those that another reads shares what was read, and sees every event of its own once',
  async (t) => {
    const log = await openEventLog({ directory: tempDirectory(t) })
    t.teardown(() => log.close())
    const prefixes = { some: ['a-'], more: ['a-', 'b-'] }
    const read = { some: [] as RecordedEvent[], more: [] as RecordedEvent[] }
    const readOn = async (who: 'some' | 'more', maxCount: number) => {
      const after = checkpoint[who]
      const page = await log.readAll({ streamPrefixes: prefixes[who], maxCount, ...(after && { after }) })
      read[who].push(...page.events)
      checkpoint[who] = page.checkpoint
      return page.atEnd
    }
    const checkpoint: { [who: string]: Position | undefined } = {}
    for (let round = 0; round < 40; round++) {
      const appends = ['a', 'b', 'c', 'a'].map((name, n) => ({
        stream: `${name}-${round}-${n}`,
        expectedRevision: 'no_stream' as const,
        events: [{ id: randomUUID(), type: 'T', data: {}, metadata: {} }],
      }))
      await log.appendInOrder(appends)
      // In turn who comes first, and how far.
      for (const who of round % 3 === 0 ? (['more', 'some'] as const) : (['some', 'more'] as const))
        await readOn(who, 1 + (round % 7))
    }
    for (const who of ['some', 'more'] as const) while (!(await readOn(who, 100))) {}
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
