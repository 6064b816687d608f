import { randomUUID } from 'node:crypto'
import t from 'tap'
import { signInAs } from '../support/dashboard.js'
import { createBody, paths, post } from '../support/merchant-requests.js'
import { destroyTestService, startTestService } from '../support/test-service.js'

const service = await startTestService()
t.teardown(() => destroyTestService(service))
const { app, transfers, merchants, directory } = service
const context = { actor: 'cli:root', $correlationId: 'c', $causationId: 'c' }
const { id, secretKey, webApiKey } = await service.merchant()
const [ada, bob] = [await signInAs(service, 'approver', [id]), await signInAs(service, 'approver', [id])]
const created = await merchants.createApiKey(
  id,
  { name: randomUUID(), scopes: ['settlement'], validUntil: null },
  context,
)
if (!created.accepted) throw new Error('the key was rejected')
const key = created.webApiKey
await service.until(() => directory.byApiKey(key) !== undefined)

async function create(kind: 'withdrawal' | 'native'): Promise<string> {
  return (await post(app, paths[kind], createBody(kind, secretKey), { key: webApiKey })).json().result.trackingId
}

const program = async (trackingId: string, action: string, body: object) =>
  post(app, `/v1/withdrawals/${trackingId}/${action}`, JSON.stringify(body), { key })

t.test('completing what another user completed is a conflict that names the user', async (t) => {
  const trackingId = await create('withdrawal')
  await ada.post(`/transfers/${trackingId}/claim`, { revision: 0 })
  const body = { revision: 1, receiptUrl: 'https://bank.example/1' }
  const first = await ada.post(`/transfers/${trackingId}/complete`, body)
  t.equal(first.statusCode, 200)
  const repeated = await ada.post(`/transfers/${trackingId}/complete`, body)
  t.equal(repeated.statusCode, 200, 'the same request of the same user gets its response again')
  t.same(repeated.json(), first.json())
  const [done, values] = [{ code: 40934, rule: 'done-before' }, { by: 'The approver' }]
  const seen = { revision: first.json().revision }
  t.match((await bob.post(`/transfers/${trackingId}/complete`, seen)).json(), { error: { ...done, values } })
  t.match((await ada.post(`/transfers/${trackingId}/complete`, seen)).json(), { error: done }, 'a different request')
  t.match((await program(trackingId, 'complete', seen)).json(), { error: { code: done.code } })
  const items = [{ trackingId, ...seen }]
  t.match((await bob.post('/withdrawals/complete', { items })).json(), { items: [{ error: { ...done, values } }] })
  t.equal((await transfers.history(trackingId)).length, 3)
})

t.test('a program repeats its own request, and no one else’s', async (t) => {
  const trackingId = await create('withdrawal')
  await program(trackingId, 'claim', { revision: 0 })
  const [one, two] = [
    await program(trackingId, 'complete', { revision: 1 }),
    await program(trackingId, 'complete', { revision: 1 }),
  ]
  t.equal(one.statusCode, 200)
  t.same(two.json(), one.json())
  t.equal((await program(trackingId, 'complete', { revision: 2 })).statusCode, 409)
  t.match(await transfers.act(trackingId, { type: 'Complete' }, context), { refusal: { rule: 'done-before' } })
})

t.test('the rule holds for every action that ends a transfer or moves its money', async (t) => {
  const users = [context, { ...context, actor: 'cli:other' }] as const
  const receipt = { type: 'ReturnFunds', amountMinor: 50_00n, receiptUrl: 'https://bank.example/back' } as const
  const money = { receivedAmountMinor: 100_50n, receiptUrl: null }
  for (const action of [
    { type: 'Complete' },
    { type: 'Cancel', message: null },
    { type: 'Fail', message: null },
    { type: 'SendToManualControl', message: null },
    { type: 'Reopen', reason: 'why' },
    { type: 'ResolveAttention', reason: 'why' },
    receipt,
  ] as const) {
    const trackingId = await create('native')
    const needsMoney = ['Reopen', 'ResolveAttention', 'ReturnFunds'].includes(action.type)
    if (needsMoney) {
      await transfers.act(trackingId, { type: 'Cancel', message: null }, context)
      await transfers.receiveFunds(trackingId, 1, money, context)
    }
    t.match(await transfers.act(trackingId, action, users[0]), { changed: true }, action.type)
    t.match(await transfers.act(trackingId, action, users[0]), { changed: false }, action.type)
    t.match(await transfers.act(trackingId, action, users[1]), { refusal: { rule: 'done-before' } }, action.type)
  }
})
