import { randomUUID } from 'node:crypto'
import t from 'tap'
import { isMerchantRole, type Role } from '../../../src/domain/user/permissions.js'
import type { TransferDetail } from '../../../src/http/dashboard/api.js'
import { addMs, minuteMs } from '../../../src/kernel/time.js'
import { misleadingMetadata } from '../../domain/transfer-samples.js'
import { password, signIn } from '../../support/dashboard.js'
import { createBody, paths, post } from '../../support/merchant-requests.js'
import { destroyTestService, startTestService } from '../../support/test-service.js'

let now = '2026-11-21T10:00:00.000Z'
let elapsedMs = 0
// The clock advances a minute at each reading, because more users sign in from one address than its limit allows.
const monotonicMs = () => {
  elapsedMs += 60_000
  return elapsedMs
}
const service = await startTestService({
  clock: () => now,
  overrides: { currency: { code: 'EUR', decimals: 2 }, monotonicMs },
})
t.teardown(() => destroyTestService(service))
const { app, transfers, users, merchants, directory } = service
const context = { actor: 'cli:root', $correlationId: 'c', $causationId: 'c' }
const { id, secretKey, webApiKey } = await service.merchant()

type Person = Awaited<ReturnType<typeof person>>
type Body = { readonly [field: string]: unknown }

async function person(name: string, role: Role, merchantIds = [id]) {
  const email = `${randomUUID()}@example.com`
  const bound = isMerchantRole(role) ? merchantIds : null
  const created = await users.create({ email, name, role, merchantIds: bound }, context, password)
  if (!created.accepted) throw new Error(created.refusal.rule)
  const signedIn = await signIn(app, { email, password })
  return { ...signedIn, name, actor: `user:${created.user.userId}` }
}

async function withdrawal(fields: Body = {}): Promise<string> {
  const body = createBody('withdrawal', secretKey, { accountNumber: 'DE89370400440532013000', ...fields })
  return (await post(app, paths.withdrawal, body, { key: webApiKey })).json().result.trackingId
}

async function act({ post }: Person, trackingId: string, action: string, body: Body) {
  const response = await post(`/transfers/${trackingId}/${action}`, body)
  const { error, ...transfer } = response.json()
  return {
    status: response.statusCode,
    transfer: transfer as TransferDetail,
    code: error?.code,
    details: error?.details,
    rule: error?.rule,
    values: error?.values,
  }
}

const seen = async ({ get }: Person, trackingId: string) =>
  (await get(`/transfers/${trackingId}`)).json<TransferDetail>()
const typesOf = async (trackingId: string) => (await transfers.history(trackingId)).map(({ event }) => event.type)

const ada = await person('Ada', 'operator')
const bob = await person('Bob', 'operator')
const cem = await person('Cem', 'approver')

t.test('one of fifty racing operators pays a withdrawal, and the others receive the name of the payer', async (t) => {
  const racers: Person[] = []
  for (let n = 0; n < 50; n++) racers.push(await person(`Racer ${n}`, 'operator'))
  const trackingId = await withdrawal()
  const outcomes = await Promise.all(
    racers.map(async (racer) => {
      const claimed = await act(racer, trackingId, 'claim', { revision: 0 })
      const { revision } = claimed.status === 200 ? claimed.transfer : { revision: 0 }
      return { racer, claimed, paid: await act(racer, trackingId, 'complete', { revision }) }
    }),
  )
  const winners = outcomes.filter(({ paid }) => paid.status === 200)
  t.equal(winners.length, 1)
  const { racer } = winners[0]!
  for (const { claimed, paid } of outcomes.filter((each) => each !== winners[0])) {
    t.match(claimed, { status: 409, code: 40911, details: new RegExp(`${racer.name} claimed it at `) })
    t.match(paid, { status: 409, code: 40911, details: new RegExp(`${racer.name} claimed it at `) })
  }
  for (const { racer: loser } of outcomes.filter((each) => each !== winners[0]).slice(0, 5)) {
    const { details } = await act(loser, trackingId, 'complete', { revision: 0 })
    t.equal(
      details,
      `This has changed since you read it, so your action was not carried out. ${racer.name} claimed it at ${now}. ${racer.name} completed it at ${now}.`,
    )
  }
  t.strictSame(await typesOf(trackingId), ['WithdrawalCreated', 'WithdrawalClaimed', 'TransferCompleted'])
})

