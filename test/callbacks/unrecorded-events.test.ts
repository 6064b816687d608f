import t from 'tap'
import { UnrecordedEvents } from '../../src/callbacks/record/unrecorded-events.js'
import type { Page } from '../../src/event-store/event-store.js'
import { heldBytes } from '../support/heap.js'
import { recordedCreation } from '../support/recorded-creation.js'

const positionAt = (n: number) => ({ commit: BigInt(n), prepare: BigInt(n) })
const page = (...numbers: number[]): Page => ({
  events: numbers.map((n) => recordedCreation(n, null)),
  checkpoint: positionAt(numbers.at(-1)!),
  atEnd: true,
})
const revisions = (events: UnrecordedEvents, through: number) =>
  events.upTo(positionAt(through))?.map(({ position }) => Number(position.commit))

t.test('knows the followed events that are not recorded, by part of the log', async (t) => {
  const unrecorded = new UnrecordedEvents(positionAt(0))
  const [first, second] = [page(1, 2, 3), page(4, 5)]
  unrecorded.take(first)
  unrecorded.take(second)
  unrecorded.remove(first.events[1]!)
  t.strictSame(revisions(unrecorded, 3), [1, 3])
  t.strictSame(revisions(unrecorded, 5), [1, 3, 4, 5])
  const { signal } = new AbortController()
  t.match(await unrecorded.nextPart(signal), { through: positionAt(3), last: { revision: 0 } })
  unrecorded.removeParts(positionAt(4))
  t.match(await unrecorded.nextPart(signal), { through: positionAt(5) })
})

t.test('waits for the next page until the signal aborts', async (t) => {
  const unrecorded = new UnrecordedEvents(undefined)
  const stopping = new AbortController()
  const waiting = unrecorded.nextPart(stopping.signal)
  unrecorded.take(page(1))
  t.match(await waiting, { through: positionAt(1) })
  unrecorded.removeParts(positionAt(1))
  const last = unrecorded.nextPart(stopping.signal)
  stopping.abort()
  t.equal(await last, undefined)
})

t.test('the page with which following starts is not swept: the sweep has read up to its end', async (t) => {
  const unrecorded = new UnrecordedEvents(positionAt(3))
  unrecorded.take({ events: [], checkpoint: positionAt(3), atEnd: true })
  unrecorded.take(page(4))
  t.match(await unrecorded.nextPart(new AbortController().signal), { through: positionAt(4) })
})

t.test('forgets everything when too many events are unrecorded, so that they are read from the log', async (t) => {
  const unrecorded = new UnrecordedEvents(positionAt(0))
  unrecorded.take(page(...Array.from({ length: 20_000 }, (_, n) => n + 1)))
  t.equal(revisions(unrecorded, 20_000)?.length, 20_000)
  unrecorded.take(page(20_001, 20_002))
  t.strictSame(unrecorded.from, positionAt(20_002))
  t.equal(unrecorded.upTo(positionAt(20_000)), undefined, 'a part that was being swept must be read')
  unrecorded.take(page(20_003))
  t.strictSame(revisions(unrecorded, 20_003), [20_003])
})

t.test('takes limited memory while nothing is swept', async (t) => {
  const unrecorded = new UnrecordedEvents(undefined)
  const bytes = await heldBytes(async () => {
    for (let n = 1; n <= 50_000; n++) {
      const taken = page(n)
      unrecorded.take(taken)
      unrecorded.remove(taken.events[0]!)
    }
    return unrecorded
  })
  t.ok(bytes < 2 * 1024 * 1024, `${bytes} bytes`)
  const { signal } = new AbortController()
  unrecorded.removeParts(positionAt(999))
  t.match(await unrecorded.nextPart(signal), { through: positionAt(50_000) }, 'the last part covers the others')
})
