import { MessageChannel } from 'node:worker_threads'
import t from 'tap'
import { serveReads } from '../../src/readers/reader-server.js'
import { Readers } from '../../src/readers/readers.js'
import { signInAs } from '../support/dashboard.js'
import { openTestReadModels } from '../support/read-models.js'
import { destroyTestService, startTestService } from '../support/test-service.js'

const rows = { perSecond: 1_000_000, burst: 1_000_000 }

t.test('two walks through the log and a list alternate, a page each', async (t) => {
  const service = await startTestService()
  t.teardown(() => destroyTestService(service))
  const end = { commit: 5n, prepare: 5n }
  const read: string[] = []
  const { port1, port2 } = new MessageChannel()
  const store = {
    ...service.store,
    readAll: async ({ after }: { readonly after?: { readonly commit: bigint } }) => {
      const commit = (after?.commit ?? 0n) + 1n
      read.push(`page ${commit}`)
      return { events: [], checkpoint: { commit, prepare: commit }, atEnd: commit === end.commit }
    },
  }
  serveReads(port2, { store, readModels: await openTestReadModels(t.testdir()), merchants: service.directory })
  const readers = new Readers(
    () => port1,
    () => 0,
  )
  t.teardown(() => readers.close())
  const query = { format: 'csv', merchantId: null, from: null, to: null, until: end } as const
  const open = new AbortController()
  const walk = (key: string) => readers.walk({ key, rows }, open.signal, 'manifest', { ...query, name: 'events.csv' })
  const list = readers.page({ key: 'b', rows }, 'transfers', { kind: 'deposit', status: 'Pending', limit: 10 })
  const done: string[] = []
  await Promise.all([
    walk('a').then(() => done.push('walk')),
    walk('b').then(() => done.push('walk')),
    list.then(() => done.push('list')),
  ])
  t.same(
    read,
    [1, 2, 3, 4, 5].flatMap((n) => [`page ${n}`, `page ${n}`]),
  )
  t.equal(done[0], 'list')
})

t.test('the main thread reads no list, search, statement or export itself', async (t) => {
  const service = await startTestService({ projections: true })
  t.teardown(() => destroyTestService(service))
  const merchant = await service.merchant()
  const refused = async () => {
    throw new Error('the main thread reads a list')
  }
  const readModels = Object.create(service.readModels, {
    collection: {
      value: (name: string) => {
        if (name === 'sessions') return service.readModels.collection(name)
        return { find: refused, findOne: refused, countDocuments: refused }
      },
    },
    createIndexes: { value: service.readModels.createIndexes.bind(service.readModels) },
  })
  const eventStore = { ...service.store, readAll: refused }
  const app = await service.otherNode({ readModels, eventStore })
  const range = 'from=2026-11-01T00:00:00Z&to=2026-11-20T00:00:00Z'
  const own = `merchantId=${merchant.id}`
  const paths = [
    ...['/transfers', `/transfers?sort=largest&${own}`, `/transfers?text=ada&${own}`, '/transfers?text=abcdef01'],
    ...['/transfers.csv', `/overview?${range}`, `/statement?${range}`, `/statement.csv?${range}`, '/callbacks'],
    ...['/endpoints', '/operations/stuck', '/changes', '/search?text=shop', '/audit/actions'],
    ...['/audit/export?format=csv', '/audit/manifest?format=csv', `/audit/state?of=merchant&id=${merchant.id}`],
    `/audit/state?of=statement&id=${merchant.id}`,
  ]
  const { cookie } = await signInAs(service, 'administrator')
  for (const path of paths) {
    const { statusCode, body } = await app.inject({ url: `/dashboard/api${path}`, headers: { cookie } })
    t.equal(statusCode, 200, `${path}: ${body.slice(0, 200)}`)
  }
  const headers = { webapikey: merchant.webApiKey }
  for (const url of ['/v1/events', '/v1/transfers', '/v1/callbacks'])
    t.equal((await app.inject({ url, headers })).statusCode, 200, url)
})
