import { randomUUID } from 'node:crypto'
import t from 'tap'
import { createBody, paths, post } from '../support/merchant-requests.js'
import { destroyTestService, startTestService } from '../support/test-service.js'
import { until } from '../support/until.js'

const service = await startTestService({ projections: true })
t.teardown(() => destroyTestService(service))
const { app, merchants, transfers, directory } = service
const context = { actor: 'cli:ada', $correlationId: 'c', $causationId: 'c' }
const shop = await service.merchant()
const created = await merchants.createApiKey(
  shop.id,
  { name: 'pay', scopes: ['settlement'], validUntil: null },
  context,
)
if (!created.accepted) throw new Error('the key was rejected')
const key = created.webApiKey
await service.until(() => directory.byApiKey(key) !== undefined)

async function withdrawal({ isPaid }: { readonly isPaid: boolean }): Promise<string> {
  const body = createBody('withdrawal', shop.secretKey, {}, '100.00')
  const { trackingId } = (await post(app, paths.withdrawal, body, { key: shop.webApiKey })).json().result
  if (isPaid) await transfers.act(trackingId, { type: 'Complete' }, context)
  return trackingId
}
async function returned(trackingId: string, body: object) {
  const response = await post(app, `/v1/withdrawals/${trackingId}/returned`, JSON.stringify(body), { key })
  const answer = response.json()
  return { status: response.statusCode, body: answer, error: answer.error }
}
const valid = { revision: 1, amount: 60, reasonCode: 'AC04', reference: 'RT-1' }

t.test('records money of a payout that comes back once, and shows it in the history and the feed', async (t) => {
  const trackingId = await withdrawal({ isPaid: true })
  const done = await returned(trackingId, valid)
  const money = { transactionAmount: 100, returnedAmount: 60, resolvedAmount: 0, lateFunds: 60, receivedAmount: 0 }
  t.match(done, { status: 200, body: { statusDescription: 'Completed', needsAttention: true, revision: 2, ...money } })
  t.strictSame((await returned(trackingId, { ...valid, reference: ' RT-1 ' })).body, done.body, 'a repeat')
  t.match(await returned(trackingId, { ...valid, amount: 59 }), {
    ...{ status: 409, error: { details: 'A return of 60.00 for AC04 with the reference RT-1 is already recorded.' } },
  })
  t.match(await returned(trackingId, { ...valid, revision: 2, amount: 40.01, reference: 'RT-2' }), {
    ...{ status: 409, error: { details: 'No more than 40.00 of the paid amount can still come back.' } },
  })
  await transfers.act(trackingId, { type: 'ResolveAttention', reason: 'paid in cash' }, context)
  const later = await returned(trackingId, valid)
  t.match(later, { status: 200, body: { needsAttention: false, resolvedAmount: 60, lateFunds: 0, revision: 3 } })
  const headers = { webapikey: shop.webApiKey }
  const history = (await app.inject({ url: `/v1/transfers/${trackingId}/events`, headers })).json()
  const data = {
    by: `merchant:${shop.id}`,
    returnedAmount: 60,
    reasonCode: 'AC04',
    reference: 'RT-1',
    receiptUrl: null,
  }
  t.match(history.items[2], { type: 'WithdrawalReturned', data })
  t.notOk('callbackOnMoney' in history.items[2].data)
  const types = async (): Promise<readonly string[]> => {
    const feed = (await app.inject({ url: '/v1/events', headers })).json()
    return feed.items.map(({ type }: { readonly type: string }) => type)
  }
  await until(async () => (await types()).includes('WithdrawalReturned'))
})

t.test('rejects a return of what is not completed, and bad fields', async (t) => {
  const trackingId = await withdrawal({ isPaid: false })
  const early = await returned(trackingId, { ...valid, revision: 0 })
  t.match(early, { status: 409, error: { details: /^The withdrawal is Pending/ } })
  for (const [fields, member] of [
    [{ amount: 0 }, 'amount'],
    [{ amount: undefined }, 'amount'],
    [{ amount: 1.234 }, 'amount'],
    [{ reasonCode: undefined }, 'reasonCode'],
    [{ reasonCode: 'ac04' }, 'reasonCode'],
    [{ reasonCode: 'XX99' }, 'reasonCode'],
    [{ reasonCode: 'AC04 ' }, 'reasonCode'],
    [{ reference: ' ' }, 'reference'],
    [{ reference: undefined }, 'reference'],
    [{ receiptUrl: 'javascript:alert(1)' }, 'receiptUrl'],
  ] as const) {
    const { status, error } = await returned(trackingId, { ...valid, ...fields })
    t.match([status, error?.validationErrors?.[0]?.members], [400, [member]], JSON.stringify(fields))
  }
  const unknown = await returned(trackingId, { ...valid, reasonCode: 'XX99' })
  t.match(unknown.error.validationErrors[0].message, /such as AC04. Use NARR for any other reason.$/)
  t.match(await returned(randomUUID(), valid), { status: 404 })
  const deposit = createBody('hosted', shop.secretKey, {}, '100.00')
  const other = (await post(app, paths.hosted, deposit, { key: shop.webApiKey })).json().trackingId
  t.match(await returned(other, valid), { status: 404 }, 'a deposit')
})

t.test('pays again what came back, and both withdrawals name each other', async (t) => {
  const trackingId = await withdrawal({ isPaid: true })
  await returned(trackingId, valid)
  const path = `/v1/withdrawals/${trackingId}/repayments`
  const body = { revision: 2, amount: 60, referenceId: randomUUID(), accountNumber: 'TR940006100519786457009931' }
  const send = async (fields: object) => (await post(app, path, JSON.stringify({ ...body, ...fields }), { key })).json()
  const requested = await send({})
  t.match(requested, {
    ...{ reservedAmount: 60, needsAttention: false, lateFunds: 60, revision: 3 },
    repayments: [{ referenceId: body.referenceId, amount: 60, state: 'open', accountNumber: body.accountNumber }],
  })
  t.strictSame(await send({}), requested, 'a repeat gets the same response')
  const other = await send({ referenceId: randomUUID(), revision: 3 })
  t.match(other.error, { details: 'Only 0.00 can be paid again.' })
  const { repaymentId } = requested.repayments[0]
  const read = async (id: string) =>
    (await app.inject({ url: `/v1/transfers/${id}`, headers: { webapikey: shop.webApiKey } })).json()
  t.match(await read(repaymentId), {
    repaymentOf: trackingId,
    refundOf: null,
    amount: 60,
    statusDescription: 'Pending',
  })
  await transfers.act(repaymentId, { type: 'Complete' }, context)
  t.match(await read(trackingId), {
    ...{ returnedAmount: 60, resolvedAmount: 60, reservedAmount: 0, lateFunds: 0, needsAttention: false },
    repayments: [{ state: 'paid' }],
  })
})
