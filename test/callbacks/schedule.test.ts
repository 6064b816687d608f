import fc from 'fast-check'
import t from 'tap'
import { outcomeOf, parseRetryAfterMs, retryDelayMs, retryDelaysMs } from '../../src/callbacks/deliver/schedule.js'

const hour = 3_600_000
const random = fc.double({ min: 0, max: 1, maxExcluded: true, noNaN: true })
const failed = { httpStatus: 500, failure: 'http 500', durationMs: 3 }

t.test('the delays are 5 s, 5 min, 30 min, 2 h, 5 h, 10 h, 14 h, 20 h, 24 h, and then there is none', async (t) => {
  const delays = Array.from({ length: 10 }, (_, index) => retryDelayMs(index + 1, 0))
  t.strictSame(delays, [
    5_000,
    300_000,
    1_800_000,
    2 * hour,
    5 * hour,
    10 * hour,
    14 * hour,
    20 * hour,
    24 * hour,
    undefined,
  ])
})

t.test('jitter only ever adds, and at most a tenth', async (t) => {
  fc.assert(
    fc.property(fc.integer({ min: 1, max: 9 }), random, (failures, random) => {
      const least = retryDelaysMs[failures - 1]!
      const delay = retryDelayMs(failures, random)!
      return delay >= least && delay <= least * 1.1 + 1
    }),
  )
  t.not(retryDelayMs(3, 0.1), retryDelayMs(3, 0.9))
})

t.test('a callback that always fails is attempted ten times over 75 to 84 hours and then parked', async () => {
  fc.assert(
    fc.property(fc.array(random, { minLength: 10, maxLength: 10 }), (randoms) => {
      let atMs = Date.parse('2026-01-01T00:00:00.000Z')
      const beganMs = atMs
      for (let failures = 0; failures < 9; failures++) {
        const outcome = outcomeOf(failed, failures, atMs, randoms[failures]!)
        if (outcome.result !== 'failed' || Date.parse(outcome.nextAttemptAt) <= atMs) return false
        atMs = Date.parse(outcome.nextAttemptAt)
      }
      const total = atMs - beganMs
      return outcomeOf(failed, 9, atMs, randoms[9]!).result === 'parked' && total >= 75.5 * hour && total <= 84 * hour
    }),
  )
})

t.test('Retry-After puts the next attempt off, never forward', async (t) => {
  t.equal(retryDelayMs(1, 0, 60_000), 60_000)
  t.equal(retryDelayMs(2, 0, 1_000), 300_000)
  t.equal(retryDelayMs(10, 0, 60_000), undefined, 'and gives no attempt more')
})

t.test('Retry-After is read as seconds or as a date, capped at a day; anything else says nothing', async (t) => {
  const nowMs = Date.parse('2026-01-01T00:00:00.000Z')
  const read = (header: string) => parseRetryAfterMs(header, nowMs)
  t.equal(read('120'), 120_000)
  t.equal(read(' 0 '), 0)
  t.equal(read('999999999'), 24 * hour)
  t.equal(read('Thu, 01 Jan 2026 00:10:00 GMT'), 600_000)
  t.equal(read('Thu, 01 Jan 2026 00:10:00 GMT'.replace('2026', '2025')), 0, 'the past')
  for (const header of ['', '-5', '1.5', 'soon', '1e3', '2026-01-01', '99999999999999999999']) {
    t.equal(read(header), undefined, header)
  }
})

t.test('a 410 waits, whatever its number of failures', async (t) => {
  const gone = { httpStatus: 410, failure: 'http 410', durationMs: 3 }
  t.match(outcomeOf(gone, 9, 0, 0), { result: 'failed', reason: 'http 410', nextAttemptAt: '1970-01-01T00:00:00.000Z' })
})
