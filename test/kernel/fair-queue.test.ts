import { setImmediate as nextTurn } from 'node:timers/promises'
import t from 'tap'
import { FairQueue } from '../../src/kernel/fair-queue.js'

/** A queue whose work ends only when the test ends it. */
function scene(concurrency: number, concurrencyPerKey: number, maxWaitingPerKey: number, maxWaiting = 1_000) {
  const limits = { concurrency, concurrencyPerKey, maxWaitingPerKey, maxWaiting }
  const queue = new FairQueue(limits, () => new Error('too many'))
  const started: string[] = []
  const open: (() => void)[] = []
  const ask = (key: string, name: string) =>
    queue.run(key, () => {
      started.push(name)
      return new Promise<void>((resolve) => open.push(resolve))
    })
  /** Ends the oldest running work and lets the next work start. */
  const endOne = async () => {
    open.shift()?.()
    await nextTurn()
  }
  return { started, ask, endOne, open }
}

t.test('starts another merchant’s work next, regardless of how much waits for the first', async (t) => {
  const { started, ask, endOne } = scene(2, 2, 100)
  for (let n = 0; n < 50; n++) ask('flood', `flood ${n}`)
  ask('shop', 'shop 0')
  ask('shop', 'shop 1')
  ask('other', 'other 0')
  await nextTurn()
  for (let n = 0; n < 8; n++) await endOne()
  t.same(started, [
    ...['flood 0', 'flood 1', 'flood 2', 'shop 0', 'other 0', 'flood 3', 'shop 1', 'flood 4', 'flood 5', 'flood 6'],
  ])
})

t.test('one merchant never occupies every slot, so another merchant’s work starts immediately', async (t) => {
  const { started, ask, endOne } = scene(3, 2, 100)
  for (let n = 0; n < 50; n++) ask('flood', `flood ${n}`)
  await nextTurn()
  t.same(started, ['flood 0', 'flood 1'])
  ask('shop', 'shop 0')
  await nextTurn()
  t.same(started.slice(2), ['shop 0'])
  ask('other', 'other 0')
  ask('shop', 'shop 1')
  for (let n = 0; n < 4; n++) await endOne()
  t.same(started.slice(3), ['flood 2', 'other 0', 'shop 1', 'flood 3'])
})

t.test('rejects excess work of one merchant without affecting another', async (t) => {
  const { started, ask, endOne, open } = scene(1, 1, 3)
  const results = ['a', 'b', 'c', 'd', 'e'].map((name) => ask('flood', name))
  await t.rejects(results[4]!, { message: 'too many' })
  const shop = ask('shop', 'shop')
  for (let n = 0; n < 5; n++) await endOne()
  await Promise.all([...results.slice(0, 4), shop])
  t.same(started, ['a', 'b', 'shop', 'c', 'd'])
  t.equal(open.length, 0)
})

t.test('failed work frees its slot, and an idle queue starts work immediately', async (t) => {
  const queue = new FairQueue(
    { concurrency: 1, concurrencyPerKey: 1, maxWaitingPerKey: 3, maxWaiting: 3 },
    () => new Error('too many'),
  )
  const failing = queue.run('a', async () => {
    throw new Error('broken')
  })
  const after = queue.run('a', async () => 'done')
  await t.rejects(failing, { message: 'broken' })
  t.equal(await after, 'done')
  t.equal(await queue.run('b', async () => 'again'), 'again')
})

t.test('rejects the work of all parties together beyond the limit', async (t) => {
  const { ask, endOne } = scene(1, 1, 10, 2)
  const running = ask('a', 'running')
  const waiting = [ask('b', 'first'), ask('c', 'second')]
  await t.rejects(ask('d', 'third'), { message: 'too many' })
  await nextTurn()
  for (let n = 0; n < 3; n++) await endOne()
  await Promise.all([running, ...waiting])
})

t.test('leaving a place twice frees one place', async (t) => {
  const queue = new FairQueue(
    { concurrency: 1, concurrencyPerKey: 1, maxWaitingPerKey: 0, maxWaiting: 0 },
    () => new Error('too many'),
  )
  const leave = await queue.enter('a')
  await t.rejects(queue.enter('a'), { message: 'too many' })
  leave()
  leave()
  await queue.enter('a')
  await t.rejects(queue.enter('b'), { message: 'too many' })
})
