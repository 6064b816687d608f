import t, { type Test } from 'tap'
import type { OutboxMessage } from '../../src/wallet/messages.js'
import { MemoryWallet } from '../support/memory-wallet.js'
import { createBody, paths, post } from '../support/merchant-requests.js'
import { destroyTestService, startTestService } from '../support/test-service.js'

const publicUrl = 'https://pay.example'
const customer = { email: 'ada@example.com', password: '246813' }

const time = { aheadMs: 0 }
const clock = () => new Date(Date.now() + time.aheadMs).toISOString()

async function world(
  t: Test,
  outbox: (token: string) => Promise<readonly OutboxMessage[] | undefined> = async () => undefined,
) {
  const wallet = new MemoryWallet()
  wallet.open(customer.email, customer.password, 1_000_00n)
  const service = await startTestService({ wallet, clock, overrides: { outbox } })
  t.teardown(() => destroyTestService(service))
  const { secretKey, id: merchantId } = await service.merchant({ name: 'Blue Shop' })
  const { app } = service
  const hosted = async (fields: { readonly userId?: string } = {}) => {
    const response = await post(app, paths.hosted, createBody('hosted', secretKey, fields))
    const { url, trackingId } = response.json<{ url: string; trackingId: string }>()
    return { path: new URL(url).pathname, trackingId }
  }
  const step = (
    path: string,
    name: string,
    body: object,
    headers: Record<string, string> = {},
    address = '127.0.0.1',
  ) =>
    app.inject({
      method: 'POST',
      url: `${path}/${name}`,
      remoteAddress: address,
      headers: { 'content-type': 'application/json', origin: publicUrl, 'sec-fetch-site': 'same-origin', ...headers },
      payload: JSON.stringify(body),
    })
  return { ...service, wallet, hosted, step, merchantId }
}

t.test('accepts an email and a code as people type them', async (t) => {
  const { wallet, hosted, step } = await world(t)
  const { path } = await hosted()
  const { token } = (await step(path, 'login', { ...customer, email: ' Ada＠Example.com\u200b' })).json()
  const code = wallet.lastCode()
  const typed = `${code.slice(0, 3)}\u2013${code.slice(3)}`
  t.match((await step(path, 'code', { token, code: typed })).json(), { next: 'device' })
})

t.test('pays a deposit from the login to the result', async (t) => {
  const { wallet, hosted, step, transfers, app } = await world(t)
  const { path, trackingId } = await hosted()
  const loggedIn = await step(path, 'login', customer)
  t.equal(loggedIn.headers['cache-control'], 'no-store')
  const { next, token } = loggedIn.json()
  t.equal(next, 'code')
  const verified = (await step(path, 'code', { token, code: wallet.lastCode() })).json()
  t.equal(verified.next, 'device')
  t.same((await step(path, 'device', { token: verified.token })).json(), { next: 'wait' })
  const link = new URL(wallet.confirmUrls[0]!).pathname
  const confirmed = await app.inject({ method: 'POST', url: link })
  t.equal(confirmed.statusCode, 200)
  t.same((await step(path, 'device', { token: verified.token })).json(), { next: 'result' })
  t.equal((await transfers.find(trackingId))?.transfer.status, 'Completed')
  t.match((await app.inject(`${path}/state?lang=tr`)).json(), { phase: 'paid', status: 'Completed', paid: '₺100,50' })
})

