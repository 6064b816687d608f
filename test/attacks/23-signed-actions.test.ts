import { createHmac } from 'node:crypto'
import { request } from 'node:http'
import { json } from 'node:stream/consumers'
import t from 'tap'
import { scopes } from '../../src/domain/merchant/api-key.js'
import { createBody, paths, post, signatureOf } from '../support/merchant-requests.js'
import { destroyTestService, startTestService } from '../support/test-service.js'

const service = await startTestService({ projections: true })
t.teardown(() => destroyTestService(service))
const { app, merchants, directory, transfers } = service
const context = { actor: 'test', $correlationId: 'test', $causationId: 'test' }
const merchant = await service.merchant({ requireSignature: 'all' })
const { secretKey } = merchant
const issued = await merchants.createApiKey(merchant.id, { name: 'all', scopes, validUntil: null }, context)
if (!issued.accepted) throw new Error(issued.refusal.rule)
const key = issued.webApiKey
await service.until(() => directory.byApiKey(key) !== undefined)

/** Returns the X-Signature of a request under /v1, whose path is signed too. */
function signed(path: string, body: string, method = 'POST', secret = secretKey) {
  const at = Math.floor(Date.now() / 1000)
  const v1 = createHmac('sha256', secret).update(`${at}.${method} ${path}.${body}`).digest('hex')
  return { 'x-signature': `t=${at},v1=${v1}` }
}

async function withdrawal(): Promise<string> {
  const body = createBody('withdrawal', secretKey)
  const headers = { 'x-signature': signatureOf(secretKey, body) }
  return (await post(app, paths.withdrawal, body, { key, headers })).json().result.trackingId
}

const isRefused = { error: { code: 40004 } }

t.test('every request that changes something by key needs a signature', async (t) => {
  const trackingId = '0b7e9a52-3c1d-5f6e-8a90-1b2c3d4e5f60'
  const document = (await app.inject({ url: '/documentation/json' })).json()
  const found: string[] = []
  for (const [path, methods] of Object.entries<Record<string, { security?: unknown[] }>>(document.paths)) {
    for (const method of Object.keys(methods).filter((each) => !['get', 'head', 'parameters'].includes(each))) {
      const url = path.replace('{trackingId}', trackingId)
      const body = bodyOf(url, trackingId)
      found.push(url)
      const unsigned = await post(app, url, body, { key })
      t.equal(unsigned.statusCode, 400, `${method} ${url}`)
      t.match(unsigned.json(), isRefused, `${method} ${url}`)
      const headers = url.startsWith('/v1/') ? signed(url, body) : { 'x-signature': signatureOf(secretKey, body) }
      t.notMatch((await post(app, url, body, { key, headers })).json(), isRefused, `${method} ${url}, signed`)
    }
  }
  const actions = ['claim', 'release', 'complete', 'cancel', 'returned'].map(
    (each) => `/v1/withdrawals/${trackingId}/${each}`,
  )
  actions.push(`/v1/deposits/${trackingId}/receive`, `/v1/transfers/${trackingId}/correct`)
  actions.push(`/v1/transfers/${trackingId}/refunds`, `/v1/withdrawals/${trackingId}/repayments`)
  t.ok(
    [...actions, paths.hosted, paths.native, paths.withdrawal].every((each) => found.includes(each)),
    found.join(),
  )
  t.ok(found.some((each) => each.endsWith('Wallet2Fa')))
})

/** Returns a body that the schema of a route accepts. */
function bodyOf(url: string, trackingId: string): string {
  if (url.endsWith('WalletCustomerLogin'))
    return JSON.stringify({ trackingId, userName: 'ada@example.com', password: '123456' })
  if (url.endsWith('Wallet2Fa')) return JSON.stringify({ trackingId, token: 'token', code: '123456' })
  if (url.endsWith('WalletValidateUserDevice')) return JSON.stringify({ trackingId, token: 'token' })
  if (url.endsWith('CreateWithdraw')) return createBody('withdrawal', secretKey)
  if (url.includes('Create')) return createBody('native', secretKey)
  if (url === '/v1/callbacks/resend') return JSON.stringify({ parkedSince: '2026-01-01T00:00:00Z' })
  if (url.endsWith('/receive')) return JSON.stringify({ revision: 0, amount: 1, reference: 'FT-1' })
  if (url.endsWith('/correct')) return JSON.stringify({ revision: 0, amount: 1, reason: 'mistyped' })
  if (url.endsWith('/returned'))
    return JSON.stringify({ revision: 0, amount: 1, reasonCode: 'AC04', reference: 'RT-1' })
  if (url.endsWith('/refunds') || url.endsWith('/repayments'))
    return JSON.stringify({ revision: 0, amount: 1, referenceId: 'r', accountNumber: 'TR33' })
  if (url.endsWith('/cancel')) return JSON.stringify({ revision: 0, message: 'no' })
  return url.includes('/withdrawals/') ? JSON.stringify({ revision: 0 }) : ''
}

