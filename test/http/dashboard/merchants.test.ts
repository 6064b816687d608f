import { randomUUID } from 'node:crypto'
import t, { type Test } from 'tap'
import { minuteMs } from '../../../src/kernel/time.js'
import { signInAs } from '../../support/dashboard.js'
import { createBody, paths, post } from '../../support/merchant-requests.js'
import { destroyTestService, startTestService } from '../../support/test-service.js'

let nowMs = Date.now()
const service = await startTestService({ clock: () => new Date(nowMs).toISOString() })
t.teardown(() => destroyTestService(service))
const { store, directory } = service

const codeOf = (response: { json(): { error: { code: number } } }) => response.json().error.code

/** Asserts that the response contains only the named secrets. */
function hasNoSecret(t: Test, text: string, but: readonly string[] = []) {
  const rest = but.reduce((left, secret) => left.replaceAll(secret, ''), text)
  t.notMatch(rest, /\b(tk|sk|whsec)_|v1\.[A-Za-z0-9_-]+\.|[0-9a-f]{64}/)
}

t.test('an administrator creates a merchant, whose credentials are shown once and work', async (t) => {
  const admin = await signInAs(service, 'administrator')
  const requested = {
    name: 'Shop',
    callbackUrl: 'https://shop.example/callbacks',
    allowIps: ['127.0.0.1', '10.0.0.0/8'],
  }
  const response = await admin.post('/merchants', { ...requested, sandbox: true })
  t.equal(response.statusCode, 200)
  const { merchant, webApiKey, secretKey, webhookSecret } = response.json()
  t.match(merchant, { settings: { ...requested, sandbox: true, requireSignature: 'none', approvalAboveMinor: null } })
  t.match(merchant.keys, [{ name: 'main', validUntil: null }])
  hasNoSecret(t, response.body, [webApiKey, secretKey, webhookSecret])
  const created = await post(service.app, paths.hosted, createBody('hosted', secretKey), { key: webApiKey })
  t.equal(created.statusCode, 200)
  const [registered] = await store.readStream(`merchant-${merchant.merchantId}`)
  t.equal(registered?.metadata.actor, `user:${admin.userId}`)
  t.same((await admin.get(`/merchants/${merchant.merchantId}`)).json(), merchant)
  t.match((await admin.get('/merchants')).json().items[0], merchant)
  const live = await admin.post('/merchants', requested)
  t.match(live.json().merchant.settings, { sandbox: false, requireSignature: 'withdrawals' })
  t.match(service.logLines.join(), new RegExp(`security.merchant_changed.*"merchantId":"${merchant.merchantId}"`))
})

t.test('names an invalid setting, like the command line, and changes nothing', async (t) => {
  const { id } = await service.merchant()
  const admin = await signInAs(service, 'administrator')
  const before = (await store.readStream(`merchant-${id}`)).length
  const wrong: readonly [member: string, change: object][] = [
    ['name', { name: ' ' }],
    ['name', { name: 'Shop\u202e' }],
    ['callbackUrl', { callbackUrl: 'http://10.0.0.1/' }],
    ['callbackUrl', { callbackUrl: 'https://user:secret@shop.example/' }],
    ['allowIps', { allowIps: ['10.0.0.0/33'] }],
    ['rateLimitPerSecond', { rateLimitPerSecond: 0 }],
    ['depositExpiryMinutes', { depositExpiryMinutes: 5 }],
    ['minAmountMinor', { minAmountMinor: 500, maxAmountMinor: 400 }],
    ['mismatchToleranceMinor', { mismatchToleranceMinor: -1 }],
    ['approvalAboveMinor', { approvalAboveMinor: 0 }],
    ['returnUrl', { returnUrl: 'javascript:alert(1)' }],
    ['frameAncestors', { frameAncestors: ["'self'"] }],
    ['paymentInstructions', { paymentInstructions: [{ paymentMethod: 1, text: 'by wallet' }] }],
    ['requireSignature', { requireSignature: 'some' }],
    ['manualControlAboveMinor', { manualControlAboveMinor: 1.5 }],
  ]
  for (const [member, change] of wrong) {
    const response = await admin.patch(`/merchants/${id}`, { ...change, revision: 0 })
    t.match([response.statusCode, response.json().error.validationErrors], [400, [{ members: [member] }]], member)
  }
  t.equal((await store.readStream(`merchant-${id}`)).length, before)
  const create = { name: 'Shop', callbackUrl: 'http://shop.example/', allowIps: ['127.0.0.1'] }
  const refused = await admin.post('/merchants', create)
  t.match(refused.json().error.validationErrors, [{ members: ['callbackUrl'], message: /https/ }])
})