t.test('guesses by others do not lock out a browser that has logged in before', async (t) => {
  const { hosted, step } = await world(t)
  const { path } = await hosted()
  const wrong = { ...customer, password: '918273' }
  t.equal((await step(path, 'login', wrong)).headers['set-cookie'], undefined, 'a wrong password sets no device cookie')
  const loggedIn = await step(path, 'login', customer)
  const [name, cookie] = [/^[^=]+/, /^[^;]+/].map(
    (part) => part.exec(String(loggedIn.headers['set-cookie']))?.[0] ?? '',
  )
  t.equal(name, '__Host-wallet-device')
  t.equal(
    String(loggedIn.headers['set-cookie']).slice(cookie?.length),
    '; Path=/; Max-Age=15552000; HttpOnly; Secure; SameSite=Strict',
  )
  t.notMatch(cookie, /ada|246813/)
  // The deposit belongs to another customer of the shop, so the merchant's userId is unknown to the wallet account.
  const other = await hosted({ userId: 'guesser' })
  for (let n = 0; n < 3; n++) await step(other.path, 'login', wrong)
  const locked = await step(other.path, 'login', customer)
  t.same([locked.statusCode, locked.json().reason], [429, 'tooManyRequests'])
  t.match(locked.headers['retry-after'], /^1[0-2]$/)
  const unknownDevice = await hosted({ userId: 'another device' })
  t.equal(
    (await step(unknownDevice.path, 'login', customer)).statusCode,
    429,
    'a browser without the cookie is locked out',
  )
  const known = await step(unknownDevice.path, 'login', customer, { cookie: `a=b; ${cookie}; c=d` })
  t.equal(known.statusCode, 200)
  t.notMatch(String(known.headers['set-cookie']), cookie, 'the known browser gets a new cookie')
})

t.test('rejects requests from another site before it reads them', async (t) => {
  const { hosted, step, app, wallet } = await world(t)
  const { path } = await hosted()
  const foreign: Record<string, string>[] = [
    { 'sec-fetch-site': 'cross-site' },
    { 'sec-fetch-site': 'same-site' },
    { 'sec-fetch-site': 'none' },
    { 'sec-fetch-site': '', origin: 'https://evil.example' },
  ]
  for (const headers of foreign) {
    for (const name of ['login', 'code', 'device']) {
      const response = await step(path, name, { ...customer, token: 'x', code: '111111' }, headers)
      t.equal(response.statusCode, 403, JSON.stringify(headers))
      t.same(response.json(), { reason: 'failure' })
    }
  }
  for (const origin of ['https://evil.example', 'null', 'https://pay.example.evil.example', 'http://pay.example']) {
    const response = await app.inject({ method: 'POST', url: `${path}/login`, headers: { origin }, payload: customer })
    t.equal(response.statusCode, 403, origin)
  }
  const { payload, ...form } = { payload: 'email=a&password=1', method: 'POST' as const, url: `${path}/login` }
  for (const type of ['text/plain', 'application/x-www-form-urlencoded', 'multipart/form-data; boundary=x']) {
    const response = await app.inject({ ...form, payload, headers: { 'content-type': type, origin: publicUrl } })
    t.equal(response.statusCode, 415, type)
  }
  t.equal(wallet.codes.size, 0, 'no code is sent')
  t.equal((await app.inject({ method: 'POST', url: `${path}/login`, payload: customer })).statusCode, 200)
})

t.test('returns the same response for an unknown account and a wrong password', async (t) => {
  const { hosted, step } = await world(t)
  const { path } = await hosted()
  const unknown = await step(path, 'login', { email: 'unknown@example.com', password: '246813' })
  const wrong = await step(path, 'login', { ...customer, password: '000000' })
  t.equal(unknown.statusCode, 400)
  t.equal(wrong.statusCode, 400)
  t.equal(unknown.body, wrong.body)
  t.same(wrong.json(), { reason: 'wrongLogin' })
})

t.test('rejects a token of a different link, and malformed bodies at every step', async (t) => {
  const { hosted, step, wallet, merchantId } = await world(t)
  const [one, other] = [await hosted(), await hosted()]
  const { token } = (await step(one.path, 'login', customer)).json()
  const moved = await step(other.path, 'code', { token, code: wallet.lastCode() })
  t.equal(moved.statusCode, 400)
  t.same(moved.json(), { reason: 'codeExpired' })
  t.equal((await step(one.path, 'device', { token })).statusCode, 400, 'a token is valid only at its step')
  const named = { trackingId: one.trackingId, merchantId, channel: 'hosted' }
  const redirected = await step(other.path, 'code', { token, code: wallet.lastCode(), ...named })
  t.same(redirected.json(), { reason: 'codeExpired' }, 'the link determines the deposit, regardless of the body')
  const shapes: [string, object][] = [
    ['login', {}],
    ['login', { email: ['a'], password: '111111' }],
    ['login', { email: 'a@b', password: 123456 }],
    ['login', { email: 'a'.repeat(255), password: '1' }],
    ['code', { token: { $ne: '' }, code: '1' }],
    ['device', []],
  ]
  for (const [name, body] of shapes) t.equal((await step(one.path, name, body)).statusCode, 400, JSON.stringify(body))
})

