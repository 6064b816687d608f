import { randomUUID } from 'node:crypto'
import t from 'tap'
import { addMs, dayMs, minuteMs } from '../../src/kernel/time.js'
import { createBody, manualDeposits, paths, paymentMethods, post } from '../support/merchant-requests.js'
import { destroyTestService, startTestService } from '../support/test-service.js'

let now = '2026-11-21T10:00:00.000Z'
const configuration = { paymentMethods: [...paymentMethods, manualDeposits] }
const service = await startTestService({ clock: () => now, configuration })
t.teardown(() => destroyTestService(service))
const { app, merchants, transfers, directory } = service
const context = { actor: 'cli:ada', $correlationId: 'c', $causationId: 'c' }
const shop = await service.merchant()
const key = await settlementKey(shop.id)

async function settlementKey(merchantId: string): Promise<string> {
  const settings = { name: randomUUID(), scopes: ['settlement'] as const, validUntil: null }
  const created = await merchants.createApiKey(merchantId, settings, context)
  if (!created.accepted) throw new Error('the key was rejected')
  await service.until(() => directory.byApiKey(created.webApiKey) !== undefined)
  return created.webApiKey
}

async function created(kind: 'hosted' | 'withdrawal', fields: object = {}, merchant = shop): Promise<string> {
  const method = kind === 'hosted' ? { paymentMethod: 7 } : {}
  const body = createBody(kind, merchant.secretKey, { ...method, ...fields }, '100.00')
  const response = (await post(app, paths[kind], body, { key: merchant.webApiKey })).json()
  return response.trackingId ?? response.result.trackingId
}

async function send(path: string, body: object | string, withKey = key) {
  const payload = typeof body === 'string' ? body : JSON.stringify(body)
  const response = await post(app, path, payload, { key: withKey })
  const answer = response.json()
  return { status: response.statusCode, body: answer, error: answer.error, code: answer.error?.code }
}
const receive = (trackingId: string, body: object | string, withKey?: string) =>
  send(`/v1/deposits/${trackingId}/receive`, body, withKey)
const correct = (trackingId: string, body: object | string, withKey?: string) =>
  send(`/v1/transfers/${trackingId}/correct`, body, withKey)
const typesOf = async (trackingId: string) => (await transfers.history(trackingId)).map(({ event }) => event.type)

t.test('records 60 and later 40 of 100, each once, and completes the deposit', async (t) => {
  const trackingId = await created('hosted')
  const first = '{"revision":0,"amount":60.00,"reference":"FT-1"}'
  const part = await receive(trackingId, first)
  t.match(part, {
    status: 200,
    body: {
      ...{ statusDescription: 'Pending', transactionAmount: 60, receivedAmount: 60, lateFunds: 60 },
      ...{ needsAttention: false, expiresAt: addMs(now, 14 * dayMs), revision: 1 },
    },
  })
  t.strictSame((await receive(trackingId, first)).body, part.body, 'a repeat gets the same response')
  const elsewhere = await receive(
    trackingId,
    '{"revision":0,"amount":60,"reference":" FT-1 ","receiptUrl":"https://b.example/1"}',
  )
  t.match(elsewhere, { status: 200, body: { receivedAmount: 60, revision: 1 } }, 'the reference identifies the payment')
  t.match(await receive(trackingId, { revision: 1, amount: 59, reference: 'FT-1' }), {
    ...{ status: 409, code: 40926 },
    error: { details: 'A payment of 60.00 with the reference FT-1 is already recorded.' },
  })
  t.match(await receive(trackingId, { revision: 0, amount: 40, reference: 'FT-2' }), { status: 409, code: 40911 })
  const whole = await receive(trackingId, {
    revision: 1,
    amount: 40,
    reference: 'FT-2',
    receiptUrl: 'https://b.example/2',
  })
  t.match(whole, {
    status: 200,
    body: {
      ...{ statusDescription: 'Completed', transactionAmount: 100, hasAmountMismatch: false, receivedAmount: 100 },
      ...{ receiptUrl: 'https://b.example/2', lateFunds: 0, revision: 3 },
    },
  })
  t.match(await receive(trackingId, first), { status: 200, body: { receivedAmount: 100, revision: 3 } })
  t.strictSame(await typesOf(trackingId), ['DepositCreated', 'FundsReceived', 'FundsReceived', 'TransferCompleted'])
  const history = await app.inject({
    url: `/v1/transfers/${trackingId}/events`,
    headers: { webapikey: shop.webApiKey },
  })
  t.match(history.json().items[1], {
    ...{ type: 'FundsReceived', actor: `merchant:${shop.id}` },
    data: { receivedAmount: 60, reference: 'FT-1', openUntil: addMs(now, 14 * dayMs), hasAmountMismatch: true },
  })
  t.match(await receive(trackingId, { revision: 3, amount: 5, reference: 'FT-3' }), {
    body: { statusDescription: 'Completed', transactionAmount: 100, receivedAmount: 105, needsAttention: true },
  })
})