t.test('pays a withdrawal once for fifty concurrent operators and twenty repeats of its holder', async (t) => {
  const trackingId = await withdrawal()
  await act(ada, trackingId, 'claim', { revision: 0 })
  const same = { revision: 1, receiptUrl: 'https://bank.example/1' }
  const tries = [...Array.from({ length: 20 }, () => ada), ...Array.from({ length: 30 }, () => bob)]
  const responses = await Promise.all(
    tries.map(async (who) => ({ who, ...(await act(who, trackingId, 'complete', same)) })),
  )
  for (const { who, status, code, details } of responses) {
    if (who === ada) t.equal(status, 200, 'a repeat gets the same response')
    else t.match({ status, code, details }, { status: 409, details: /Ada / }, String(code))
  }
  t.strictSame(await typesOf(trackingId), ['WithdrawalCreated', 'WithdrawalClaimed', 'TransferCompleted'])
})

t.test('reports a claim that expires during the payment, and the new holder', async (t) => {
  const trackingId = await withdrawal()
  await act(ada, trackingId, 'claim', { revision: 0 })
  now = addMs(now, 15 * minuteMs)
  t.match(await act(ada, trackingId, 'complete', { revision: 1 }), { status: 409, code: 40923 })
  t.match(await seen(ada, trackingId), { claim: null, status: 'Pending' })
  await act(bob, trackingId, 'claim', { revision: 1 })
  t.match(await act(ada, trackingId, 'complete', { revision: 1 }), {
    ...{ status: 409, code: 40911, details: `Bob claimed it at ${now}.` },
  })
  t.match(await act(ada, trackingId, 'complete', { revision: 2 }), {
    ...{ status: 409, code: 40921, details: `Bob has claimed the withdrawal until ${addMs(now, 15 * minuteMs)}.` },
    ...{ rule: 'claimed-by-another', values: { by: 'Bob', until: addMs(now, 15 * minuteMs) } },
  })
  t.strictSame(await typesOf(trackingId), ['WithdrawalCreated', 'WithdrawalClaimed', 'WithdrawalClaimed'])
})

t.test('the offered actions are exactly the accepted ones', async (t) => {
  const trackingId = await withdrawal()
  const viewer = await person('Vera', 'viewer')
  const auditor = await person('Aud', 'auditor')
  t.strictSame((await seen(viewer, trackingId)).actions, [])
  t.strictSame((await seen(auditor, trackingId)).actions, [])
  t.strictSame((await seen(ada, trackingId)).actions, ['claim', 'manual-control'])
  const { transfer: claimed } = await act(ada, trackingId, 'claim', { revision: 0 })
  t.strictSame(claimed.actions, ['release', 'complete', 'cancel', 'manual-control'])
  t.match(claimed.claim, { name: 'Ada', mine: true, until: addMs(now, 15 * minuteMs) })
  const others = await seen(bob, trackingId)
  t.strictSame(others.actions, [])
  t.match(others.claim, { name: 'Ada', mine: false })
  const { transfer: cancelled } = await act(ada, trackingId, 'cancel', { revision: 1, message: 'no account' })
  t.match(cancelled, { status: 'Cancelled', message: 'no account', actions: [], claim: null })
})

t.test('no field of a completion can change the command', async (t) => {
  const trackingId = await withdrawal()
  await act(ada, trackingId, 'claim', { revision: 0 })
  for (const field of [
    ...['Approve', 'Cancel', 'ErasePersonalData', 'Fail', 'Reopen', 'ResolveAttention'].map((type) => ({ type })),
    { transactionAmountMinor: '1' },
  ]) {
    t.match(await act(ada, trackingId, 'complete', { revision: 1, ...field }), { status: 400 }, JSON.stringify(field))
  }
  t.strictSame(await typesOf(trackingId), ['WithdrawalCreated', 'WithdrawalClaimed'])
})

