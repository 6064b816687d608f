import { get } from 'node:http'
import t from 'tap'
import { signInAs } from '../support/dashboard.js'
import { destroyTestService, startTestService } from '../support/test-service.js'
import { heldReader, until } from './held-reader.js'

const service = await startTestService()
t.teardown(() => destroyTestService(service))
const held = heldReader()
const app = await service.otherNode({ readers: held.readers })
await app.listen({ port: 0, host: '127.0.0.1' })
t.teardown(() => held.close())
const address = app.server.address()
const port = typeof address === 'object' ? address?.port : 0
const files = [
  ['auditor', '/transfers.csv'],
  ['auditor', '/audit/export?format=ndjson'],
  ['auditor', '/audit/manifest?format=csv'],
] as const

function requestAs({ cookie }: { readonly cookie: string }, path: string) {
  return app.inject({ url: `/dashboard/api${path}`, headers: { cookie } })
}

t.test('of 100 exports of one person at once, two are open and 98 are rejected', async (t) => {
  for (const [role, path] of files) {
    const viewer = await signInAs(service, role)
    const before = held.reads().length
    const responses: Awaited<ReturnType<typeof requestAs>>[] = []
    for (let n = 0; n < 100; n++) requestAs(viewer, path).then((response) => responses.push(response))
    await until(() => responses.length === 98)
    for (const response of responses) {
      t.equal(response.statusCode, 429)
      t.equal(response.headers['retry-after'], '5')
      t.match(response.json(), { error: { code: 42901 } })
    }
    const open = held.reads().slice(before)
    t.equal(open.length, 2, path)
    for (const id of open) {
      const measured = { first: undefined, last: undefined, files: [] }
      if (path.includes('manifest')) held.respond({ id, kind: 'response', value: measured, rows: 0 })
      else held.respond({ id, kind: 'page', bytes: null })
    }
    await until(() => responses.length === 100)
    t.match(responses.slice(98), [{ statusCode: 200 }, { statusCode: 200 }])
  }
})

t.test('a request that has closed before its read starts occupies no place', async (t) => {
  const query = { format: 'csv', merchantId: null, from: null, to: null, until: null } as const
  const by = { key: 'gone', rows: { perSecond: 1_000, burst: 1_000 } }
  const before = held.reads().length
  for (let n = 0; n < 20; n++)
    await t.rejects(held.readers.file(by, AbortSignal.abort(), 'events', query), { name: 'AbortError' })
  t.equal(held.reads().length, before)
})

t.test('six exports of all persons together are open, and the end of one admits another', async (t) => {
  const open: Promise<{ statusCode: number }>[] = []
  const before = held.reads().length
  for (let n = 0; n < 3; n++) {
    const viewer = await signInAs(service, 'auditor')
    open.push(requestAs(viewer, '/transfers.csv'), requestAs(viewer, '/transfers.csv'))
  }
  await until(() => held.reads().length === before + 6)
  const late = await signInAs(service, 'auditor')
  t.equal((await requestAs(late, '/transfers.csv')).statusCode, 429)
  const ids = held.reads().slice(before)
  held.respond({ id: ids[0]!, kind: 'page', bytes: null })
  await open[0]
  const admitted = requestAs(late, '/transfers.csv')
  await until(() => held.reads().length === before + 7)
  for (const id of held.reads().slice(before + 1)) held.respond({ id, kind: 'page', bytes: null })
  t.equal((await admitted).statusCode, 200)
  for (const { statusCode } of await Promise.all(open)) t.equal(statusCode, 200)
})

t.test('a reader that leaves ends its export and its admission', async (t) => {
  const { cookie } = await signInAs(service, 'auditor')
  const leave = () => {
    const before = held.received.length
    const request = get({ port, path: '/dashboard/api/transfers.csv', headers: { cookie } })
    request.on('error', () => undefined)
    return { request, requested: () => held.received.slice(before) }
  }
  for (let n = 0; n < 5; n++) {
    const { request, requested } = leave()
    await until(() => requested().some(({ kind }) => kind === 'files'))
    request.destroy()
    await until(() => requested().some(({ kind }) => kind === 'cancel'))
  }
  t.pass('the fifth export was admitted, although none had received a response')
})