t.test('rejects what is not a payment of a deposit of the merchant that is paid manually', async (t) => {
  const trackingId = await created('hosted')
  const valid = { revision: 0, amount: 60, reference: 'FT-1' }
  for (const [fields, member] of [
    [{ amount: 0 }, 'amount'],
    [{ amount: -1 }, 'amount'],
    [{ amount: 1.234 }, 'amount'],
    [{ amount: '60' }, 'amount'],
    [{ amount: undefined }, 'amount'],
    [{ reference: undefined }, 'reference'],
    [{ reference: ' ' }, 'reference'],
    [{ reference: 'a\u202Eb' }, 'reference'],
    [{ reference: 'x'.repeat(129) }, 'reference'],
    [{ receiptUrl: 'ftp://b.example' }, 'receiptUrl'],
    [{ revision: undefined }, 'revision'],
  ] as const) {
    const { status, error } = await receive(trackingId, { ...valid, ...fields })
    t.match([status, error?.validationErrors?.[0]?.members], [400, [member]], JSON.stringify(fields))
  }
  t.match(await receive(trackingId, { ...valid, amount: 5_000 }), {
    ...{ status: 409, code: 40926 },
    error: { details: 'The requested amount is 100.00. To continue with 5000.00, repeat it as the confirmed amount.' },
  })
  t.match(await receive(await created('hosted', { paymentMethod: 1 }), valid), {
    ...{ status: 409, error: { details: /^The customer pays this deposit from a wallet/ } },
  })
  const own = await created('withdrawal')
  const other = await service.merchant()
  for (const [id, withKey] of [
    [own, key],
    [trackingId, await settlementKey(other.id)],
    [randomUUID(), key],
  ] as const)
    t.match(await receive(id, valid, withKey), { status: 404, code: 40402 })
  t.match(await receive(trackingId, valid, shop.webApiKey), { status: 403 }, 'the key needs the scope settlement')
  t.strictSame(await typesOf(trackingId), ['DepositCreated'])
})

t.test('a manual deposit can wait for two weeks, and one from a wallet for a day', async (t) => {
  const slow = await service.merchant({ depositExpiryMinutes: 20_160 })
  const expiryOf = async (paymentMethod: number) => {
    const { transfer } = (await transfers.find(await created('hosted', { paymentMethod }, slow)))!
    return transfer.kind === 'deposit' && transfer.expiresAt
  }
  t.equal(await expiryOf(7), addMs(now, 14 * dayMs))
  t.equal(await expiryOf(1), addMs(now, 1440 * minuteMs))
})

t.test('a repeated create gets the first response, also while a part keeps the deposit open', async (t) => {
  const body = createBody('hosted', shop.secretKey, { paymentMethod: 7 }, '100.00')
  const first = (await post(app, paths.hosted, body, { key: shop.webApiKey })).json()
  await receive(first.trackingId, { revision: 0, amount: 60, reference: 'FT-1' })
  t.strictSame((await post(app, paths.hosted, body, { key: shop.webApiKey })).json(), first)
})

t.test('a part keeps the deposit open past its first expiry, and its end is cancelled with the money', async (t) => {
  const trackingId = await created('hosted')
  await receive(trackingId, { revision: 0, amount: 60, reference: 'FT-1' })
  const end = addMs(now, 14 * dayMs)
  now = addMs(now, 30 * minuteMs)
  await transfers.expire(trackingId, context)
  t.match((await transfers.find(trackingId))?.transfer, { status: 'Pending' })
  now = end
  await transfers.expire(trackingId, context)
  t.match((await transfers.find(trackingId))?.transfer, {
    ...{ status: 'Cancelled', message: 'expired', transactionAmountMinor: 60_00n, hasAmountMismatch: true },
  })
})

