import t from 'tap'
import { CircuitBreaker } from '../../src/callbacks/deliver/circuit-breaker.js'
import { LaneQueue } from '../../src/callbacks/deliver/lane-queue.js'

t.test('the breaker opens after 20 consecutive failures over ten seconds, then allows single probes', async (t) => {
  const breaker = new CircuitBreaker(16)
  for (let i = 0; i < 500; i++) breaker.recordFailure(i)
  t.notOk(breaker.isOpen, 'a burst does not open it')
  t.ok(breaker.allows(15, 500))
  t.notOk(breaker.allows(16, 500), 'a closed breaker allows at most sixteen concurrent attempts')
  let nowMs = 10_000
  breaker.recordFailure(nowMs)
  t.ok(breaker.isOpen)
  const pauses: number[] = []
  for (let i = 0; i < 6; i++) {
    const fromMs = nowMs
    while (!breaker.allows(0, nowMs)) nowMs += 100
    t.notOk(breaker.allows(1, nowMs), 'an open breaker allows one probe at a time')
    pauses.push(nowMs - fromMs)
    breaker.recordFailure(nowMs)
  }
  t.strictSame(pauses, [1_000, 2_000, 4_000, 8_000, 10_000, 10_000], 'the pauses between probes grow')
  breaker.probeNow()
  t.ok(breaker.allows(0, nowMs))
  breaker.recordSuccess()
  t.notOk(breaker.isOpen)
  t.ok(breaker.allows(15, nowMs))
})

t.test('the breaker stays closed after few failures over a long time', async (t) => {
  const breaker = new CircuitBreaker(16)
  for (let i = 0; i < 19; i++) breaker.recordFailure(i * 60_000)
  t.notOk(breaker.isOpen)
  breaker.recordSuccess()
  for (let i = 0; i < 19; i++) breaker.recordFailure(i * 60_000)
  t.notOk(breaker.isOpen, 'a success restarts the count')
})

t.test('attempts that were in flight when the breaker opened are not probes', async (t) => {
  const breaker = new CircuitBreaker(16)
  breaker.recordFailure(0)
  for (let i = 0; i < 35; i++) breaker.recordFailure(15_000)
  t.ok(breaker.isOpen)
  t.ok(breaker.allows(0, 16_000), 'the first probe is allowed after a second')
})

t.test('a lane is in flight once at a time, and again if it was offered during the attempt', async (t) => {
  const lanes = new LaneQueue()
  lanes.offer('a')
  lanes.offer('a')
  t.equal(lanes.take(), 'a')
  t.equal(lanes.take(), undefined)
  lanes.offer('a')
  t.equal(lanes.take(), undefined, 'a lane in flight is not taken again')
  lanes.release('a')
  t.equal(lanes.take(), 'a')
  lanes.release('a')
  t.ok(lanes.isEmpty)
})

t.test('a postponed lane is offered when it is due', async (t) => {
  const lanes = new LaneQueue()
  lanes.postpone('a', 1_000)
  lanes.offerDue(999)
  t.equal(lanes.take(), undefined)
  lanes.offerDue(1_000)
  t.equal(lanes.take(), 'a')
})

t.test('holds a bounded number of a million lanes and reports the overflow', async (t) => {
  const lanes = new LaneQueue()
  for (let i = 0; i < 1_000_000; i++) {
    lanes.offer(`ready-${i}`)
    lanes.postpone(`late-${i}`, 1_000)
  }
  t.equal(lanes.readyCount, 512)
  t.notOk(lanes.has('late-512'))
  t.ok(lanes.hasOverflowed)
})
