import { randomUUID } from 'node:crypto'
import t from 'tap'
import { signInAs } from '../../support/dashboard.js'
import { MemoryWallet } from '../../support/memory-wallet.js'
import { createBody, paths, post, walletPaths } from '../../support/merchant-requests.js'
import { destroyTestService, startTestService } from '../../support/test-service.js'

const cli = { actor: 'cli:grace', $correlationId: 'job-1', $causationId: 'job-1' }
const system = { actor: 'system:callbacks', $correlationId: 'c', $causationId: 'c' }
const wallet = new MemoryWallet()
wallet.open('customer@example.com', '734219', 1_000_00n)
const service = await startTestService({ projections: true, wallet })
t.teardown(() => destroyTestService(service))
const { app, callbacks, transfers } = service
const [own, other] = [await service.merchant({ name: 'İstanbul Shop' }), await service.merchant({ name: 'Other' })]

async function deposit(merchant: typeof own, referenceId: string = randomUUID()): Promise<string> {
  const body = createBody('native', merchant.secretKey, { referenceId })
  const response = await post(app, paths.native, body, {
    key: merchant.webApiKey,
    headers: { 'x-request-id': 'create-1' },
  })
  return String(response.json().result.trackingId)
}

interface Told {
  readonly source: string
  readonly type: string
  readonly actor: string
  readonly data: Record<string, unknown>
}

t.test('shows the history of a transfer from all its streams in the order of the log, without secrets', async (t) => {
  const trackingId = await deposit(own)
  const send = (url: string, fields: object) =>
    post(app, url, JSON.stringify({ trackingId, ...fields }), { key: own.webApiKey })
  const loggedIn = await send(walletPaths.logIn, { userName: 'customer@example.com', password: '734219' })
  t.equal(loggedIn.json().success, true)
  const token = loggedIn.json().result
  const code = wallet.lastCode()
  t.equal((await send(walletPaths.code, { token, code })).json().success, true)
  const sent = await transfers.act(trackingId, { type: 'SendToManualControl', message: 'Please wait.' }, cli)
  t.ok(sent.accepted)
  const webhookId = randomUUID()
  const amounts = { amountMinor: 100_50n, transactionAmountMinor: 0n, hasAmountMismatch: false }
  const payload = { status: 3, referenceId: 'r', message: null, receiptUrl: null, ...amounts }
  await callbacks.record({ webhookId, trackingId, merchantId: own.id, transferRevision: 1, payload }, system)
  const outcome = { result: 'failed', reason: 'http 500', nextAttemptAt: '2026-11-22T10:00:00.000Z' } as const
  await callbacks.reportAttempt(trackingId, webhookId, { attempt: 1, httpStatus: 500, durationMs: 12, outcome }, system)
  const operator = await signInAs(service, 'operator', [own.id])
  t.equal((await operator.post('/callbacks/resend', { callbacks: [{ trackingId, webhookId }] })).statusCode, 200)

  const response = await operator.get(`/transfers/${trackingId.toUpperCase()}/story`)
  const items: Told[] = response.json().items
  t.same(
    items.map(({ source, type, actor }) => [source, type, actor]),
    [
      ['transfer', 'DepositCreated', `merchant:${own.id}`],
      ['payment', 'WalletLoggedIn', `merchant:${own.id}`],
      ['payment', 'WalletCodeAttempted', `merchant:${own.id}`],
      ['payment', 'WalletCodeVerified', `merchant:${own.id}`],
      ['payment', 'WalletDeviceQuestioned', `merchant:${own.id}`],
      ['transfer', 'TransferSentToManualControl', 'operator'],
      ['callback', 'CallbackRecorded', 'system:callbacks'],
      ['callback', 'CallbackAttemptFailed', 'system:callbacks'],
      ['callback', 'CallbackRequeued', 'The operator'],
    ],
  )
  t.match(items[0], { revision: 0, correlationId: 'create-1', data: { name: 'Ada Lovelace', channel: 'native' } })
  t.match(items[6]?.data, { webhookId, payload: { status: 3, amountMinor: 100_50 } })
  t.match(items[7]?.data, { attempt: 1, httpStatus: 500, durationMs: 12, reason: 'http 500' })
  const challenge = (await service.store.readStream(`payment-${trackingId}`))[0]!.data.challengeId
  for (const secret of [String(challenge), token, code, '734219', own.secretKey])
    t.notOk(response.body.includes(secret))
  t.notMatch(response.body, /accountNumber/, 'the wallet account of the customer is hidden from the merchant')

  const auditor = await signInAs(service, 'auditor')
  const seen: Told[] = (await auditor.get(`/transfers/${trackingId}/story`)).json().items
  t.equal(seen[5]?.actor, 'cli:grace')
  t.type(seen[1]?.data.accountNumber, 'number')
  for (const id of [await deposit(other), randomUUID(), 'nonsense']) {
    t.equal((await operator.get(`/transfers/${id}/story`)).statusCode, 404, id)
  }
})

t.test('hides the names of staff from merchants, but not from staff', async (t) => {
  const { id } = await service.merchant()
  const staff = await signInAs(service, 'operations')
  const merchant = { ...own, id }
  const issued = await service.merchant()
  const trackingId = await deposit(issued)
  const by = { actor: `user:${staff.userId}`, $correlationId: 'x', $causationId: 'x' }
  t.ok((await transfers.act(trackingId, { type: 'Cancel', message: 'No.' }, by)).accepted)
  const actors = async (who: typeof staff) =>
    (await who.get(`/transfers/${trackingId}/story`)).json().items.map(({ actor }: Told) => actor)
  t.equal((await actors(await signInAs(service, 'viewer', [issued.id, merchant.id])))[1], 'operator')
  t.equal((await actors(await signInAs(service, 'auditor')))[1], 'The operations')
})