t.test('changes the given settings except sandbox, and enables callbacks only for a different URL', async (t) => {
  const { id } = await service.merchant()
  const admin = await signInAs(service, 'administrator')
  await service.merchants.execute(
    id,
    { type: 'DisableCallbacks', reason: 'gone' },
    { actor: 'test', $correlationId: 'c', $causationId: 'c' },
  )
  await directory.catchUp()
  const patch = async (changes: object) =>
    admin.patch(`/merchants/${id}`, { ...changes, revision: (await admin.get(`/merchants/${id}`)).json().revision })
  const { callbackUrl } = (await admin.get(`/merchants/${id}`)).json().settings
  const change = { name: 'Other', approvalAboveMinor: 500_00, manualControlAboveMinor: null, callbackUrl }
  const ended = await patch({ ...change, sandbox: false })
  t.match(ended.json().error.validationErrors, [{ members: ['sandbox'] }])
  const changed = await patch(change)
  t.match(changed.json(), { settings: { ...change, sandbox: true }, callbacksDisabled: 'gone' })
  t.match((await admin.get(`/merchants/${id}`)).json(), changed.json(), 'the change is visible immediately')
  const { length } = await store.readStream(`merchant-${id}`)
  t.match((await patch(change)).json(), changed.json())
  t.equal((await store.readStream(`merchant-${id}`)).length, length, 'a repeat appends no event')
  const moved = await patch({ callbackUrl: 'http://127.0.0.1:1/elsewhere' })
  t.match(moved.json(), { callbacksDisabled: null })
  t.match((await admin.post(`/merchants/${id}/suspend`)).json(), { suspended: true })
  t.equal(directory.byId(id)?.suspended, true)
  t.match((await admin.post(`/merchants/${id}/resume`)).json(), { suspended: false })
})

t.test('creates, revokes and rotates keys, and shows each once', async (t) => {
  const { id, webApiKey: before } = await service.merchant()
  const admin = await signInAs(service, 'administrator')
  const validUntil = new Date(nowMs + 60 * minuteMs).toISOString()
  const made = await admin.post(`/merchants/${id}/keys`, { name: 'reports', scopes: ['read'], validUntil })
  const { value, merchant } = made.json()
  hasNoSecret(t, made.body, [value])
  t.match(merchant.keys[1], { name: 'reports', scopes: ['read'], validUntil })
  const read = (key: string) => service.app.inject({ url: '/v1/transfers', headers: { webapikey: key } })
  t.equal((await read(value)).statusCode, 200)
  const twice = await admin.post(`/merchants/${id}/keys`, { name: 'reports', scopes: ['read'] })
  t.match(
    [twice.statusCode, codeOf(twice), twice.json().error.details],
    [409, 40913, /already has a key with this name/],
  )
  for (const [member, wrong] of [
    ['name', { name: 'two words', scopes: ['read'] }],
    ['scopes', { name: 'x', scopes: ['everything'] }],
    ['validUntil', { name: 'x', scopes: ['read'], validUntil: '2020-01-01' }],
  ] as const) {
    const refused = await admin.post(`/merchants/${id}/keys`, wrong)
    t.match([refused.statusCode, refused.json().error.validationErrors], [400, [{ members: [member] }]], member)
  }
  const { keyId } = merchant.keys[1]
  t.equal((await admin.delete(`/merchants/${id}/keys/${keyId}`)).json().keys.length, 1)
  t.equal((await read(value)).statusCode, 401)
  t.equal((await admin.delete(`/merchants/${id}/keys/${keyId}`)).statusCode, 404)

  const rotated = await admin.post(`/merchants/${id}/rotate`, { secret: 'webApiKey', overlapMinutes: 0 })
  t.equal((await read(before)).statusCode, 401)
  t.equal((await read(rotated.json().value)).statusCode, 200)
  for (const [secret, form] of [
    ['secretKey', /^sk_/],
    ['webhookSecret', /^whsec_/],
  ] as const) {
    const response = await admin.post(`/merchants/${id}/rotate`, { secret })
    t.match(response.json().value, form)
    hasNoSecret(t, response.body, [response.json().value])
    t.same(directory.secrets(directory.byId(id)!, secret)[0], response.json().value)
    t.equal(directory.secrets(directory.byId(id)!, secret).length, 2, 'the previous secret stays valid')
  }
  t.notMatch(service.logLines.join(), new RegExp(value))
})

