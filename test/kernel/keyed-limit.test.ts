import t from 'tap'
import { KeyedLimit } from '../../src/kernel/concurrency.js'

const tooMany = (key: string) => new Error(`too many for ${key}`)

/** Returns a task that records its start and ends when the test calls `end`. */
function task(started: string[], name: string) {
  let end = () => {}
  const ended = new Promise<void>((resolve) => (end = resolve))
  const run = async () => {
    started.push(name)
    await ended
    return name
  }
  return { run, end: () => end() }
}

t.test('runs the tasks of one key in order, and those of different keys simultaneously', async (t) => {
  const limit = new KeyedLimit({ concurrency: 1, maxWaiting: 10 }, tooMany)
  const started: string[] = []
  const [a, b, c] = [task(started, 'a'), task(started, 'b'), task(started, 'c')]
  const results = [limit.run('one', a.run), limit.run('one', b.run), limit.run('two', c.run)]
  t.strictSame(started, ['a', 'c'])
  a.end()
  await results[0]
  t.strictSame(started, ['a', 'c', 'b'])
  b.end()
  c.end()
  t.strictSame(await Promise.all(results), ['a', 'b', 'c'])
})

t.test('rejects a task while the maximum is waiting, and accepts it once another task has ended', async (t) => {
  const limit = new KeyedLimit({ concurrency: 2, maxWaiting: 1 }, tooMany)
  const tasks = ['a', 'b', 'c'].map((name) => task([], name))
  const results = tasks.map(({ run }) => limit.run('one', run))
  await t.rejects(
    limit.run('one', async () => 'd'),
    { message: 'too many for one' },
  )
  t.equal(await limit.run('two', async () => 'e'), 'e', 'a different key has its own limit')
  tasks[0]!.end()
  await results[0]
  const last = limit.run('one', async () => 'f')
  for (const { end } of tasks) end()
  t.equal(await last, 'f')
})

t.test('throws the error of a task to its caller and runs the next task', async (t) => {
  const limit = new KeyedLimit({ concurrency: 1, maxWaiting: 1 }, tooMany)
  const failing = limit.run('one', async () => {
    throw new Error('failed')
  })
  const next = limit.run('one', async () => 'next')
  await t.rejects(failing, { message: 'failed' })
  t.equal(await next, 'next')
})

t.test('a task starts as soon as the previous one has ended', async (t) => {
  const limit = new KeyedLimit({ concurrency: 1, maxWaiting: 0 }, tooMany)
  for (let n = 0; n < 100; n++) t.equal(await limit.run('one', async () => n), n)
})