t.test('corrects a completed transfer once, keeps its status, and the history shows both amounts', async (t) => {
  for (const kind of ['hosted', 'withdrawal'] as const) {
    const trackingId = await created(kind)
    const typed = { transactionAmountMinor: 195_00n, confirmedAmountMinor: 195_00n }
    await transfers.act(trackingId, { type: 'Complete', ...typed }, context)
    const body = { revision: 1, amount: 95, reason: 'The amount was mistyped.', reference: 'CASE-1' }
    const done = await correct(trackingId, body)
    t.match(done, {
      status: 200,
      body: {
        ...{ statusDescription: 'Completed', transactionAmount: 95, hasAmountMismatch: true, revision: 2 },
        ...{ message: 'amount corrected', proposedAmount: null, receivedAmount: kind === 'hosted' ? 95 : 0 },
      },
    })
    t.strictSame((await correct(trackingId, body)).body, done.body, 'a repeat gets the same response')
    t.match(await correct(trackingId, { ...body, amount: 90 }), {
      ...{ status: 409, error: { details: 'A correction to 95.00 with the reference CASE-1 is already recorded.' } },
    })
    await correct(trackingId, { revision: 2, amount: 90, reason: 'again' })
    t.match(
      await correct(trackingId, body),
      { status: 200, body: { transactionAmount: 90 } },
      'no late repeat undoes it',
    )
    const history = await app.inject({
      url: `/v1/transfers/${trackingId}/events`,
      headers: { webapikey: shop.webApiKey },
    })
    t.match(history.json().items[2], {
      type: 'TransferCorrected',
      data: {
        ...{ previousAmount: 195, transactionAmount: 95, reason: 'The amount was mistyped.', reference: 'CASE-1' },
        ...{ by: `merchant:${shop.id}`, proposedBy: null, receivedAmountChange: kind === 'hosted' ? -100 : 0 },
      },
    })
    now = addMs(now, 30 * dayMs)
    t.match(await correct(trackingId, { revision: 3, amount: 80, reason: 'late' }), {
      ...{ status: 409, error: { details: /can be corrected for 30 days/ } },
    })
  }
})

t.test('rejects a correction of what is not completed, and bad fields', async (t) => {
  const trackingId = await created('hosted')
  const valid = { revision: 0, amount: 95, reason: 'mistyped' }
  t.match(await correct(trackingId, valid), { status: 409, error: { details: /^The transfer is Pending/ } })
  for (const [fields, member] of [
    [{ amount: 0 }, 'amount'],
    [{ amount: undefined }, 'amount'],
    [{ reason: '' }, 'reason'],
    [{ reason: ' ' }, 'reason'],
    [{ reason: undefined }, 'reason'],
    [{ reference: ' ' }, 'reference'],
    [{ confirmedAmount: 1.234 }, 'confirmedAmount'],
  ] as const) {
    const { status, error } = await correct(trackingId, { ...valid, ...fields })
    t.match([status, error?.validationErrors?.[0]?.members], [400, [member]], JSON.stringify(fields))
  }
  t.match(await correct(randomUUID(), valid), { status: 404 })
})

t.test('above the merchant’s threshold, a program only proposes, and a user approves', async (t) => {
  const careful = await service.merchant({ approvalAboveMinor: 100_00n })
  const trackingId = await created('hosted', {}, careful)
  const typed = { transactionAmountMinor: 195_00n, confirmedAmountMinor: 195_00n }
  await transfers.act(trackingId, { type: 'Complete', ...typed }, context)
  const carefulKey = await settlementKey(careful.id)
  const body = { revision: 1, amount: 95, reason: 'mistyped', reference: 'CASE-1' }
  t.match(await correct(trackingId, body, carefulKey), {
    ...{ status: 200, body: { transactionAmount: 195, proposedAmount: 95, needsAttention: true, revision: 2 } },
  })
  t.match(await correct(trackingId, body, carefulKey), { status: 200, body: { revision: 2 } })
  const approval = { type: 'ApproveCorrection', amountMinor: 95_00n } as const
  const program = { ...context, actor: `merchant:${careful.id}` }
  t.match(await transfers.act(trackingId, approval, program), { refusal: { rule: 'correction-four-eyes' } })
  t.match(await transfers.act(trackingId, approval, context), { accepted: true, changed: true })
  t.match((await transfers.find(trackingId))?.transfer, { status: 'Completed', transactionAmountMinor: 95_00n })
})

