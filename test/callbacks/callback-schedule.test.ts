import fc from 'fast-check'
import t from 'tap'
import {
  outcomeOf,
  parseRetryAfterMs,
  retryDelayMs,
  retryDelaysMs,
} from '../../src/callbacks/deliver/retry-schedule.js'

const hour = 3_600_000
const random = fc.double({ min: 0, max: 1, maxExcluded: true, noNaN: true })
const failed = { httpStatus: 500, failure: 'http 500', durationMs: 3 }

t.test('delays attempts by 5 s, 5 min, 30 min, 2 h, 5 h, 10 h, 14 h, 20 h and 24 h', async (t) => {
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

t.test('adds a jitter of at most a tenth', async (t) => {
  fc.assert(
    fc.property(fc.integer({ min: 1, max: 9 }), random, (failures, random) => {
      const least = retryDelaysMs[failures - 1]!
      const delay = retryDelayMs(failures, random)!
      return delay >= least && delay <= least * 1.1 + 1
    }),
  )
  t.not(retryDelayMs(3, 0.1), retryDelayMs(3, 0.9))
})

t.test('parks a callback that always fails after ten attempts over 75 to 84 hours', async () => {
  fc.assert(
    fc.property(fc.array(random, { minLength: 10, maxLength: 10 }), (randoms) => {
      let atMs = Date.parse('2026-01-01T00:00:00.000Z')
      const startedMs = atMs
      for (let failures = 0; failures < 9; failures++) {
        const outcome = outcomeOf(failed, failures, atMs, randoms[failures]!)
        if (outcome.result !== 'failed' || Date.parse(outcome.nextAttemptAt) <= atMs) return false
        atMs = Date.parse(outcome.nextAttemptAt)
      }
      const total = atMs - startedMs
      return outcomeOf(failed, 9, atMs, randoms[9]!).result === 'parked' && total >= 75.5 * hour && total <= 84 * hour
    }),
  )
})

t.test('Retry-After delays the next attempt and never advances it', async (t) => {
  t.equal(retryDelayMs(1, 0, 60_000), 60_000)
  t.equal(retryDelayMs(2, 0, 1_000), 300_000)
  t.equal(retryDelayMs(10, 0, 60_000), undefined, 'Retry-After adds no attempt')
})

t.test('parses Retry-After as seconds or a date, at most a day, and ignores other values', async (t) => {
  const nowMs = Date.parse('2026-01-01T00:00:00.000Z')
  const read = (header: string) => parseRetryAfterMs(header, nowMs)
  t.equal(read('120'), 120_000)
  t.equal(read(' 0 '), 0)
  t.equal(read('999999999'), 24 * hour)
  t.equal(read('Thu, 01 Jan 2026 00:10:00 GMT'), 600_000)
  t.equal(read('Thu, 01 Jan 2026 00:10:00 GMT'.replace('2026', '2025')), 0, 'a date in the past means no delay')
  for (const header of ['', '-5', '1.5', 'soon', '1e3', '2026-01-01', '99999999999999999999']) {
    t.equal(read(header), undefined, header)
  }
})

t.test('waits after a 410 regardless of the number of failures', async (t) => {
  const gone = { httpStatus: 410, failure: 'http 410', durationMs: 3 }
  t.match(outcomeOf(gone, 9, 0, 0), { result: 'failed', reason: 'http 410', nextAttemptAt: '1970-01-01T00:00:00.000Z' })
})
