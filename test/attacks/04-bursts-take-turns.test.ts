import { setImmediate as nextTurn } from 'node:timers/promises'
import { fastify } from 'fastify'
import t from 'tap'
import { requestTurns } from '../../src/http/server/request-turns.js'

t.test('a burst of requests starts a few of them per turn of the event loop, in order', async (t) => {
  const app = fastify()
  t.teardown(() => app.close())
  const started: number[] = []
  app.register(async (pages) => {
    pages.addHook('onRequest', requestTurns(4))
    pages.get<{ Params: { n: string } }>('/page/:n', async ({ params }) => {
      started.push(Number(params.n))
      return {}
    })
  })
  app.get('/create', async () => ({}))
  await app.ready()

  for (const size of [1, 4, 5, 100, 3]) {
    started.length = 0
    const burst = Array.from({ length: size }, (_, n) => app.inject(`/page/${n}`))
    const create = app.inject('/create').then(() => started.length)
    let before = 0
    while (started.length < size) {
      await nextTurn()
      t.ok(started.length - before <= 8, `${started.length - before} requests started within two turns`)
      before = started.length
    }
    t.strictSame(
      (await Promise.all(burst)).map(({ statusCode }) => statusCode),
      Array(size).fill(200),
    )
    t.strictSame(
      started,
      Array.from({ length: size }, (_, n) => n),
    )
    t.ok((await create) <= 12, 'a create waits for a few requests of the burst only')
  }
})
