import { pino } from 'pino'
import t from 'tap'
import { StoreUnavailableError } from '../../src/event-store/event-store.js'
import { startUnderLease } from '../../src/subscriptions/under-lease.js'
import { openTestReadModels } from '../support/read-models.js'
import { until } from '../support/until.js'

t.test('a part that ends unexpectedly three times within a minute only restarts, until a minute later', async (t) => {
  const readModels = await openTestReadModels(t.testdir())
  t.teardown(() => readModels.close())
  let nowMs = 0
  let started = 0
  let failure: Error | undefined = new StoreUnavailableError('no connection')
  const part = startUnderLease(
    { readModels, logger: pino({ level: 'silent' }) },
    'a part',
    async ({ signal }) => {
      started++
      if (failure) throw failure
      if (!signal.aborted) await new Promise((resolve) => signal.addEventListener('abort', resolve))
    },
    () => nowMs,
  )
  t.teardown(() => part.stop())
  await until(() => started === 2)
  t.same(part.ends(), [{ name: 'a part', count: 0, problem: undefined }], 'an unavailable store does not count')
  failure = new Error('broken')
  await until(() => part.ends()[0]?.count === 2)
  t.equal(part.ends()[0]?.problem, undefined)
  nowMs = 60_000
  await until(() => part.ends()[0]?.count === 3)
  t.equal(part.ends()[0]?.problem, undefined, 'not within a minute')
  await until(() => part.ends()[0]?.count === 5)
  t.match(part.ends()[0]?.problem, /^the background work a part only restarts: /)
  failure = undefined
  const before = started
  await until(() => started === before + 1)
  nowMs += 59_999
  t.type(part.ends()[0]?.problem, 'string')
  nowMs += 1
  t.equal(part.ends()[0]?.problem, undefined)
})