t.test('an unsigned claim or completion does nothing, and a signature is valid for one withdrawal', async (t) => {
  const [one, other] = [await withdrawal(), await withdrawal()]
  const body = '{"revision":0}'
  const claim = (trackingId: string) => `/v1/withdrawals/${trackingId}/claim`
  const attempts = {
    'no signature': {},
    'the signature of another withdrawal': signed(claim(other), body),
    'the signature of another action': signed(claim(one).replace('claim', 'release'), body),
    'another method': signed(claim(one), body, 'PUT'),
    'another key': signed(claim(one), body, 'POST', 'sk_guessed'),
    'the body only': { 'x-signature': signatureOf(secretKey, body) },
  }
  for (const [name, headers] of Object.entries(attempts))
    t.match((await post(app, claim(one), body, { key, headers })).json(), isRefused, name)
  t.equal((await transfers.history(one)).length, 1, 'nothing was recorded')

  t.equal((await post(app, claim(one), body, { key, headers: signed(claim(one), body) })).statusCode, 200)
  const completion = '{"revision":1}'
  const complete = `/v1/withdrawals/${one}/complete`
  t.match((await post(app, complete, completion, { key })).json(), isRefused)
  const completed = await post(app, complete, completion, { key, headers: signed(complete, completion) })
  t.match(completed.json(), { statusDescription: 'Completed' })
  const reads = await app.inject({ url: `/v1/transfers/${one}`, headers: { webapikey: key } })
  t.equal(reads.statusCode, 200, 'a request that only reads is not signed')
})

t.test('the route decides which text is signed, in every form of the request target', async (t) => {
  const { port } = new URL(await app.listen({ port: 0, host: '127.0.0.1' }))
  const trackingId = await withdrawal()
  const body = '{"revision":0}'
  const claim = (target: string, signature: object) =>
    new Promise<unknown>((resolve, reject) => {
      const headers = { 'content-type': 'application/json', webapikey: key, ...signature }
      request({ port, method: 'POST', path: target, headers }, (response) => resolve(json(response)))
        .on('error', reject)
        .end(body)
    })
  const path = `/v1/withdrawals/${trackingId}/claim`
  const ofBody = { 'x-signature': signatureOf(secretKey, body) }
  for (const target of [path, `http://pay.example${path}`, `HTTP://a${path}`, `https://pay.example:443${path}?a`])
    t.match(await claim(target, ofBody), isRefused, target)
  t.equal((await transfers.history(trackingId)).length, 1, 'nothing was recorded')
  t.match(await claim(path, signed(path, body)), { revision: 1 })
})

t.test('a merchant that does not require signatures can still send them, and a wrong one is refused', async (t) => {
  const relaxed = await service.merchant({ requireSignature: 'withdrawals' })
  const url = '/v1/callbacks/endpoint/enable'
  const send = (headers: object) => post(app, url, '', { key: relaxed.webApiKey, headers: { ...headers } })
  t.equal((await send({})).statusCode, 200)
  t.equal((await send(signed(url, '', 'POST', relaxed.secretKey))).statusCode, 200)
  t.match((await send(signed(url, '', 'POST', 'sk_guessed'))).json(), isRefused)
})

t.test('unsigned polls of a payment count against the rate', async (t) => {
  const slow = await service.merchant({ requireSignature: 'all', rateLimitPerSecond: 1 })
  const poll = () =>
    post(app, '/api/services/app/TransactionRequests/WalletValidateUserDevice', '{}', { key: slow.webApiKey })
  const statuses: number[] = []
  for (let n = 0; n < 8; n++) statuses.push((await poll()).statusCode)
  t.ok(statuses.includes(429), statuses.join())
})