t.test('lists changes of merchants and users, newest first and without secrets', async (t) => {
  const admin = await signInAs(service, 'administrator')
  const changed = await service.merchant({ name: 'Changed' })
  t.equal(
    (await admin.patch(`/merchants/${changed.id}`, { name: 'Renamed', approvalAboveMinor: 500, revision: 0 }))
      .statusCode,
    200,
  )
  t.equal((await admin.post(`/merchants/${changed.id}/rotate`, { secret: 'secretKey' })).statusCode, 200)
  t.equal((await admin.post(`/merchants/${changed.id}/keys`, { name: 'k', scopes: ['read'] })).statusCode, 200)
  const made = await admin.post('/users', { email: 'new@example.com', name: 'New', role: 'auditor' })
  const { userId } = made.json().user
  t.equal((await admin.post(`/users/${userId}/disable`)).statusCode, 200)

  const response = await admin.get(`/changes?subject=${changed.id}`)
  t.match(response.json().items, [
    { type: 'ApiKeyCreated', actor: 'The administrator', data: { name: 'k', scopes: ['read'] } },
    { type: 'SecretKeyRotated', actor: 'The administrator' },
    { type: 'MerchantSettingsChanged', data: { changes: { name: 'Renamed', approvalAboveMinor: 500 } } },
    { type: 'MerchantRegistered', actor: 'test', data: { settings: { name: 'Changed' } } },
  ])
  const ofUser = await admin.get(`/changes?subject=${userId}`)
  t.match(ofUser.json().items, [
    { type: 'UserDisabled' },
    { type: 'UserCreated', data: { name: 'New', role: 'auditor' } },
  ])
  const overall = await admin.get('/changes')
  const { items } = overall.json()
  t.match(items.slice(0, 3), [
    { type: 'UserDisabled', subject: userId },
    { type: 'UserCreated' },
    { type: 'ApiKeyCreated', subject: changed.id },
  ])
  t.ok(items.length > 8 && items.length <= 200)
  t.notOk(
    items.some(({ type }: { type: string }) => type === 'UserSignedIn'),
    'a sign-in is not listed as a change',
  )
  for (const { body } of [response, ofUser, overall]) {
    t.notMatch(body, /v1\.[A-Za-z0-9_-]+\.|[0-9a-f]{64}|argon2|(tk|sk|whsec)_/)
    t.notOk(body.includes(made.json().password))
  }
  t.same((await admin.get(`/changes?subject=${randomUUID()}`)).json().items, [])
  t.equal((await (await signInAs(service, 'operations')).get('/changes')).statusCode, 403)
})

t.test(
  'the palette finds visible transfers by id and reference, merchants, and users with the permission',
  async (t) => {
    const referenceId = `order-${randomUUID()}`
    const [mine, foreign] = [await deposit(own, referenceId), await deposit(other, referenceId)]
    const viewer = await signInAs(service, 'viewer', [own.id])
    const admin = await signInAs(service, 'administrator')
    const find = async (who: typeof viewer, text: string) =>
      (await who.get(`/search?text=${encodeURIComponent(text)}`)).json().items
    const begin = mine.slice(0, 8).toUpperCase()
    for (let i = 0; i < 300 && (await find(admin, referenceId)).length < 2; i++) {
      await new Promise((resolve) => setTimeout(resolve, 20))
    }
    const transfer = { kind: 'deposit', status: 'Pending', amountMinor: 100_50 }
    const found = { type: 'transfer', id: mine, title: referenceId, subtitle: 'Ada Lovelace', transfer }
    t.match(await find(viewer, ` ${referenceId} `), [found])
    t.ok(
      (await find(viewer, 'lovel ADA')).some(({ id }: { id: string }) => id === mine),
      'by the words of its name',
    )
    const both = (await find(admin, referenceId)).map(({ id }: { id: string }) => id)
    t.same(new Set(both), new Set([mine, foreign]))
    t.match(await find(viewer, begin), [{ type: 'transfer', id: mine }])
    t.match(await find(viewer, mine), [{ type: 'transfer', id: mine }])
    t.same(await find(viewer, foreign), [])
    for (const text of ['istanbul', 'İST', 'ıstanbul', 'shop', own.id.slice(0, 8)]) {
      t.match(await find(viewer, text), [{ type: 'merchant', id: own.id, title: 'İstanbul Shop' }], text)
    }
    t.same(await find(viewer, 'Other'), [], 'the merchant of another user is not found')
    t.match(await find(admin, 'Other'), [{ type: 'merchant', id: other.id }])
    t.match(await find(admin, viewer.email.toUpperCase()), [
      { type: 'user', id: viewer.userId, subtitle: viewer.email },
    ])
    t.match(await find(admin, 'VIEW'), [{ type: 'user' }])
    t.same(await find(viewer, viewer.email), [], 'users are visible only with the permission')
    for (let n = 0; n < 12; n++) await signInAs(service, 'auditor')
    t.equal((await find(admin, 'auditor')).length, 6)
    t.equal((await viewer.get('/search?text=')).statusCode, 400)
    t.same(await find(viewer, '%_*'), [])
  },
)
