import t from 'tap'
import type { MerchantItem, TransferDetail, TransferRow } from '../../../src/http/dashboard/api.js'
import { addMs, minuteMs } from '../../../src/kernel/time.js'
import { password, signInAs } from '../../support/dashboard.js'
import { createBody, paths, post } from '../../support/merchant-requests.js'
import { destroyTestService, startTestService } from '../../support/test-service.js'
import { until } from '../../support/until.js'

let now = '2026-11-21T10:00:00.000Z'
let elapsedMs = 0
const service = await startTestService({
  projections: true,
  clock: () => now,
  overrides: {
    currency: { code: 'EUR', decimals: 2 },
    // The clock advances a minute at each reading, because more users sign in from one address than its limit allows.
    monotonicMs: () => {
      elapsedMs += 60_000
      return elapsedMs
    },
  },
})
t.teardown(() => destroyTestService(service))
const { app, merchants, directory } = service
const context = { actor: 'cli:root', $correlationId: 'c', $causationId: 'c' }
const limit = { per: 'account', hours: 24, count: 1, amountMinor: null } as const
const shop = await service.merchant({ withdrawalLimits: [limit] })
const clerk = await signInAs(service, 'operator', [shop.id])
const approver = await signInAs(service, 'approver', [shop.id])

async function withdrawal(of = shop): Promise<string> {
  const body = createBody('withdrawal', of.secretKey, { accountNumber: 'DE89370400440532013000' })
  return (await post(app, paths.withdrawal, body, { key: of.webApiKey })).json().result.trackingId
}

type Person = typeof clerk
const act = async ({ post }: Person, trackingId: string, action: string, revision: number) => {
  const response = await post(`/transfers/${trackingId}/${action}`, { revision })
  return { ...response.json(), code: response.statusCode }
}
const seen = async ({ get }: Person, trackingId: string) =>
  (await get(`/transfers/${trackingId}`)).json<TransferDetail>()

t.test('the page and the queue say which limit a withdrawal is beyond, and who can act', async (t) => {
  const [first, second] = [await withdrawal(), await withdrawal()]
  t.match(await seen(clerk, second), { exceeded: [], awaitsApproval: false, approval: { needed: false } })
  t.equal((await act(clerk, first, 'claim', 0)).code, 200)
  const exceeded = [{ ...limit, actualCount: 2, actualMinor: 201_00 }]
  const awaiting = { exceeded, awaitsApproval: true, approval: { needed: true, by: null } }
  t.match(await seen(clerk, second), awaiting, 'before its payout starts')
  t.match(await act(clerk, second, 'claim', 0), { ...awaiting, actions: ['release', 'cancel', 'manual-control'] })
  t.match(
    await seen(clerk, first),
    { exceeded: [], awaitsApproval: false },
    'the earlier payout stays within the limit',
  )
  t.match(await act(clerk, second, 'complete', 1), {
    code: 409,
    error: {
      code: 40924,
      rule: 'limit-exceeded',
      values: { amount: 100_50, exceeded },
      details: /because it is beyond a limit: 2 withdrawals to this account in 24 hours, limit 1\.$/,
    },
  })
  const queue = async () =>
    (await approver.get('/withdrawals/queue?tab=approval')).json<{ items: TransferRow[] }>().items
  await until(async () => (await queue()).length === 1, 10_000)
  t.match(await queue(), [{ trackingId: second, exceeded, awaitsApproval: true, canApprove: true, canPay: false }])
  t.match(await act(approver, second, 'approve', 1), {
    awaitsApproval: false,
    approval: { by: { amountMinor: 100_50 } },
  })
  t.match(await act(clerk, second, 'complete', 2), { status: 'Completed', exceeded: [] })
})

t.test('a payment beyond a limit needs a recent sign-in, like one above the threshold', async (t) => {
  const stale = await signInAs(service, 'operator', [shop.id])
  const trackingId = await withdrawal()
  t.equal((await act(stale, trackingId, 'claim', 0)).code, 200)
  t.equal((await act(approver, trackingId, 'approve', 1)).error, undefined)
  now = addMs(now, 11 * minuteMs)
  t.match(await act(stale, trackingId, 'complete', 2), { code: 403, error: { code: 40307 } })
  t.equal((await stale.post('/session/confirm', { password })).statusCode, 200)
  t.match(await act(stale, trackingId, 'complete', 2), { status: 'Completed' })
})

