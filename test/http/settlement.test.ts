import { randomUUID } from 'node:crypto'
import t from 'tap'
import { addMs, minuteMs } from '../../src/kernel/time.js'
import { createBody, paths, post } from '../support/merchant-requests.js'
import { destroyTestService, startTestService } from '../support/test-service.js'

let now = '2026-11-21T10:00:00.000Z'
const service = await startTestService({ clock: () => now })
t.teardown(() => destroyTestService(service))
const { app, merchants, transfers, directory } = service
const context = { actor: 'cli:ada', $correlationId: 'c', $causationId: 'c' }
const { id, secretKey, webApiKey } = await service.merchant()
const key = await settlementKey(id)

async function settlementKey(merchantId: string): Promise<string> {
  const created = await merchants.createApiKey(
    merchantId,
    { name: randomUUID(), scopes: ['settlement'], validUntil: null },
    context,
  )
  if (!created.accepted) throw new Error('the key was rejected')
  await service.until(() => directory.byApiKey(created.webApiKey) !== undefined)
  return created.webApiKey
}

async function withdrawal(merchant = { secretKey, webApiKey }): Promise<string> {
  const body = createBody('withdrawal', merchant.secretKey)
  const response = await post(app, paths.withdrawal, body, { key: merchant.webApiKey })
  return response.json().result.trackingId
}

async function act(trackingId: string, action: string, body: object | string, withKey = key) {
  const payload = typeof body === 'string' ? body : JSON.stringify(body)
  const response = await post(app, `/v1/withdrawals/${trackingId}/${action}`, payload, { key: withKey })
  return {
    status: response.statusCode,
    body: response.json(),
    code: response.json().error?.code,
    error: response.json().error,
  }
}

const lengthOf = async (trackingId: string) => (await transfers.history(trackingId)).length

t.test('lets a program claim a withdrawal, pay it and complete it with the amount and the receipt', async (t) => {
  const trackingId = await withdrawal()
  const claimed = await act(trackingId, 'claim', { revision: 0 })
  t.match(claimed, { status: 200, body: { status: 1, claimedBy: `merchant:${id}`, revision: 1 } })
  t.equal(claimed.body.claimedUntil, addMs(now, 15 * minuteMs))
  const completion = '{"revision":1,"amount":100.50,"receiptUrl":"https://bank.example/1","message":"paid"}'
  const completed = await act(trackingId, 'complete', completion)
  t.match(completed, {
    status: 200,
    body: {
      statusDescription: 'Completed',
      transactionAmount: 100.5,
      receiptUrl: 'https://bank.example/1',
      message: 'paid',
    },
  })
  t.match(completed.body, { claimedBy: null, claimedUntil: null, revision: 2 })
  t.strictSame(
    (await act(trackingId, 'complete', completion)).body,
    completed.body,
    'a repeat returns the same response',
  )
  t.equal(await lengthOf(trackingId), 3)
  const history = await app.inject({ url: `/v1/transfers/${trackingId}/events`, headers: { webapikey: webApiKey } })
  t.match(history.json().items[1], { type: 'WithdrawalClaimed', data: { by: `merchant:${id}` } })
})

t.test(
  'rejects a settlement without a claim, during the claim of another user or after expiry, each with its own code',
  async (t) => {
    const trackingId = await withdrawal()
    for (const [action, body] of [
      ['complete', { revision: 0 }],
      ['cancel', { revision: 0, message: 'no' }],
    ] as const) {
      t.match(await act(trackingId, action, body), { status: 409, code: 40922 }, action)
    }
    await act(trackingId, 'claim', { revision: 0 })
    now = addMs(now, 15 * minuteMs)
    t.match(await act(trackingId, 'complete', { revision: 1 }), { status: 409, code: 40923 }, 'the claim has expired')
    await transfers.act(trackingId, { type: 'Claim' }, { ...context, actor: 'user:bob' })
    const revision = 2
    t.match(await act(trackingId, 'claim', { revision }), {
      status: 409,
      code: 40921,
      error: { details: `user:bob has claimed the withdrawal until ${addMs(now, 15 * minuteMs)}.` },
    })
    t.match(await act(trackingId, 'cancel', { revision, message: 'no' }), { status: 409, code: 40921 })
    t.match(await act(trackingId, 'release', { revision }), { status: 409, code: 40921 })
    t.equal(await lengthOf(trackingId), 3)
  },
)