t.test('requires a recent sign-in to issue a secret and to change a setting', async (t) => {
  const { id } = await service.merchant()
  const admin = await signInAs(service, 'administrator')
  nowMs += 11 * minuteMs
  const create = { name: 'Shop', callbackUrl: 'https://shop.example/', allowIps: ['127.0.0.1'] }
  for (const response of [
    await admin.post('/merchants', create),
    await admin.post(`/merchants/${id}/keys`, { name: 'x', scopes: ['read'] }),
    await admin.delete(`/merchants/${id}/keys/000000000000`),
    await admin.post(`/merchants/${id}/rotate`, { secret: 'secretKey' }),
    await admin.patch(`/merchants/${id}`, { name: 'Renamed', revision: 0 }),
    await admin.post(`/merchants/${id}/suspend`),
  ]) {
    t.match([response.statusCode, codeOf(response)], [403, 40307])
  }
})

t.test('shows users of a merchant only that merchant, and allows changes only to administrators', async (t) => {
  const [own, other] = [await service.merchant(), await service.merchant()]
  const viewer = await signInAs(service, 'viewer', [own.id])
  t.same(
    (await viewer.get('/merchants')).json().items.map((each: { merchantId: string }) => each.merchantId),
    [own.id],
  )
  t.equal((await viewer.get(`/merchants/${own.id}`)).statusCode, 200)
  for (const id of [other.id, randomUUID(), '..']) {
    const response = await viewer.get(`/merchants/${id}`)
    t.match([response.statusCode, codeOf(response)], [404, id === '..' ? Number : 40405], id)
  }
  for (const role of ['viewer', 'operator', 'approver', 'auditor', 'operations'] as const) {
    const staff = role === 'auditor' || role === 'operations'
    const user = await signInAs(service, role, staff ? undefined : [own.id])
    t.equal(codeOf(await user.patch(`/merchants/${own.id}`, { name: 'Mine', revision: 0 })), 40306, role)
    t.equal(codeOf(await user.post(`/merchants/${own.id}/suspend`)), 40306, role)
  }
  const admin = await signInAs(service, 'administrator')
  const bodies = { suspend: {}, resume: {}, rotate: { secret: 'secretKey' }, keys: { name: 'x', scopes: ['read'] } }
  for (const [path, body] of Object.entries(bodies)) {
    t.equal((await admin.post(`/merchants/${randomUUID()}/${path}`, body)).statusCode, 404, path)
  }
  t.equal((await admin.patch(`/merchants/${randomUUID()}`, { name: 'Unknown', revision: 0 })).statusCode, 404)
})