t.test('a program learns from the claim that a withdrawal needs an approval', async (t) => {
  const created = await merchants.createApiKey(
    shop.id,
    { name: 'payouts', scopes: ['settlement', 'read'], validUntil: null },
    context,
  )
  if (!created.accepted) throw new Error('the key was rejected')
  const key = created.webApiKey
  await service.until(() => directory.byApiKey(key) !== undefined)
  const trackingId = await withdrawal()
  const send = async (action: string, revision: number) =>
    (await post(app, `/v1/withdrawals/${trackingId}/${action}`, JSON.stringify({ revision }), { key })).json()
  const exceededLimits = [{ per: 'account', hours: 24, count: 1, amount: null, actualCount: 4, actualAmount: 402 }]
  t.match(await send('claim', 0), { exceededLimits })
  t.match(await send('complete', 1), {
    error: { code: 40924, message: 'Another user must approve this payment first.' },
  })
  const get = async (path: string) =>
    (await app.inject({ url: path, headers: { WebApiKey: key }, remoteAddress: '127.0.0.1' })).json()
  t.match(await get(`/v1/transfers/${trackingId}`), { exceededLimits })
  const listed = async () => (await get('/v1/transfers?kind=withdrawal&limit=100')).items
  const isListed = ({ trackingId: id, revision }: { readonly trackingId: string; readonly revision: number }) =>
    id === trackingId && revision === 1
  await until(async () => (await listed()).some(isListed), 10_000)
  t.match((await listed()).find(isListed), { exceededLimits })
  t.equal((await approver.post('/session/confirm', { password })).statusCode, 200)
  t.match(await act(approver, trackingId, 'approve', 1), { awaitsApproval: false })
  t.match(await send('complete', 2), { status: 2, exceededLimits: [] })
})

t.test('one administrator lowers limits, and two raise or remove them', async (t) => {
  const [alice, bob] = [await signInAs(service, 'administrator'), await signInAs(service, 'administrator')]
  const other = await service.merchant({})
  const path = `/merchants/${other.id}`
  const shown = async () => {
    const { items } = (await alice.get('/merchants')).json<{ items: MerchantItem[] }>()
    return items.find(({ merchantId }) => merchantId === other.id)!
  }
  const change = async (changes: object) => {
    const { revision } = await shown()
    return (await alice.patch(path, { ...changes, revision })).json()
  }
  const limits = [limit, { per: 'merchant', hours: 720, count: null, amountMinor: 500_00 }]
  t.match(await change({ withdrawalLimits: limits, approvalOverDay: true }), {
    settings: { withdrawalLimits: limits, approvalOverDay: true },
    proposedThreshold: null,
  })
  const higher = [{ ...limit, count: 2 }, limits[1]]
  const proposed = await change({ withdrawalLimits: higher, approvalOverDay: false })
  t.match(proposed, {
    settings: { withdrawalLimits: limits, approvalOverDay: true },
    proposedThreshold: { approvalAboveMinor: null, withdrawalLimits: higher, approvalOverDay: false },
  })
  const { revision } = await shown()
  t.match((await alice.post(`${path}/confirm-threshold`, { revision })).json(), {
    error: { rule: 'second-administrator-needed' },
  })
  t.match((await bob.post(`${path}/confirm-threshold`, { revision })).json(), {
    settings: { withdrawalLimits: higher, approvalOverDay: false },
    proposedThreshold: null,
  })
  for (const [withdrawalLimits, rule] of [
    [[limit, limit], 'limits-repeated'],
    [[{ ...limit, count: null }], 'limit-empty'],
    [[{ ...limit, count: 0 }], 'whole-number'],
    [[{ ...limit, amountMinor: 0 }], 'above'],
  ] as const)
    t.match((await change({ withdrawalLimits })).error.validationErrors, [{ rule }], rule)
  t.match((await change({ withdrawalLimits: [{ ...limit, hours: 12 }] })).error, { code: 40001 })
})