t.test('reports changes since the given revision and changes nothing', async (t) => {
  const trackingId = await withdrawal()
  await act(trackingId, 'claim', { revision: 0 })
  await act(trackingId, 'release', { revision: 1 })
  await transfers.act(trackingId, { type: 'Complete' }, context)
  t.match(await act(trackingId, 'cancel', { revision: 0, message: 'no' }), {
    status: 409,
    code: 40911,
    error: {
      details: `merchant:${id} claimed it at ${now}. merchant:${id} released it at ${now}. operator completed it at ${now}.`,
    },
  })
  t.match(await act(trackingId, 'claim', { revision: 9 }), { status: 409, code: 40911 })
  t.match(await act(trackingId, 'claim', { revision: 3 }), { status: 409, code: 40926, error: { details: /final/ } })
  t.equal(await lengthOf(trackingId), 4)
})

t.test('lets a program pay above the threshold of the merchant only with the approval of a user', async (t) => {
  const own = await service.merchant({ approvalAboveMinor: 100_00n })
  const trackingId = await withdrawal(own)
  const ownKey = await settlementKey(own.id)
  await act(trackingId, 'claim', { revision: 0 }, ownKey)
  t.match(await act(trackingId, 'complete', { revision: 1 }, ownKey), { status: 409, code: 40924 })
  const program = { ...context, actor: `merchant:${own.id}` }
  t.match(await transfers.act(trackingId, { type: 'Approve' }, program), {
    accepted: false,
    refusal: { rule: 'four-eyes' },
  })
  t.match(await transfers.act(trackingId, { type: 'Approve' }, { ...context, actor: 'user:bob' }), {
    accepted: true,
    changed: true,
  })
  const completed = await act(trackingId, 'complete', { revision: 2 }, ownKey)
  t.match(completed, { status: 200, body: { approvedAmount: 100.5 } })
})

t.test('accepts only the merchant’s own withdrawals and valid fields, and names each invalid field', async (t) => {
  const trackingId = await withdrawal()
  const other = await settlementKey((await service.merchant()).id)
  t.match(await act(trackingId, 'claim', { revision: 0 }, other), { status: 404, code: 40402 })
  const deposit = await post(app, paths.native, createBody('native', secretKey), { key: webApiKey })
  t.match(await act(deposit.json().result.trackingId, 'claim', { revision: 0 }), { status: 404, code: 40402 })
  t.match(
    await act(trackingId, 'claim', { revision: 0 }, webApiKey),
    { status: 403, code: 40304 },
    'the main key lacks the scope',
  )
  const wrong: readonly (readonly [action: string, body: object | string, member: string])[] = [
    ['claim', {}, 'revision'],
    ['claim', { revision: -1 }, 'revision'],
    ['claim', { revision: '0' }, 'revision'],
    ['cancel', { revision: 0 }, 'message'],
    ['cancel', { revision: 0, message: '  ' }, 'message'],
    ['complete', { revision: 0, amount: '1' }, 'amount'],
    ['complete', '{"revision":0,"amount":1e2}', 'amount'],
    ['complete', '{"revision":0,"amount":1.001}', 'amount'],
    ['complete', { revision: 0, confirmedAmount: -5 }, 'confirmedAmount'],
    ['complete', { revision: 0, receiptUrl: 'javascript:alert(1)' }, 'receiptUrl'],
    ['complete', { revision: 0, message: 'a\u202eb' }, 'message'],
  ]
  for (const [action, body, member] of wrong) {
    const { status, error } = await act(trackingId, action, body)
    t.match({ status, member: error?.validationErrors?.[0]?.members[0] }, { status: 400, member }, JSON.stringify(body))
  }
  t.equal(await lengthOf(trackingId), 1)
})

t.test('requires a confirmation for a probable typing error', async (t) => {
  const trackingId = await withdrawal()
  await act(trackingId, 'claim', { revision: 0 })
  t.match(await act(trackingId, 'complete', '{"revision":1,"amount":1005.00}'), { status: 409, code: 40926 })
  const confirmed = '{"revision":1,"amount":1005.00,"confirmedAmount":1005}'
  t.match(await act(trackingId, 'complete', confirmed), { status: 200, body: { transactionAmount: 1005 } })
})
