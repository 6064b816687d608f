import { randomUUID } from 'node:crypto'
import { json } from 'node:stream/consumers'
import t from 'tap'
import { apiKeyId, type Scope, scopes } from '../../src/domain/merchant/api-key.js'
import { createBody, paths, post } from '../support/merchant-requests.js'
import { destroyTestService, startTestService } from '../support/test-service.js'

/** Every route that takes a WebApiKey, and the scope that it needs. */
const routeScopes: { readonly [url: string]: Scope } = {
  '/Transaction/CreateDeposit': 'deposits',
  '/api/services/app/TransactionRequests/CreateDeposit': 'deposits',
  '/api/services/app/TransactionRequests/CreateWithdraw': 'withdrawals',
  '/api/services/app/TransactionRequests/WalletCustomerLogin': 'deposits',
  '/api/services/app/TransactionRequests/Wallet2Fa': 'deposits',
  '/api/services/app/TransactionRequests/WalletValidateUserDevice': 'deposits',
  '/v1/transfers/:trackingId': 'read',
  '/v1/transfers': 'read',
  '/v1/transfers/:trackingId/events': 'read',
  '/v1/events': 'read',
  '/v1/transfers/:trackingId/callbacks': 'read',
  // A resend only repeats earlier data to the merchant's own URL and changes no transfer.
  '/v1/transfers/:trackingId/callbacks/resend': 'read',
  '/v1/transfers/:trackingId/correct': 'settlement',
  '/v1/transfers/:trackingId/refunds': 'settlement',
  '/v1/withdrawals/:trackingId/repayments': 'settlement',
  '/v1/deposits/:trackingId/receive': 'settlement',
  '/v1/withdrawals/:trackingId/claim': 'settlement',
  '/v1/withdrawals/:trackingId/release': 'settlement',
  '/v1/withdrawals/:trackingId/complete': 'settlement',
  '/v1/withdrawals/:trackingId/cancel': 'settlement',
  '/v1/withdrawals/:trackingId/returned': 'settlement',
  '/v1/merchant': 'read',
  '/v1/callbacks': 'read',
  '/v1/callbacks/stream': 'read',
  '/v1/callbacks/resend': 'read',
  '/v1/callbacks/endpoint': 'read',
  '/v1/callbacks/endpoint/test': 'read',
  '/v1/callbacks/endpoint/enable': 'read',
}

const context = { actor: 'test', $correlationId: 'test', $causationId: 'test' }
const service = await startTestService()
t.teardown(() => destroyTestService(service))
const { app, merchants, directory } = service
const { id, secretKey, webApiKey } = await service.merchant()

const routes = app.knownRoutes.filter(({ method, url }) => method !== 'HEAD' && url in routeScopes)
const subsets: Scope[][] = scopes.reduce<Scope[][]>(
  (sets, scope) => sets.flatMap((set) => [set, [...set, scope]]),
  [[]],
)
const keyRequests = routes.map(({ method, url }) => ({
  method: method as 'GET' | 'POST',
  url,
  scope: routeScopes[url]!,
}))

async function keyWith(own: readonly Scope[], validUntil: string | null = null, owner = id): Promise<string> {
  const created = await merchants.createApiKey(owner, { name: randomUUID(), scopes: own, validUntil }, context)
  if (!created.accepted) throw new Error('the key was rejected')
  return created.webApiKey
}

t.test('defines a scope for every route that takes a WebApiKey, and for no other route', async (t) => {
  const { paths: documented } = (await app.inject('/documentation/json')).json<{
    paths: { [path: string]: { [method: string]: { security?: object[]; description?: string } } }
  }>()
  const taking = Object.entries(documented).flatMap(([path, operations]) =>
    Object.values(operations).flatMap(({ security, description }) =>
      (security ?? [{ WebApiKey: [] }]).some((each) => 'WebApiKey' in each)
        ? [{ url: path.replaceAll(/\{(\w+)\}/g, ':$1'), description }]
        : [],
    ),
  )
  t.same(taking.map(({ url }) => url).sort(), Object.keys(routeScopes).sort(), 'list a new route in routeScopes')
  for (const { url, scope } of app.knownRoutes) t.equal(scope, routeScopes[url], `the scope of ${url}`)
  for (const { url, description } of taking) t.match(description, `needs the scope \`${routeScopes[url]}\``)
})

