import t from 'tap'
import { TooManyReadsError } from '../../src/readers/readers.js'
import { createBody, paths, post } from '../support/merchant-requests.js'
import { destroyTestService, startTestService } from '../support/test-service.js'
import { heldReader, until } from './held-reader.js'

const rows = { perSecond: 2_000, burst: 20_000 }

t.test('a page of the feed reads its events with one call, whatever their streams', async (t) => {
  const calls: string[] = []
  const service = await startTestService({
    projections: true,
    wrapStore: (store) => ({
      ...store,
      readStream: (stream, options) => {
        if (stream.startsWith('transfer-')) calls.push(stream)
        return store.readStream(stream, options)
      },
      readEvents: (places) => {
        calls.push(`${places.length} events`)
        return store.readEvents(places)
      },
    }),
  })
  t.teardown(() => destroyTestService(service))
  const { secretKey, webApiKey } = await service.merchant()
  for (let n = 0; n < 25; n++)
    await post(service.app, paths.native, createBody('native', secretKey), { key: webApiKey })
  const page = async () => {
    const headers = { webapikey: webApiKey }
    const { items } = (await service.app.inject({ url: '/v1/events?limit=100', headers })).json()
    return items as readonly object[]
  }
  while ((await page()).length < 25) await new Promise((resolve) => setImmediate(resolve))
  calls.length = 0
  t.equal((await page()).length, 25)
  t.same(calls, ['25 events'])
})

t.test('a merchant whose reads looked at too many rows waits, and another one does not', async (t) => {
  let nowMs = 0
  const held = heldReader(() => nowMs)
  t.teardown(() => held.close())
  const read = async (key: string, looked: number) => {
    const requested = held.reads().length
    const page = held.readers.page({ key, rows }, 'feed', { merchantId: key, limit: 100 })
    // A rejected read reaches no store.
    await Promise.race([until(() => held.reads().length > requested), page])
    held.respond({ id: held.reads().at(-1)!, kind: 'response', value: undefined, rows: looked })
    return page
  }
  await read('busy', 15_000)
  await read('busy', 15_000)
  await t.rejects(read('busy', 0), { name: 'TooManyReadsError', retryAfterSeconds: 6 })
  await read('quiet', 100)
  nowMs += 5_000
  await t.rejects(read('busy', 0), TooManyReadsError)
  nowMs += 1_000
  await read('busy', 0)
})

t.test(
  'merchants take turns: a flood of one delays another by two pages at most, and is rejected in the end',
  async (t) => {
    const held = heldReader()
    t.teardown(() => held.close())
    const read = (key: string) => held.readers.page({ key, rows }, 'ownTransfers', { merchantId: key, limit: 1 })
    const flood = Array.from({ length: 40 }, () => read('flood'))
    const settled = Promise.allSettled(flood)
    const others = ['a', 'b', 'c', 'd', 'e'].map(read)
    const order: string[] = []
    const keyOf = new Map<number, string>()
    for (let n = 0; n < 32 + others.length; n++) {
      await until(() => held.reads().length > n)
      for (const message of held.received)
        if ('name' in message) keyOf.set(message.id, (message.query as { readonly merchantId: string }).merchantId)
      const id = held.reads()[n]!
      order.push(keyOf.get(id)!)
      held.respond({ id, kind: 'response', value: null, rows: 0 })
    }
    t.same(order.slice(0, 7), ['flood', 'flood', 'a', 'b', 'c', 'd', 'flood'].slice(0, 6).concat(order[6]!))
    t.ok(order.slice(0, 8).includes('e'), 'the last of the others is among the first eight')
    await Promise.all(others)
    const rejected = (await settled).filter(({ status }) => status === 'rejected')
    t.equal(rejected.length, 8, 'two were running and thirty were waiting')
  },
)