t.test('a payment above the threshold needs the approval of another user and a recent sign-in', async (t) => {
  await merchants.execute(id, { type: 'ChangeSettings', changes: { approvalAboveMinor: 100_00n } }, context)
  t.teardown(() => merchants.execute(id, { type: 'ChangeSettings', changes: { approvalAboveMinor: null } }, context))
  await service.until(() => directory.byId(id)?.settings.approvalAboveMinor === 100_00n)
  const dan = await person('Dan', 'approver')
  const trackingId = await withdrawal()
  const { transfer: claimed } = await act(dan, trackingId, 'claim', { revision: 0 })
  t.match(claimed, { approval: { needed: true, by: null }, actions: ['release', 'cancel', 'manual-control'] })
  t.match(await act(dan, trackingId, 'complete', { revision: 1 }), { status: 409, code: 40924 })
  t.match(
    await act(dan, trackingId, 'approve', { revision: 1 }),
    { status: 409, code: 40925 },
    'the claimant cannot approve the withdrawal',
  )
  t.match(
    await act(ada, trackingId, 'approve', { revision: 1 }),
    { status: 403, code: 40306 },
    'an operator needs the permission',
  )
  t.ok((await seen(cem, trackingId)).actions.includes('approve'))
  t.match(await act(cem, trackingId, 'approve', { revision: 1 }), { status: 403, code: 40307 }, 'not recent')
  t.equal((await cem.post('/session/confirm', { password })).statusCode, 200)
  const { transfer: approved } = await act(cem, trackingId, 'approve', { revision: 1 })
  t.match(approved.approval, { needed: true, by: { name: 'Cem', at: now, amountMinor: 100_50 } })
  t.match(await act(dan, trackingId, 'complete', { revision: 1 }), {
    code: 40911,
    details: `Cem approved it at ${now}.`,
  })
  now = addMs(now, 11 * minuteMs)
  const body = { revision: 2 }
  t.match(await act(dan, trackingId, 'complete', body), { status: 403, code: 40307 }, 'the sign-in is no longer recent')
  t.equal((await dan.post('/session/confirm', { password })).statusCode, 200)
  t.match(await act(dan, trackingId, 'complete', body), { status: 200, transfer: { status: 'Completed' } })
})

t.test('completes, returns, resolves, reopens and reviews deposits', async (t) => {
  t.equal((await cem.post('/session/confirm', { password })).statusCode, 200)
  const created = await post(app, paths.native, createBody('native', secretKey), { key: webApiKey })
  const { trackingId } = created.json().result
  const receipt = { receivedAmountMinor: 95_00n, receiptUrl: null }
  await transfers.act(trackingId, { type: 'Cancel', message: null }, context)
  await transfers.receiveFunds(trackingId, 1, receipt, context)
  const cancelled = await seen(cem, trackingId)
  t.strictSame(cancelled.actions, ['return', 'refund', 'resolve', 'reopen'])
  t.match(cancelled, { receivedMinor: 95_00, unsettledMinor: 95_00, expectedMinor: 95_00, needsAttention: true })
  t.equal(cancelled.kind, 'deposit')
  const returned = await act(ada, trackingId, 'return', {
    ...{ revision: 2, amountMinor: 45_00, receiptUrl: 'https://bank.example/back' },
  })
  t.match(returned.transfer, { returnedMinor: 45_00, unsettledMinor: 50_00, expectedMinor: 50_00 })
  t.match(await act(ada, trackingId, 'reopen', { revision: 3, reason: 'the money arrived' }), { status: 403 })
  const reopened = await act(cem, trackingId, 'reopen', { revision: 3, reason: 'the money arrived' })
  t.match(reopened.transfer, { status: 'ManualControl' })
  t.ok(reopened.transfer.actions.includes('complete'))
  const amounts = { amountMinor: 50_00, confirmedAmountMinor: 50_00 }
  const completed = await act(ada, trackingId, 'complete', { revision: 4, ...amounts })
  t.match(completed.transfer, { status: 'Completed', transactionAmountMinor: 50_00, hasAmountMismatch: true })
  t.match(await act(cem, trackingId, 'resolve', { revision: 5, reason: 'so' }), { status: 200 })
  const other = await post(app, paths.native, createBody('native', secretKey), { key: webApiKey })
  const sent = await act(ada, other.json().result.trackingId, 'manual-control', { revision: 0, message: 'look' })
  t.match(sent.transfer, { status: 'ManualControl', message: 'look' })
})

