import t from 'tap'
import { IntegrityCommands } from '../../src/commands/integrity/integrity-commands.js'
import type { Finding } from '../../src/domain/integrity.js'
import { integrityStream } from '../../src/domain/streams.js'
import { signInAs } from '../support/dashboard.js'
import { createBody, paths, post } from '../support/merchant-requests.js'
import { destroyTestService, startTestService } from '../support/test-service.js'

const service = await startTestService()
t.teardown(() => destroyTestService(service))
const { app, transfers, store, clock } = service
const { id, secretKey, webApiKey } = await service.merchant()
const integrity = new IntegrityCommands(store, clock)
const context = { actor: 'cli:ada', $correlationId: 'c', $causationId: 'c' }
const system = { ...context, actor: 'system:integrity' }
const finding: Finding = { kind: 'log', place: 'transfer-1@3', leafIndex: 7, problem: 'It is another event.' }

async function create(kind: 'withdrawal' | 'native'): Promise<string> {
  const response = await post(app, paths[kind], createBody(kind, secretKey), { key: webApiKey })
  t.equal(response.statusCode, 200)
  return response.json().result.trackingId
}

const lengthOf = async (trackingId: string) => (await transfers.history(trackingId)).length
const stopped = { accepted: false, refusal: { rule: 'payouts-stopped' } }

t.test('a finding stops only payouts, until a user resumes them', async (t) => {
  const [open, claimed, paid] = [await create('withdrawal'), await create('withdrawal'), await create('withdrawal')]
  const ada = await signInAs(service, 'approver', [id])
  const asAda = { ...context, actor: `user:${ada.userId}` }
  await transfers.act(claimed, { type: 'Claim' }, asAda)
  await transfers.act(paid, { type: 'Complete' }, context)
  t.equal(await integrity.report([finding, finding], 9, system), 1)

  t.match(await transfers.act(open, { type: 'Claim' }, context), stopped)
  t.match(await transfers.act(open, { type: 'Approve' }, context), stopped)
  t.match(
    await transfers.act(open, { type: 'Complete' }, context),
    stopped,
    'rejects a completion from the command line',
  )
  t.match(
    await transfers.act(claimed, { type: 'Complete' }, asAda, { underClaim: true }),
    stopped,
    'rejects a completion by the holder of the claim',
  )
  const body = { revision: 1, receiptUrl: 'https://bank.example/1' }
  t.match((await ada.post(`/transfers/${claimed}/complete`, body)).json(), { error: { code: 40927 } })
  const file = { format: 'csv', trackingIds: [claimed] }
  const shown = async (trackingId: string) => (await ada.get(`/transfers/${trackingId}`)).json()
  t.match(
    await shown(open),
    { actions: ['manual-control'], payoutsStopped: true },
    'offers no action that would be rejected',
  )
  t.match(await shown(claimed), { actions: ['release', 'cancel', 'manual-control'], payoutsStopped: true })
  t.match(await shown(paid), { payoutsStopped: false })
  t.match(
    (await ada.post('/withdrawals/bank-file', file)).json(),
    { error: { code: 40927 } },
    'an exported bank file would pay the withdrawals',
  )
  t.equal(await lengthOf(open), 1)
  t.equal(await lengthOf(claimed), 2)

  t.match(
    await transfers.act(paid, { type: 'Complete' }, context),
    { accepted: true, changed: false },
    'a repeat returns the lost response',
  )
  t.match(await transfers.act(claimed, { type: 'Release' }, asAda), { accepted: true, changed: true })
  t.match(await transfers.act(claimed, { type: 'Cancel', message: null }, context), { accepted: true, changed: true })
  const deposit = await create('native')
  t.match(
    await transfers.act(deposit, { type: 'Complete' }, context),
    { accepted: true, changed: true },
    'a deposit can still be completed',
  )
  await create('withdrawal')

  const { revision } = await integrity.read()
  t.same(await integrity.resumePayouts('reviewed', revision as number, context), { accepted: true, changed: true })
  t.same(await integrity.resumePayouts('reviewed', revision as number, context), { accepted: true, changed: false })
  t.match(await shown(open), { actions: ['claim', 'manual-control'], payoutsStopped: false })
  t.match(await integrity.lastDecision('PayoutsResumed'), { by: 'cli:ada', reason: 'reviewed' })
  t.match(await transfers.act(open, { type: 'Claim' }, context), { accepted: true, changed: true })
  t.equal(await integrity.report([finding], 9, system), 0, 'a resolved finding does not stop payouts again')
  t.match(await transfers.act(open, { type: 'Complete' }, context), { accepted: true, changed: true })
})

t.test('pays nothing out while the decision is unreadable', async (t) => {
  const open = await create('withdrawal')
  const last = (await store.readStream(integrityStream)).at(-1)!
  const foreign = { id: '6f6a5c0e-52a1-4f0e-9d2b-0f0f5d3c1a11', type: 'Foreign', data: {}, metadata: {} }
  await store.append(integrityStream, last.revision, [foreign])
  t.match(await transfers.act(open, { type: 'Complete' }, context), { refusal: { rule: 'payouts-stopped' } })
  t.match((await integrity.state()).stoppedSince, /^\d/)
  t.equal(await lengthOf(open), 1)
})