t.test('the payment page names the part that has arrived and what is missing, and days instead of hours', async (t) => {
  const slow = await service.merchant({
    depositExpiryMinutes: 20_160,
    paymentInstructions: [{ paymentMethod: 7, text: 'Pay' }],
  })
  const body = createBody('hosted', slow.secretKey, { paymentMethod: 7 }, '100.00')
  const created = (await post(app, paths.hosted, body, { key: slow.webApiKey })).json()
  const path = new URL(created.url).pathname
  const before = (await app.inject(`${path}?lang=en`)).body
  t.match(before, '14 days')
  t.match(before, 'Pay exactly TRY&#160;100.00'.replace('&#160;', '\u00a0'))
  t.notMatch(before, 'id="received"')
  await receive(created.trackingId, { revision: 0, amount: 60, reference: 'FT-1' }, await settlementKey(slow.id))
  const after = (await app.inject(`${path}?lang=en`)).body
  t.match(after, 'TRY\u00a060.00 of your payment has arrived.')
  t.match(after, 'Pay exactly TRY\u00a040.00')
  t.match((await app.inject(`${path}/state?lang=tr`)).json(), { phase: 'open', received: '₺60,00' })
})

const refund = (trackingId: string, body: object, withKey?: string) =>
  send(`/v1/transfers/${trackingId}/refunds`, body, withKey)

t.test('refunds 30 of 100 by a withdrawal, which both transfers and the feed show', async (t) => {
  const trackingId = await created('hosted')
  await receive(trackingId, { revision: 0, amount: 100, reference: 'FT-1' })
  const referenceId = randomUUID()
  const body = { revision: 2, amount: 30, referenceId, accountNumber: 'TR330006100519786457841326' }
  const requested = await refund(trackingId, body)
  t.match(requested, {
    status: 200,
    body: {
      ...{ statusDescription: 'Completed', transactionAmount: 100, reservedAmount: 30, returnedAmount: 0, revision: 3 },
      refunds: [{ referenceId, amount: 30, to: 'account', state: 'open', accountNumber: 'TR330006100519786457841326' }],
    },
  })
  t.strictSame((await refund(trackingId, body)).body, requested.body, 'a repeat gets the same response')
  t.match(await refund(trackingId, { ...body, amount: 31 }), { status: 409, code: 40901 })
  t.match(await refund(trackingId, { ...body, referenceId: randomUUID(), revision: 3, amount: 70.01 }), { status: 409 })
  t.match(await refund(trackingId, { ...body, referenceId: randomUUID(), accountNumber: undefined, revision: 3 }), {
    status: 409,
    error: { details: 'No wallet can return the money. Specify the account that receives the refund.' },
  })
  t.match(await refund(trackingId, { ...body, paymentMethod: 7 }), { status: 400 })
  t.match(await refund(await created('withdrawal'), body), { status: 404 })
  const { refundId } = requested.body.refunds[0]
  const read = async (path: string) => (await app.inject({ url: path, headers: { webapikey: shop.webApiKey } })).json()
  t.match(await read(`/v1/transfers/${refundId}`), {
    ...{ kind: 'withdrawal', referenceId, amount: 30, refundOf: trackingId, statusDescription: 'Pending', revision: 0 },
  })
  await send(`/v1/withdrawals/${refundId}/claim`, { revision: 0 })
  t.match(await send(`/v1/withdrawals/${refundId}/complete`, { revision: 1 }), { status: 200 })
  t.match(await read(`/v1/transfers/${trackingId}`), {
    ...{ returnedAmount: 30, refundedAmount: 30, reservedAmount: 0, transactionAmount: 100, lateFunds: 0 },
    refunds: [{ state: 'returned' }],
  })
  const { items } = await read(`/v1/transfers/${trackingId}/events`)
  t.match(items.at(-2), { type: 'RefundRequested', data: { refundAmount: 30, refundId, to: 'account' } })
  t.match(items.at(-1), { type: 'FundsReturned', data: { returnedAmount: 30, bookedAmount: 30, refundId } })
  const created0 = (await read(`/v1/transfers/${refundId}/events`)).items[0]
  t.match(created0, { type: 'WithdrawalCreated', data: { refundOf: trackingId } })
})
