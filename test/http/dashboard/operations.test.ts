import { randomUUID } from 'node:crypto'
import t, { type Test } from 'tap'
import { allProjections } from '../../../src/projections/all-projections.js'
import { signInAs } from '../../support/dashboard.js'
import { createBody, post } from '../../support/merchant-requests.js'
import { destroyTestService, startTestService } from '../../support/test-service.js'

interface Projection {
  readonly name: string
  readonly state: string
  readonly task: {
    readonly state: string
    readonly by: string
    readonly comparison: { differing: number } | null
  } | null
  readonly built: object | null
  readonly previous: object | null
  readonly failure: { readonly command: string } | null
  readonly actions: readonly string[]
}

async function world(t: Test) {
  const service = await startTestService({ projections: true })
  t.teardown(() => destroyTestService(service))
  const { webApiKey: key, secretKey } = await service.merchant()
  const create = () =>
    post(service.app, '/api/services/app/TransactionRequests/CreateWithdraw', createBody('withdrawal', secretKey), {
      key,
    })
  const operations = await signInAs(service, 'operations')
  const list = async () => (await operations.get('/operations/projections')).json<{ items: Projection[] }>().items
  const named = async (name: string) => (await list()).find((each) => each.name === name)!
  const until = async (name: string, condition: (projection: Projection) => boolean) => {
    for (;;) {
      const projection = await named(name)
      if (condition(projection)) return projection
      await new Promise((resolve) => setTimeout(resolve, 20))
    }
  }
  return { service, create, operations, list, named, until }
}

t.test('the operations role can rebuild, compare, switch, roll back, pause and resume projections', async (t) => {
  const { operations, create, list, named, until, service } = await world(t)
  t.equal((await create()).statusCode, 200)
  await until('transfers', ({ state }) => state === 'current')
  const names = allProjections.map(({ name }) => name)
  t.same(
    (await list()).map(({ name }) => name),
    names,
  )
  t.same((await named('totals')).actions, ['rebuild', 'verify', 'pause'])

  const path = '/operations/projections'
  t.match((await operations.post(`${path}/transfers/rebuild`, { keep: true })).json(), {
    name: 'transfers',
    task: { what: 'rebuild', by: 'The operations' },
  })
  t.equal(
    (await operations.post(`${path}/transfers/verify`)).json().error.code,
    40931,
    'a projection has one task at a time',
  )
  const kept = await until('transfers', ({ task }) => task?.state === 'done')
  t.match(kept, { built: { comparison: { differing: 0 } }, actions: ['rebuild', 'verify', 'switch', 'pause'] })
  t.equal((await operations.post(`${path}/transfers/switch`)).statusCode, 200)
  const switched = await until('transfers', ({ built, task }) => built === null && task?.state === 'done')
  t.same(switched.actions, ['rebuild', 'verify', 'rollback', 'pause'])
  t.equal((await operations.post(`${path}/transfers/rollback`)).statusCode, 200)
  await until('transfers', ({ task }) => task?.state === 'done')
  t.equal((await operations.post(`${path}/transfers/verify`)).statusCode, 200)
  const verified = await until('transfers', ({ task }) => task?.state === 'done' && task.comparison !== null)
  t.match(verified.task, { comparison: { differing: 0, compared: 1 } })

  const reason = 'the disk is being moved'
  t.match((await operations.post(`${path}/transfers/pause`, { reason })).json(), {
    state: 'paused',
    paused: { by: 'The operations', reason },
  })
  t.same((await named('transfers')).actions, ['rebuild', 'verify', 'rollback', 'resume'])
  const viewer = await signInAs(service, 'viewer', [(await service.merchant()).id])
  const stale = async () => (await viewer.get('/freshness')).json<{ stale: { name: string }[] }>().stale
  while ((await stale()).length === 0) await new Promise((resolve) => setTimeout(resolve, 100))
  t.match(
    await stale(),
    [{ name: 'transfers', state: 'paused', since: String }],
    'every viewer learns that lists are old',
  )
  t.equal((await operations.post(`${path}/transfers/resume`)).json().state, 'current')
  while ((await stale()).length > 0) await new Promise((resolve) => setTimeout(resolve, 100))

  t.equal((await operations.post(`${path}/rebuild`)).json().items.length, names.length)
  for (const name of names) await until(name, ({ task }) => task?.state === 'done')
  const changes = service.logLines.filter((line) => line.includes('security.operations_changed'))
  t.ok(changes.length >= 5, 'the changes contain the names of their users')
})

t.test('rejects an impossible task of a projection with the reason', async (t) => {
  const { operations, service } = await world(t)
  const path = '/operations/projections'
  const refused = async (name: string, what: string) => (await operations.post(`${path}/${name}/${what}`)).json().error
  for (const what of ['rebuild', 'verify', 'switch', 'rollback', 'pause', 'resume', 'cancel'])
    t.equal((await refused('nothing', what)).code, 40411, what)
  t.match(await refused('transfers', 'switch'), { code: 40931, details: /no new version is built/ })
  t.match(await refused('transfers', 'rollback'), { code: 40931, details: /no version from before the last switch/ })
  t.match(await refused('transfers', 'cancel'), { code: 40931, details: /no task is in progress/ })
  const auditor = await signInAs(service, 'auditor')
  t.equal((await auditor.get(path)).statusCode, 200, 'an auditor can see the projections')
  t.equal(
    (await auditor.post(`${path}/transfers/pause`)).json().error.code,
    40306,
    'an auditor cannot change a projection',
  )
})

t.test('an unreadable event stops only its subject, appears in the list, and can be skipped', async (t) => {
  const { operations, service, until } = await world(t)
  const stream = `transfer-${randomUUID()}`
  const event = { id: randomUUID(), type: 'Unknown', data: {}, metadata: { schemaVersion: 1 } }
  await service.store.append(stream, 'no_stream', [event])
  const failed = await until('transfers', ({ state }) => state === 'failed')
  t.equal(failed.failure?.command, `transferd events skip ${stream}@0 --reason <text>`)
  await until('callbacks', ({ state }) => state !== 'failed')
  await until('problems', ({ state }) => state === 'current')
  const { items } = (await operations.get('/operations/problems')).json()
  t.match(items, [{ stream, revision: 0, reason: /unknown event/ }])
  t.ok(items[0].stopped.includes('transfers') && !items[0].stopped.includes('callbacks'), String(items[0].stopped))
  const decide = (target: object) => operations.post('/operations/problems/skip', { reason: 'a test', ...target })
  t.equal((await decide({ stream, revision: 1 })).json().error.code, 40412)
  t.match((await decide({ stream, revision: 0 })).json(), { changed: true, problem: /unknown event/ })
  t.match((await decide({ stream, revision: 0 })).json(), { changed: false })
  await until('transfers', ({ state }) => state === 'current')
  t.same((await operations.get('/operations/problems')).json().items, [])
  const [made] = await service.store.readStream(`user-${operations.userId}`)
  t.equal((await decide({ stream: made!.stream, revision: 0 })).json().error.code, 40932)
})