t.test('records money of a payout that comes back, and an approver resolves it', async (t) => {
  t.equal((await cem.post('/session/confirm', { password })).statusCode, 200)
  const trackingId = await withdrawal()
  t.notOk((await seen(ada, trackingId)).actions.includes('payout-returned'), 'it is not paid yet')
  await transfers.act(trackingId, { type: 'Complete' }, context)
  const { amountMinor } = await seen(ada, trackingId)
  t.ok((await seen(ada, trackingId)).actions.includes('payout-returned'))
  const viewer = await person('Vera', 'viewer')
  const body = { revision: 1, amountMinor: 40_00, reasonCode: 'AC04', reference: 'RT-1' }
  t.match(await act(viewer, trackingId, 'payout-returned', body), { status: 403 })
  t.notOk((await seen(viewer, trackingId)).actions.includes('payout-returned'))
  const returned = await act(ada, trackingId, 'payout-returned', body)
  t.match(returned.transfer, {
    ...{ status: 'Completed', needsAttention: true, transactionAmountMinor: amountMinor, returnedMinor: 40_00 },
    ...{ keptMinor: amountMinor - 40_00, unsettledMinor: 40_00, resolvedMinor: 0 },
    payoutReturns: [{ amountMinor: 40_00, reasonCode: 'AC04', reference: 'RT-1', receiptUrl: null }],
  })
  t.notOk(returned.transfer.actions.includes('resolve'), 'only an approver resolves it')
  t.match(await act(ada, trackingId, 'payout-returned', body), { status: 200 }, 'a repeat')
  for (const fields of [{ reasonCode: 'XX99' }, { reasonCode: 'AC04X' }, { amountMinor: 0 }, { reference: ' ' }])
    t.match(await act(ada, trackingId, 'payout-returned', { ...body, revision: 2, ...fields }), { status: 400 })
  const tooMuch = { ...body, revision: 2, amountMinor, reference: 'RT-2' }
  t.match(await act(ada, trackingId, 'payout-returned', tooMuch), { status: 409, rule: 'payout-return-too-large' })
  t.ok((await seen(cem, trackingId)).actions.includes('resolve'))
  const resolved = await act(cem, trackingId, 'resolve', { revision: 2, reason: 'paid in cash' })
  t.match(resolved.transfer, { needsAttention: false, unsettledMinor: 0, resolvedMinor: 40_00 })
})

t.test('shows the metadata of a transfer to its own merchant, until the customer is erased', async (t) => {
  const trackingId = await withdrawal({ userId: 'u-metadata', metadata: misleadingMetadata })
  t.strictSame((await seen(ada, trackingId)).metadata, misleadingMetadata)
  t.equal((await seen(ada, await withdrawal())).metadata, null)
  const foreign = await (await person('Gül', 'approver', [(await service.merchant()).id])).get(
    `/transfers/${trackingId}`,
  )
  t.equal(foreign.statusCode, 404)
  t.notMatch(foreign.body, /xMinor/)
  const story = (await ada.get(`/transfers/${trackingId}/story`)).json()
  t.strictSame(story.items[0].data.metadata, misleadingMetadata)
  const claimed = await act(ada, trackingId, 'claim', { revision: 0 })
  t.strictSame(claimed.transfer.metadata, misleadingMetadata, 'the response of an action is complete')
  t.equal((await act(ada, trackingId, 'cancel', { revision: 1, message: 'x' })).status, 200)
  const administrator = await person('Root', 'administrator')
  const customer = { merchantId: id, userId: 'u-metadata', reason: 'x' }
  const erased = await administrator.post('/privacy/erase', customer)
  t.equal(erased.statusCode, 200, erased.body)
  t.strictSame((await seen(ada, trackingId)).metadata, {})
})

t.test('hides transfers of other merchants for every action, and names an invalid text or amount', async (t) => {
  const foreignUser = await person('Eve', 'approver', [(await service.merchant()).id])
  const trackingId = await withdrawal()
  t.equal((await foreignUser.get(`/transfers/${trackingId}`)).statusCode, 404)
  const message = { revision: 0, message: 'x' }
  const reason = { revision: 0, reason: 'x' }
  const decision = { revision: 0, refundId: randomUUID() }
  const actions: readonly (readonly [action: string, body: Body])[] = [
    ...[
      ['claim', { revision: 0 }] as const,
      ['release', { revision: 0 }] as const,
      ['approve', { revision: 0 }] as const,
    ],
    ...[['complete', { revision: 0 }] as const, ['cancel', message] as const, ['manual-control', message] as const],
    ...[['resolve', reason] as const, ['reopen', reason] as const],
    ['return', { revision: 0, amountMinor: 1, receiptUrl: 'https://r.example' }],
    ['payout-returned', { revision: 0, amountMinor: 1, reasonCode: 'AC04', reference: 'RT' }],
    ['refund', { revision: 0, amountMinor: 1, accountNumber: 'TR33' }],
    ['pay-again', { revision: 0, amountMinor: 1, accountNumber: 'TR33' }],
    ...[['approve-refund', decision] as const, ['reject-refund', decision] as const],
  ]
  for (const [action, body] of actions)
    t.match(await act(foreignUser, trackingId, action, body), { status: 404, code: 40402 })
  for (const [action, body] of [
    ['cancel', { revision: 0, message: ' ' }],
    ['complete', { revision: 0, receiptUrl: 'javascript:alert(1)' }],
    ['complete', { revision: 0, amountMinor: 0 }],
    ['complete', { revision: 0, amountMinor: 1.5 }],
    ['claim', {}],
  ] as const) {
    t.match(await act(ada, trackingId, action, body), { status: 400, code: 40001 }, JSON.stringify(body))
  }
  t.strictSame(await typesOf(trackingId), ['WithdrawalCreated'])
})

