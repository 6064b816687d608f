import t from 'tap'
import { Breaker } from '../../src/callbacks/deliver/breaker.js'
import { LaneQueue } from '../../src/callbacks/deliver/lane-queue.js'

t.test('the breaker opens after 20 failures in a row over ten seconds, then lets single probes through', async (t) => {
  const breaker = new Breaker(16)
  for (let i = 0; i < 500; i++) breaker.failed(i)
  t.notOk(breaker.open, 'a burst is no dead endpoint')
  t.ok(breaker.allows(15, 500))
  t.notOk(breaker.allows(16, 500), 'sixteen at a time while it is closed')
  let nowMs = 10_000
  breaker.failed(nowMs)
  t.ok(breaker.open)
  const pauses: number[] = []
  for (let i = 0; i < 6; i++) {
    const fromMs = nowMs
    while (!breaker.allows(0, nowMs)) nowMs += 100
    t.notOk(breaker.allows(1, nowMs), 'one at a time')
    pauses.push(nowMs - fromMs)
    breaker.failed(nowMs)
  }
  t.strictSame(pauses, [1_000, 2_000, 4_000, 8_000, 10_000, 10_000], 'ever more seldom')
  breaker.probeNow()
  t.ok(breaker.allows(0, nowMs), 'asked for')
  breaker.succeeded()
  t.notOk(breaker.open)
  t.ok(breaker.allows(15, nowMs))
})

t.test('few failures over a long time leave the breaker closed', async (t) => {
  const breaker = new Breaker(16)
  for (let i = 0; i < 19; i++) breaker.failed(i * 60_000)
  t.notOk(breaker.open)
  breaker.succeeded()
  for (let i = 0; i < 19; i++) breaker.failed(i * 60_000)
  t.notOk(breaker.open, 'a success begins the count anew')
})

t.test('attempts that were under way as the breaker opened are not taken for probes', async (t) => {
  const breaker = new Breaker(16)
  breaker.failed(0)
  for (let i = 0; i < 35; i++) breaker.failed(15_000)
  t.ok(breaker.open)
  t.ok(breaker.allows(0, 16_000), 'the first probe is a second later all the same')
})

t.test('a lane has one turn at a time, and another one when it was offered meanwhile', async (t) => {
  const lanes = new LaneQueue()
  lanes.offer('a')
  lanes.offer('a')
  t.equal(lanes.take(), 'a')
  t.equal(lanes.take(), undefined)
  lanes.offer('a')
  t.equal(lanes.take(), undefined, 'in flight')
  lanes.release('a')
  t.equal(lanes.take(), 'a')
  lanes.release('a')
  t.ok(lanes.isEmpty)
})

t.test('postponed lanes come back when they are due', async (t) => {
  const lanes = new LaneQueue()
  lanes.postpone('a', 1_000)
  lanes.offerDue(999)
  t.equal(lanes.take(), undefined)
  lanes.offerDue(1_000)
  t.equal(lanes.take(), 'a')
})

t.test('a million lanes do not sit in memory, and it is known that some were turned away', async (t) => {
  const lanes = new LaneQueue()
  for (let i = 0; i < 1_000_000; i++) {
    lanes.offer(`ready-${i}`)
    lanes.postpone(`late-${i}`, 1_000)
  }
  t.equal(lanes.readyCount, 256)
  t.notOk(lanes.knows('late-256'))
  t.ok(lanes.overflowed)
})