t.test('allows a key to call exactly the routes of its scopes, and names the missing scope', async (t) => {
  t.same(new Set(keyRequests.map(({ url }) => url)), new Set(Object.keys(routeScopes)), 'requests every route')
  const { id: other } = await service.merchant()
  for (const own of subsets.filter(({ length }) => length > 0)) {
    const key = await keyWith(own, null, other)
    for (const { method, url, scope } of keyRequests) {
      const request = { method, url: url.replace(':trackingId', randomUUID()), headers: { webapikey: key } }
      const response = await app.inject({
        ...request,
        ...(method === 'POST' && { payload: {} }),
        // One response is an endless stream.
        payloadAsStream: true,
      })
      const body = response.stream()
      const name = `${own.join('+')} ${method} ${url}`
      if (own.includes(scope)) {
        t.not(response.statusCode, 403, name)
        body.destroy()
      } else {
        t.equal(response.statusCode, 403, name)
        const error = { code: 40304, details: `This requires the scope ${scope}.` }
        t.match(await json(body), { success: false, unAuthorizedRequest: true, error }, name)
      }
    }
  }
})

t.test('creates each kind only with a key that has its scope', async (t) => {
  const before = (await service.log()).length
  const reading = await keyWith(['read'])
  const paying = await keyWith(['deposits'])
  const withdrawing = await keyWith(['withdrawals'])
  const send = async (kind: keyof typeof paths, key: string) =>
    (await post(app, paths[kind], createBody(kind, secretKey), { key })).statusCode
  for (const kind of ['hosted', 'native', 'withdrawal'] as const) t.equal(await send(kind, reading), 403, kind)
  t.equal(await send('withdrawal', paying), 403)
  t.equal(await send('native', withdrawing), 403)
  t.equal(await send('hosted', withdrawing), 403)
  t.equal((await service.log()).length, before)
  for (const kind of ['hosted', 'native'] as const) t.equal(await send(kind, paying), 200, kind)
  t.equal(await send('withdrawal', withdrawing), 200)
  t.equal(
    (await post(app, paths.hosted, createBody('hosted', secretKey))).statusCode,
    200,
    'a hosted create needs no key',
  )
  for (const kind of ['hosted', 'native', 'withdrawal'] as const) t.equal(await send(kind, webApiKey), 200, kind)
})

t.test('rejects a revoked or expired key like an unknown one, and accepts the others', async (t) => {
  const expiring = await keyWith(['read'], new Date(Date.now() + 150).toISOString())
  const revoked = await keyWith(['read'])
  const list = async (key: string) => {
    const response = await app.inject({ url: '/v1/transfers', headers: { webapikey: key }, remoteAddress: '127.0.0.1' })
    return response.statusCode === 401 ? response.json().error.code : response.statusCode
  }
  t.equal(await list(revoked), 200)
  const { apiKeys } = directory.byId(id)!
  const keyId = apiKeyId(directory.byApiKey(revoked)!.key)
  t.ok(apiKeys.length > 2)
  await merchants.execute(id, { type: 'RevokeApiKey', keyId }, context)
  await service.until(() => directory.byApiKey(revoked) === undefined)
  t.equal(await list(revoked), 40101)
  await service.until(() => directory.byId(id)!.apiKeys.length === apiKeys.length - 1)
  await service.until(() => directory.byApiKey(expiring) === undefined)
  t.equal(await list(expiring), 40101)
  t.equal(await list(webApiKey), 200)
})

t.test('counts requests without the scope against the limit of the merchant, including polls', async (t) => {
  const slow = await service.merchant({ rateLimitPerSecond: 1 })
  const created = await merchants.createApiKey(slow.id, { name: 'read', scopes: ['read'], validUntil: null }, context)
  if (!created.accepted) throw new Error('the key was rejected')
  const url = '/api/services/app/TransactionRequests/WalletValidateUserDevice'
  const statuses: number[] = []
  for (let i = 0; i < 7; i++) statuses.push((await post(app, url, '{}', { key: created.webApiKey })).statusCode)
  t.same(statuses.slice(0, 5), [403, 403, 403, 403, 403])
  t.equal(statuses[6], 429)
})
