import t from 'tap'
import { loadOnce } from '../../src/kernel/load-once.js'

t.test('loads once for all callers, and again only after a failure', async (t) => {
  const outcomes = [new Error('too many open files'), new Error('no memory'), 'loaded', 'loaded again']
  let loads = 0
  const load = loadOnce(async () => {
    const outcome = outcomes[loads++]
    if (outcome instanceof Error) throw outcome
    return outcome
  })
  for (const message of ['too many open files', 'no memory'])
    await Promise.all([t.rejects(load(), { message }), t.rejects(load(), { message })])
  t.same(await Promise.all([load(), load()]), ['loaded', 'loaded'])
  t.equal(await load(), 'loaded')
  t.equal(loads, 3)
})