t.test('limits logins and codes for each address, across all links', async (t) => {
  const { hosted, step } = await world(t)
  const paths = [await hosted(), await hosted()]
  const statuses: number[] = []
  for (let i = 0; i < 64; i++) {
    const { path } = paths[i % 2]!
    const response = await step(path, 'code', { token: 'x', code: '111111' }, {}, '198.51.100.9')
    statuses.push(response.statusCode)
    if (response.statusCode !== 429) continue
    t.match(response.headers['retry-after'], /^\d+$/)
    t.match(response.json(), { reason: 'tooManyRequests', retryAfterSeconds: Number })
  }
  t.ok(statuses.indexOf(429) >= 60)
  t.not((await step(paths[0]!.path, 'code', { token: 'x', code: '1' }, {}, '198.51.100.10')).statusCode, 429)
})

t.test('confirms only by a POST from the confirmation page, not from another site', async (t) => {
  const { wallet, hosted, step, app } = await world(t)
  const { path } = await hosted()
  const { token } = (await step(path, 'login', customer)).json()
  await step(path, 'code', { token, code: wallet.lastCode() })
  const link = new URL(wallet.confirmUrls[0]!).pathname
  const account = wallet.accounts.get(100_000)!
  for (const method of ['GET', 'HEAD', 'GET'] as const) {
    t.equal((await app.inject({ method, url: link })).statusCode, 200)
  }
  const page = await app.inject(link)
  t.match(page.body, 'Do you want to pay Blue Shop')
  t.match(page.headers['content-security-policy'], /frame-ancestors 'none'$/)
  const form = { 'content-type': 'application/x-www-form-urlencoded' }
  for (const headers of [{ 'sec-fetch-site': 'cross-site' }, { origin: 'https://evil.example' }, { origin: 'null' }]) {
    const response = await app.inject({ method: 'POST', url: link, headers: { ...form, ...headers } })
    t.equal(response.statusCode, 403)
    t.match(response.headers['content-type'], /^text\/html/)
  }
  t.equal(account.trusted.size, 0)
  const headers = { ...form, origin: publicUrl, 'sec-fetch-site': 'same-origin' }
  for (let repeat = 0; repeat < 2; repeat++) {
    const response = await app.inject({ method: 'POST', url: link, headers, payload: '' })
    t.equal(response.statusCode, 200)
    t.match(response.body, 'Confirmed')
  }
  t.equal(account.trusted.size, 1)
  t.match((await app.inject(link)).body, 'Already confirmed')
  for (const wrong of ['/device/x', link.slice(0, -1), `${link}x`]) {
    for (const method of ['GET', 'POST'] as const) {
      const response = await app.inject({ method, url: wrong })
      t.equal(response.statusCode, 404, wrong)
      t.match(response.body, 'Confirmation not found')
    }
  }
})

t.test('rejects a confirmation link after ten minutes', async (t) => {
  const { wallet, hosted, step, app } = await world(t)
  const { path } = await hosted()
  const { token } = (await step(path, 'login', customer)).json()
  const verified = (await step(path, 'code', { token, code: wallet.lastCode() })).json()
  const link = new URL(wallet.confirmUrls[0]!).pathname
  time.aheadMs = 10 * 60_000 + 1_000
  for (const method of ['GET', 'POST'] as const) {
    const response = await app.inject({ method, url: link })
    t.equal(response.statusCode, 410)
    t.match(response.body, 'This confirmation link has expired')
  }
  t.equal(wallet.accounts.get(100_000)!.trusted.size, 0)
  t.same((await step(path, 'device', { token: verified.token })).json(), { reason: 'codeExpired' })
  time.aheadMs = 0
})