t.test('a refund happens once for each user and state, and a second user sees the change', async (t) => {
  const created = await post(app, paths.native, createBody('native', secretKey), { key: webApiKey })
  const { trackingId } = created.json().result
  await transfers.act(trackingId, { type: 'Complete' }, context)
  const body = { revision: 1, amountMinor: 30_00, accountNumber: 'TR330006100519786457841326' }
  const requested = await act(ada, trackingId, 'refund', body)
  t.match(requested, {
    status: 200,
    transfer: { refundableMinor: 70_50, refunds: [{ amountMinor: 30_00, state: 'open' }] },
  })
  t.strictSame((await act(ada, trackingId, 'refund', body)).transfer, requested.transfer, 'a repeat')
  t.match(await act(bob, trackingId, 'refund', body), { status: 409, rule: 'changed-meanwhile' })
  t.match(await act(bob, trackingId, 'refund', { ...body, revision: 2, amountMinor: 70_51 }), {
    ...{ status: 409, rule: 'refund-too-large' },
  })
  t.match(await act(ada, trackingId, 'refund', { ...body, revision: 2, accountNumber: ' ' }), { status: 400 })
})

t.test('claims and completes a batch sequentially, each transfer with its own result', async (t) => {
  const [free, taken, third] = [await withdrawal(), await withdrawal(), await withdrawal()]
  const deposit = (await post(app, paths.native, createBody('native', secretKey), { key: webApiKey })).json().result
    .trackingId
  await act(bob, taken, 'claim', { revision: 0 })
  const unknown = randomUUID()
  const ids = [free, taken, unknown, deposit, third]
  const claimed = await ada.post('/withdrawals/claim', {
    items: ids.map((trackingId) => ({ trackingId, revision: 0 })),
  })
  t.equal(claimed.statusCode, 200)
  t.match(claimed.json().items, [
    { trackingId: free, transfer: { revision: 1, claim: { mine: true } }, error: null },
    {
      trackingId: taken,
      transfer: { claim: { name: 'Bob' } },
      error: {
        ...{ code: 40911, rule: 'changed-meanwhile' },
        values: { changes: [{ type: 'WithdrawalClaimed', by: 'Bob', at: now }] },
      },
    },
    { trackingId: unknown, transfer: null, error: { code: 40402 } },
    { trackingId: deposit, error: { code: 40402 } },
    { trackingId: third, transfer: { revision: 1 }, error: null },
  ])
  const items = [free, taken, third].map((trackingId) => ({
    trackingId,
    revision: 1,
    receiptUrl: 'https://bank.example/b',
  }))
  const completed = await ada.post('/withdrawals/complete', { items })
  t.match(completed.json().items, [
    { transfer: { status: 'Completed', receiptUrl: 'https://bank.example/b' }, error: null },
    { transfer: { status: 'Pending' }, error: { code: 40921 } },
    { transfer: { status: 'Completed' }, error: null },
  ])
  t.strictSame(
    (await ada.post('/withdrawals/complete', { items })).json().items[0],
    completed.json().items[0],
    'a repeat returns the same result',
  )
  const none = { items: [] }
  t.equal((await ada.post('/withdrawals/claim', none)).statusCode, 400)
})

t.test('a batch leaves out withdrawals in manual control, unless the user asks for them', async (t) => {
  const trackingId = await withdrawal()
  await act(ada, trackingId, 'claim', { revision: 0 })
  await act(ada, trackingId, 'manual-control', { revision: 1, message: 'look' })
  const items = [{ trackingId, revision: 2 }]
  const file = await ada.post('/withdrawals/bank-file', { format: 'csv', trackingIds: [trackingId] })
  t.match(file.json(), { error: { validationErrors: [{ rule: 'in-manual-control', members: ['trackingIds[0]'] }] } })
  const unasked = await ada.post('/withdrawals/complete', { items })
  t.match(unasked.json().items, [{ transfer: { status: 'ManualControl' }, error: { rule: 'in-manual-control' } }])
  const requested = await ada.post('/withdrawals/complete', { items, manualControl: true })
  t.match(requested.json().items, [{ transfer: { status: 'Completed' }, error: null }])
})

