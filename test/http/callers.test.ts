import { once } from 'node:events'
import { get, type IncomingMessage } from 'node:http'
import type { AddressInfo } from 'node:net'
import t, { type Test } from 'tap'
import type { HttpServices } from '../../src/http/services.js'
import { createBody, paths, post } from '../support/merchant-requests.js'
import { destroyTestService, startTestService } from '../support/test-service.js'

async function service(t: Test, overrides: Partial<HttpServices> = {}) {
  const started = await startTestService({ overrides })
  t.teardown(() => destroyTestService(started))
  return started
}

t.test('uses X-Forwarded-For from trusted proxies only, and only if it contains an IP address', async (t) => {
  const { app, merchant } = await service(t, { trustedProxies: ['10.0.0.0/8', '2001:db8:1::/48'] })
  const { webApiKey, secretKey } = await merchant({ allowIps: ['8.0.0.1', '2001:db8:2::1', '127.0.0.1', '10.0.0.1'] })
  const status = async (peer: string, forwarded: string) => {
    const headers = { 'x-forwarded-for': forwarded }
    const body = createBody('native', secretKey)
    return (await post(app, paths.native, body, { key: webApiKey, address: peer, headers })).statusCode
  }
  const callers: [string, string, number][] = [
    ['10.0.0.9', '8.0.0.1', 200],
    ['::ffff:10.0.0.9', '8.0.0.1', 200],
    ['10.0.0.9', '::ffff:8.0.0.1', 200],
    ['2001:db8:1::7', '2001:0DB8:2:0::1', 200],
    ['10.0.0.9', '8.0.0.1, 10.3.3.3', 200],
    ['10.0.0.9', 'unknown, 8.0.0.1', 200],
    ['10.0.0.9', '8.0.0.1, 9.9.9.9', 403],
    ['203.0.113.7', '8.0.0.1', 403],
    ['203.0.113.7', 'unknown', 403],
    ['10.0.0.9', '8.0.0.1, ', 200],
    ['10.0.0.9', '', 403],
    ['10.0.0.9', '8.0.0.2', 403],
  ]
  for (const [peer, forwarded, expected] of callers)
    t.equal(await status(peer, forwarded), expected, `${peer} ${forwarded}`)
  // Old C libraries read some of these as 8.0.0.1 or 127.0.0.1. The others are not addresses.
  const ambiguous = [
    '010.0.0.1',
    '8.1',
    '8.0.1',
    '134217729',
    '0x8.0.0.1',
    '0x7f000001',
    '8.0.0.1:443',
    '[2001:db8:2::1]:443',
  ]
  ambiguous.push(
    '::ffff:010.0.0.1',
    '::ffff:0x8.0.0.1',
    '2001:db8:2::1%eth0',
    'fe80::1%1',
    '8.0.0.1/32',
    '8.0.0.256',
    'unknown',
    '_hidden',
  )
  ambiguous.push('8.0.0.1;', '8.0.0.1 8.0.0.1', 'localhost', '"8.0.0.1"', '%38.0.0.1', '٨.0.0.1', ':', '::1::')
  for (const forwarded of ambiguous) {
    const response = await app.inject({
      url: '/v1/transfers',
      remoteAddress: '10.0.0.1',
      headers: { webapikey: webApiKey, 'x-forwarded-for': Buffer.from(forwarded).toString('latin1') },
    })
    t.match(
      [response.statusCode, response.json()],
      [400, { error: { code: 40005, details: /X-Forwarded-For/ } }],
      forwarded,
    )
  }
})

