import { pino } from 'pino'
import t from 'tap'
import { minuteMs } from '../../../src/kernel/time.js'
import { startHeartbeat } from '../../../src/operations/node-heartbeat.js'
import { runWithLease } from '../../../src/read-models/leases.js'
import { OwnNode } from '../../../src/read-models/nodes.js'
import { signInAs } from '../../support/dashboard.js'
import { createBody, paths, post } from '../../support/merchant-requests.js'
import { destroyTestService, startTestService } from '../../support/test-service.js'

let now = Date.parse('2026-11-20T12:00:00.000Z')
const clock = () => new Date(now).toISOString()
const check = { name: 'disk', subject: '/data', result: 'ok' as const, found: 'Enough.', advice: null }
const service = await startTestService({ projections: true, clock, overrides: { checks: async () => [check] } })
t.teardown(() => destroyTestService(service))
const merchant = await service.merchant()
let operations = await signInAs(service, 'operations')

async function ask(path: string) {
  const response = await operations.get(path)
  if (response.statusCode !== 200) throw new Error(response.body)
  return response.json()
}

async function until<Answer>(question: () => Promise<Answer>, isMet: (response: Answer) => boolean): Promise<Answer> {
  for (let n = 0; n < 500; n++) {
    const response = await question()
    if (isMet(response)) return response
    await new Promise((resolve) => setTimeout(resolve, 10))
  }
  throw new Error('the condition was not met within 5 s')
}

t.test('lists the nodes with a heartbeat, the responding node, and dead nodes', async (t) => {
  const dead = new OwnNode(service.readModels, { version: '0.0.9', roles: ['callbacks'], startedAt: clock() })
  await dead.start(clock())
  t.match(await ask('/operations/nodes'), {
    nodes: [{ version: '0.0.9', processId: process.pid, state: 'alive', current: true, lastSeenAt: clock() }],
  })
  now += minuteMs
  t.match(await ask('/operations/nodes'), { nodes: [{ state: 'gone' }] })

  const signs = startHeartbeat({ readModels: service.readModels, clock, logger: pino({ level: 'silent' }) }, ['api'])
  const { nodes } = await until(
    () => ask('/operations/nodes'),
    ({ nodes }) => nodes[0].state === 'alive',
  )
  t.match(nodes, [{ roles: ['api'], startedAt: clock() }])
  t.equal(nodes.length, 1, 'a process appears as one node')
  await signs.stop()
  t.same((await ask('/operations/nodes')).nodes, [], 'a stopped node is not listed')
})

t.test('lists leases with their holder, and without one after their release', async (t) => {
  const ending = new AbortController()
  const held = runWithLease(service.readModels, 'some-work', { signal: ending.signal }, async ({ signal }) => {
    const { leases, nodes } = await ask('/operations/nodes')
    const lease = leases.find(({ name }: { name: string }) => name === 'some-work')
    t.match(lease?.nodeId, new RegExp(`/${process.pid}$`))
    t.same(nodes, [])
    ending.abort()
    t.ok(signal.aborted)
  })
  await held
  const { leases } = await ask('/operations/nodes')
  t.match(
    leases.find(({ name }: { name: string }) => name === 'some-work'),
    { nodeId: null },
  )
})

t.test('lists a stuck transfer with its reason and the next action', async (t) => {
  const body = createBody('withdrawal', merchant.secretKey, {}, '75')
  const created = await post(service.app, paths.withdrawal, body, { key: merchant.webApiKey })
  const { trackingId } = created.json().result
  now += 61 * minuteMs
  operations = await signInAs(service, 'operations')
  const { at, items, reasons } = await until(
    () => ask('/operations/stuck'),
    ({ items }) => items.length > 0,
  )
  t.equal(at, clock())
  t.match(items, [
    {
      ...{ trackingId, merchantId: merchant.id, kind: 'withdrawal', status: 'Pending' },
      reason: 'unpaid',
      next: 'pay',
    },
  ])
  t.match(items, [{ amountMinor: 7_500, steps: 0 }])
  t.same(
    reasons.find(({ reason }: { reason: string }) => reason === 'unpaid'),
    {
      ...{ reason: 'unpaid', afterMinutes: 60, count: 1, more: false },
    },
  )
})

t.test('returns the checks of the doctor unchanged', async (t) => {
  t.same(await ask('/operations/checks'), { at: clock(), checks: [check] })
})