t.test('a bank file contains exactly the claimed withdrawals of the viewer', async (t) => {
  const [one, two] = [await withdrawal({ name: '=1+1' }), await withdrawal()]
  await act(ada, one, 'claim', { revision: 0 })
  const refused = await ada.post('/withdrawals/bank-file', { format: 'csv', trackingIds: [one, two] })
  const { referenceId } = await seen(ada, two)
  const problem = {
    ...{ message: `${referenceId}: Claim the withdrawal before you settle it.`, members: ['trackingIds[1]'] },
    ...{ rule: 'claim-needed', values: {}, subject: referenceId },
  }
  t.match(refused.json(), { error: { code: 40001, rule: 'invalid-request', validationErrors: [problem] } })
  await act(ada, two, 'claim', { revision: 0 })
  const csv = await ada.post('/withdrawals/bank-file', { format: 'csv', trackingIds: [one, one.toUpperCase(), one] })
  t.equal(csv.statusCode, 200)
  t.match(csv.headers, {
    'content-type': 'text/csv; charset=utf-8',
    'content-disposition': /^attachment; filename="withdrawals-for-bank-pay.example-\d{4}-\d\d-\d\d-[0-9a-f]{32}.csv"$/,
  })
  t.match(csv.body, `,=1+1,DE89370400440532013000,100.50,EUR`)
  t.equal(csv.body.trimEnd().split('\r\n').length, 2, 'a withdrawal is included once, regardless of the case of its id')
  const debtor = { name: 'Shop', iban: 'DE02120300000000202051' }
  const batch = { format: 'pain.001', trackingIds: [one, two], debtor, timeZone: 'Pacific/Auckland' }
  const messageId = /-([0-9a-f]{32}).csv/.exec(String(csv.headers['content-disposition']))![1]
  const repeat = { reason: 'the bank rejected the first file', files: [messageId] }
  const second = { rule: 'in-bank-file', values: { by: 'Ada', file: messageId, done: now } }
  t.match((await ada.post('/withdrawals/bank-file', batch)).json(), {
    error: { validationErrors: [{ members: ['trackingIds[0]'], ...second }] },
  })
  const sepa = await ada.post('/withdrawals/bank-file', { ...batch, repeat })
  t.match(sepa.headers, { 'content-type': 'application/xml; charset=utf-8' })
  t.match(sepa.body, /<CtrlSum>201.00<\/CtrlSum>/)
  // 21 November 2026 is a Saturday.
  t.match(sepa.body, /<Dt>2026-11-23<\/Dt>/)
  t.match(sepa.headers['content-disposition'], 'withdrawals-for-bank-pay.example-2026-11-23-')
  const zone = await ada.post('/withdrawals/bank-file', { ...batch, repeat, timeZone: 'Mars/Olympus' })
  t.match(zone.json(), { error: { validationErrors: [{ members: ['timeZone'], rule: 'time-zone-invalid' }] } })
  const wrong = { date: '2026-11-22', debtor: { ...debtor, address: { town: '\u00a8', country: 'DE' } } }
  t.match((await ada.post('/withdrawals/bank-file', { ...batch, ...wrong })).json(), {
    error: {
      validationErrors: [
        { members: ['trackingIds[0]'], rule: 'in-bank-file' },
        { members: ['trackingIds[1]'], rule: 'in-bank-file' },
        { members: ['debtor.address.town'], rule: 'not-sepa-text' },
        { members: ['date'], rule: 'not-target-day', values: { next: '2026-11-23' } },
      ],
    },
  })
  const others = await bob.post('/withdrawals/bank-file', { format: 'csv', trackingIds: [one] })
  t.match(others.body, /Ada holds the withdrawal, because it is in the bank file/)
  t.match(await seen(bob, one), { bankFile: { name: 'Ada', at: now }, claim: { name: 'Ada', until: null } })
  t.equal((await ada.post('/withdrawals/bank-file', { format: 'csv', trackingIds: [randomUUID()] })).statusCode, 404)
})