t.test('applies a limit per address to health, metrics, documentation and files', async (t) => {
  const { app } = await service(t, { monotonicMs: () => 0 })
  const { version } = /\/pay\/assets\/(?<version>\w+)\//.exec((await app.inject('/device/x')).body)?.groups ?? {}
  const open = ['/health/live', '/health/ready', '/metrics', '/documentation/json', '/documentation/static/page.js']
  for (const [n, url] of [...open, `/pay/assets/${version}/page.css`, '/sandbox/outbox'].entries()) {
    const remoteAddress = `198.51.100.${n}`
    const statuses = new Set<number>()
    for (let i = 0; i < 700 && !statuses.has(429); i++) {
      const response = await app.inject({ url, remoteAddress })
      statuses.add(response.statusCode)
      if (response.statusCode === 429) t.match(response.headers['retry-after'], /^[1-9]/, url)
    }
    t.ok(statuses.has(429), `${url} is limited`)
    t.ok(statuses.size === 2, `${url} returns one other status before the limit: ${[...statuses]}`)
    t.not(
      (await app.inject({ url, remoteAddress: '198.51.100.99' })).statusCode,
      429,
      'a different address is not limited',
    )
  }
  for (let i = 0; i < 600; i++) await app.inject({ url: '/nothing', remoteAddress: '198.51.100.50' })
  const health = await app.inject({ url: '/health/live', remoteAddress: '198.51.100.50' })
  t.equal(health.statusCode, 200, 'health checks have a separate limit, so that other requests do not fail them')
})

t.test('returns 404 for a different spelling of an address', async (t) => {
  const { app } = await service(t)
  const spellings = [
    '/%6detrics',
    '/%6Detrics',
    '/m%65trics',
    '/metric%73?x=1',
    '/%6d%65%74%72%69%63%73',
    '/%73andbox/outbox',
  ]
  spellings.push(
    '/sandbox/%6futbox',
    '/documentation/%6ason',
    '/health%2Fready',
    '/heal%74h/ready',
    '/pay/asset%73/x/page.css',
  )
  spellings.push(
    '//metrics',
    '/metrics/',

    '/METRICS',
    '/metrics;x',
    '/metrics%3Fx',

    '/%2Fmetrics',
  )
  for (const url of spellings) {
    const response = await app.inject({ url })
    t.match([response.statusCode, response.json()], [404, { error: { code: 40401 } }], url)
  }
  t.equal((await app.inject('/metrics?x=%6d')).statusCode, 200, 'a query can be percent-encoded')
  // `inject` omits the fragment, as clients do, so these requests need a connection.
  await app.listen({ port: 0, host: '127.0.0.1' })
  const { port } = app.server.address() as AddressInfo
  for (const path of ['/metrics#x', '/metrics#?x', '/metrics?x#y', '/metrics']) {
    const [response] = (await once(get({ port, path, agent: false }), 'response')) as [IncomingMessage]
    response.resume()
    t.equal(response.statusCode, path === '/metrics' ? 200 : 404, path)
  }
})

t.test('rejects a charset other than UTF-8 and a Content-Encoding with 415, and writes nothing', async (t) => {
  const { app, merchant, log } = await service(t)
  const { webApiKey: key, secretKey } = await merchant()
  const send = (contentType: string, headers = {}) =>
    post(app, paths.native, createBody('native', secretKey), { key, contentType, headers })
  for (const type of ['application/json', 'application/json-patch+json']) {
    for (const charset of ['latin1', 'iso-8859-9', 'utf-16', '"utf-16le"', 'utf-7', '', 'utf-8; charset=latin1']) {
      const response = await send(`${type}; charset=${charset}`)
      t.match([response.statusCode, response.json()], [415, { error: { code: 41501, details: /UTF-8/ } }], charset)
    }
    for (const encoding of ['gzip', 'br', 'deflate', 'identity, gzip', 'x']) {
      const response = await send(type, { 'content-encoding': encoding })
      t.match([response.statusCode, response.json()], [415, { error: { code: 41501, details: /Encoding/ } }], encoding)
    }
  }
  t.same(await log(), [])
  for (const type of [
    'application/json; charset=UTF-8',
    'application/json-patch+json;charset="utf-8"',
    'application/json; odata=x',
  ])
    t.equal((await send(type)).statusCode, 200, type)
  t.equal((await send('application/json', { 'content-encoding': 'identity' })).statusCode, 200)
})