t.test('pays nothing to a suspended merchant', async (t) => {
  const { wallet, hosted, step, merchants, merchantId, directory, until, app } = await world(t)
  const { path } = await hosted()
  const { token } = (await step(path, 'login', customer)).json()
  await merchants.suspend(merchantId, { actor: 'test', $correlationId: 'test', $causationId: 'test' })
  await until(() => directory.byId(merchantId)?.suspended === true)
  for (const [name, body] of [
    ['login', customer],
    ['code', { token, code: wallet.lastCode() }],
    ['device', { token }],
  ] as const) {
    const response = await step(path, name, body)
    t.equal(response.statusCode, 403)
    t.same(response.json(), { reason: 'suspended' })
  }
  t.equal(wallet.debits.size, 0)
  t.equal((await app.inject(path)).statusCode, 200)
})

t.test('shows the outbox only in the sandbox, with its token and to the same machine', async (t) => {
  let messages: OutboxMessage[] | undefined = [
    { kind: 'sms', to: '+905550000000', code: '314159', link: null, at: '2026-03-01T10:00:00.000Z' },
    {
      kind: 'email',
      to: '<b>@example.com',
      code: null,
      link: 'https://pay.example/device/x',
      at: '2026-03-01T10:00:00.000Z',
    },
  ]
  const { app } = await world(t, async (token) => (token === 'right' ? messages : undefined))
  const ask = (headers: Record<string, string> = {}, remoteAddress = '127.0.0.1', query = '?token=right') =>
    app.inject({ url: `/sandbox/outbox${query}`, remoteAddress, headers: { host: 'localhost:3000', ...headers } })
  const page = await ask()
  t.equal(page.statusCode, 200)
  t.match(page.body, '314159')
  t.match(page.body, '&#60;b&#62;@example.com')
  t.equal(page.headers.refresh, '3')
  t.equal(page.headers['referrer-policy'], 'no-referrer', 'the address with the token is not sent as a referrer')
  t.equal((await ask({ host: '[::1]:3000' }, '::1')).statusCode, 200)
  const refused = [
    await ask({}, '127.0.0.1', ''),
    await ask({}, '127.0.0.1', '?token='),
    await ask({}, '127.0.0.1', '?token=wrong'),
    await ask({}, '127.0.0.1', '?token=wrong&token=right'),
    await ask({}, '192.0.2.1'),
    await ask({ host: 'rebound.example:3000' }),
    await ask({ 'x-forwarded-for': '127.0.0.1' }),
    await ask({ forwarded: 'for=127.0.0.1' }),
    await ask({ via: '1.1 proxy' }),
  ]
  messages = undefined
  refused.push(await ask())
  for (const response of refused) {
    t.equal(response.statusCode, 404)
    t.notMatch(response.body, '314159')
  }
})

t.test('writes no password, code or token to a log line, metric or response, even after failures', async (t) => {
  const { hosted, step, wallet, app, logLines } = await world(t)
  const { path } = await hosted()
  const { token } = (await step(path, 'login', customer)).json()
  const code = wallet.lastCode()
  const responses = [
    await step(path, 'login', { email: customer.email, password: [customer.password] }),
    await step('/pay/nothing', 'login', customer),
    await step(path, 'login', customer, { 'sec-fetch-site': 'cross-site' }),
    await step(path, 'code', { token, code, more: 1 }, { 'content-type': 'text/plain' }),
    await step(path, 'code', { token: [token], code }),
  ]
  wallet.before = () => {
    throw new Error('broken')
  }
  responses.push(await step(path, 'login', customer), await step(path, 'code', { token, code }))
  t.strictSame(
    responses.map(({ statusCode }) => statusCode),
    [400, 404, 403, 415, 400, 500, 500],
  )
  const metrics = await app.inject('/metrics')
  for (const secret of [customer.password, code, token, customer.email]) {
    for (const text of [...responses.map(({ body }) => body), ...logLines, metrics.body]) t.notOk(text.includes(secret))
  }
})
