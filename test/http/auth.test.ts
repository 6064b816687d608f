import t, { type Test } from 'tap'
import { context } from '../support/embedded-store.js'
import { type CreateKind, createBody, paths, post, signatureOf } from '../support/merchant-requests.js'
import { destroyTestService, startTestService } from '../support/test-service.js'

const kinds = Object.keys(paths) as CreateKind[]

async function service(t: Test, options: Parameters<typeof startTestService>[0] = {}) {
  const started = await startTestService(options)
  t.teardown(() => destroyTestService(started))
  return started
}

t.test('rejects a missing or unknown key with 401 without reading the request', async (t) => {
  const { app, merchant } = await service(t)
  const { secretKey, webApiKey } = await merchant()
  const altered = webApiKey.slice(0, -1) + (webApiKey.endsWith('A') ? 'B' : 'A')
  for (const key of [undefined, '', 'nonsense', altered]) {
    for (const body of [createBody('native', secretKey), '{broken']) {
      const response = await post(app, paths.native, body, {
        ...(key !== undefined && { key }),
        address: `10.0.0.${key?.length ?? 0}`,
      })
      t.equal(response.statusCode, 401, `key ${key}`)
      t.match(response.json(), { success: false, unAuthorizedRequest: true, error: { code: 40101 } })
    }
  }
})

t.test('rejects the sixth bad key from one address with 429 and Retry-After, but accepts a valid key', async (t) => {
  const { app, merchant, logLines } = await service(t)
  const { secretKey, webApiKey } = await merchant()
  const body = createBody('native', secretKey)
  const statuses: number[] = []
  for (let i = 0; i < 6; i++) statuses.push((await post(app, paths.native, body, { key: `bad${i}` })).statusCode)
  t.same(statuses, [401, 401, 401, 401, 401, 429])
  const limited = await app.inject({ url: '/v1/transfers', headers: { webapikey: 'bad' }, remoteAddress: '127.0.0.1' })
  t.equal(limited.statusCode, 429)
  t.match(limited.headers['retry-after'], /^[1-9]\d*$/)
  t.match(limited.json(), { success: false, error: { code: 42901 } })
  t.equal(
    (await post(app, paths.native, body, { key: 'bad', address: '10.1.2.3' })).statusCode,
    401,
    'a different address has its own limit',
  )
  t.equal((await post(app, paths.native, body, { key: webApiKey })).statusCode, 200)
  t.equal(logLines.filter((line) => line.includes('40101')).length, 6, 'each rejected key is logged in one line')
})

t.test('rejects a valid key from an address that is not allowed with 403', async (t) => {
  const { app, merchant } = await service(t)
  const { secretKey, webApiKey: key } = await merchant({ allowIps: ['10.0.0.0/8', '2001:db8::/32', '192.0.2.7'] })
  const expectations: [string, number][] = [
    ['10.255.0.1', 200],
    ['192.0.2.7', 200],
    ['2001:db8:ffff::1', 200],
    ['::ffff:10.1.1.1', 200],
    ['11.0.0.1', 403],
    ['192.0.2.8', 403],
    ['2001:db9::1', 403],
    ['::ffff:11.1.1.1', 403],
    ['127.0.0.1', 403],
  ]
  for (const kind of kinds) {
    for (const [address, status] of expectations) {
      const response = await post(app, paths[kind], createBody(kind, secretKey), { key, address })
      t.equal(response.statusCode, status, `${kind} ${address}`)
      if (status === 403) t.match(response.json(), { unAuthorizedRequest: true, error: { code: 40301 } })
    }
  }
})

t.test('rejects a suspended merchant with 403 until it is resumed', async (t) => {
  const { app, merchant, merchants, directory, until } = await service(t)
  const { id, secretKey, webApiKey: key } = await merchant()
  await merchants.suspend(id, context)
  await until(() => directory.byId(id)?.suspended === true)
  for (const kind of kinds) {
    const response = await post(app, paths[kind], createBody(kind, secretKey), { key })
    t.match([response.statusCode, response.json()], [403, { unAuthorizedRequest: true, error: { code: 40302 } }])
  }
  t.equal(
    (await post(app, paths.hosted, createBody('hosted', secretKey))).statusCode,
    403,
    'a hosted create without a key is rejected too',
  )
  await merchants.execute(id, { type: 'Resume' }, context)
  await until(() => directory.byId(id)?.suspended === false)
  t.equal((await post(app, paths.native, createBody('native', secretKey), { key })).statusCode, 200)
})

t.test('identifies the merchant of a hosted create without a key by its address and hash', async (t) => {
  const { app, merchant, transfers } = await service(t)
  const a = await merchant({ allowIps: ['10.0.0.1', '10.0.0.2'] })
  const b = await merchant({ allowIps: ['10.0.0.2', '10.0.0.3'] })
  const send = (secretKey: string, address: string) =>
    post(app, paths.hosted, createBody('hosted', secretKey), { address })
  const owner = async (response: Awaited<ReturnType<typeof send>>) =>
    (await transfers.find(response.json().trackingId))?.transfer.merchantId
  t.equal(await owner(await send(a.secretKey, '10.0.0.1')), a.id)
  t.equal(await owner(await send(a.secretKey, '10.0.0.2')), a.id)
  t.equal(await owner(await send(b.secretKey, '10.0.0.2')), b.id)
  t.match(
    (await send(b.secretKey, '10.0.0.1')).json(),
    { error: { code: 40003 } },
    'the merchant is not at the address of another merchant',
  )
  t.equal((await send(b.secretKey, '10.0.0.1')).statusCode, 400)
  t.equal((await send('sk_unknown', '10.0.0.2')).statusCode, 400)
  t.equal((await send(a.secretKey, '10.0.0.9')).statusCode, 403)
  const withKey = await post(app, paths.hosted, createBody('hosted', b.secretKey), {
    key: a.webApiKey,
    address: '10.0.0.2',
  })
  t.equal(withKey.statusCode, 400, 'a create with a key needs the hash of the same merchant')
})

t.test('accepts both keys during a rotation of a SecretKey or WebApiKey, and only the new one after it', async (t) => {
  const { app, merchant, merchants, directory, until } = await service(t)
  const { id, secretKey, webApiKey } = await merchant()
  const rotatedSecret = await merchants.rotateSecret(id, 'secretKey', 60, context)
  const rotatedKey = await merchants.rotateApiKey(id, 60, context)
  if (!('value' in rotatedSecret) || !('webApiKey' in rotatedKey)) throw new Error('the rotation was rejected')
  await until(() => directory.byApiKey(rotatedKey.webApiKey) !== undefined)
  for (const key of [webApiKey, rotatedKey.webApiKey]) {
    for (const secret of [secretKey, rotatedSecret.value]) {
      t.equal((await post(app, paths.native, createBody('native', secret), { key })).statusCode, 200)
    }
  }
  await merchants.rotateSecret(id, 'secretKey', 0, context)
  await merchants.rotateApiKey(id, 0, context)
  await until(() => directory.byApiKey(rotatedKey.webApiKey) === undefined)
  t.equal((await post(app, paths.native, createBody('native', secretKey), { key: webApiKey })).statusCode, 401)
  t.equal((await post(app, paths.hosted, createBody('hosted', rotatedSecret.value))).statusCode, 400)
})

t.test('uses X-Forwarded-For from trusted proxies only', async (t) => {
  const direct = await service(t)
  const proxied = await service(t, { overrides: { trustedProxies: ['10.0.0.0/8', '::1/128', '192.0.2.0/24'] } })
  const rows: { name: string; peer: string; forwarded?: string; status: number; at: typeof direct }[] = [
    {
      name: 'an untrusted header from a disallowed peer',
      peer: '10.0.0.1',
      forwarded: '203.0.113.5',
      status: 403,
      at: direct,
    },
    {
      name: 'an untrusted header from an allowed peer',
      peer: '203.0.113.5',
      forwarded: '1.1.1.1',
      status: 200,
      at: direct,
    },
    {
      name: 'a trusted proxy forwards the caller',
      peer: '10.0.0.1',
      forwarded: '203.0.113.5',
      status: 200,
      at: proxied,
    },
    {
      name: 'the IPv4-mapped form of a trusted proxy',
      peer: '::ffff:10.0.0.1',
      forwarded: '203.0.113.5',
      status: 200,
      at: proxied,
    },
    { name: 'an IPv4-mapped caller', peer: '10.0.0.1', forwarded: '::ffff:203.0.113.5', status: 200, at: proxied },
    { name: 'an IPv6 proxy', peer: '::1', forwarded: '203.0.113.5', status: 200, at: proxied },
    { name: 'two trusted hops', peer: '10.0.0.1', forwarded: '203.0.113.5, 192.0.2.1', status: 200, at: proxied },
    {
      name: 'a forged first entry in the header',
      peer: '10.0.0.1',
      forwarded: '203.0.113.5, 198.51.100.1',
      status: 403,
      at: proxied,
    },
    {
      name: 'a peer that is not a trusted proxy',
      peer: '198.51.100.1',
      forwarded: '203.0.113.5',
      status: 403,
      at: proxied,
    },
    {
      name: 'an allowed peer with a forged header',
      peer: '203.0.113.5',
      forwarded: '198.51.100.1',
      status: 200,
      at: proxied,
    },
    { name: 'an invalid header', peer: '10.0.0.1', forwarded: 'unknown', status: 400, at: proxied },
    { name: 'an address with a port', peer: '10.0.0.1', forwarded: '203.0.113.5:443', status: 400, at: proxied },
    { name: 'an empty header', peer: '10.0.0.1', forwarded: '', status: 403, at: proxied },
    { name: 'no header, so the caller is the proxy', peer: '10.0.0.1', status: 403, at: proxied },
    { name: 'an IPv6 caller', peer: '10.0.0.1', forwarded: '2001:db8::5', status: 200, at: proxied },
  ]
  const issued = new Map<unknown, Awaited<ReturnType<typeof direct.merchant>>>()
  for (const at of [direct, proxied]) issued.set(at, await at.merchant({ allowIps: ['203.0.113.5', '2001:db8::/32'] }))
  for (const { name, peer, forwarded, status, at } of rows) {
    const { secretKey, webApiKey: key } = issued.get(at)!
    const headers = forwarded === undefined ? {} : { 'x-forwarded-for': forwarded }
    const response = await post(at.app, paths.native, createBody('native', secretKey), { key, address: peer, headers })
    t.equal(response.statusCode, status, name)
  }
})

t.test('verifies an X-Signature if present, and can require one', async (t) => {
  const { app, merchant } = await service(t)
  const optional = await merchant()
  const required = await merchant({ requireSignature: 'all' })
  const now = Math.floor(Date.now() / 1000)
  for (const kind of kinds) {
    for (const { secretKey, webApiKey: key, expectedStatus } of [
      { ...optional, expectedStatus: 200 },
      { ...required, expectedStatus: 400 },
    ]) {
      // The body differs each time, because a repeat of an accepted request needs no signature.
      const send = async (signature?: (body: string) => string) => {
        const body = createBody(kind, secretKey)
        const headers = signature ? { 'x-signature': signature(body) } : {}
        return (await post(app, paths[kind], body, { key, headers })).statusCode
      }
      t.equal(await send(), expectedStatus, `${kind} without a signature`)
      t.equal(await send((body) => signatureOf(secretKey, body)), 200, 'a valid signature')
      t.equal(await send((body) => signatureOf(secretKey, body, now - 290)), 200, 'a signature within five minutes')
      t.equal(await send((body) => signatureOf(secretKey, body, now - 310)), 400, 'an old signature')
      t.equal(await send((body) => signatureOf(secretKey, body, now + 310)), 400, 'a signature from the future')
      t.equal(await send((body) => signatureOf('another', body)), 400, 'a signature with a different secret')
      t.equal(await send((body) => signatureOf(secretKey, `${body} `)), 400, 'a signature of a different body')
      t.equal(await send(() => 'nonsense'), 400)
    }
  }
})

t.test('can require a signature for withdrawals only', async (t) => {
  const { app, merchant } = await service(t)
  const { secretKey, webApiKey: key } = await merchant({ requireSignature: 'withdrawals' })
  for (const [kind, status] of [
    ['hosted', 200],
    ['native', 200],
    ['withdrawal', 400],
  ] as const) {
    const unsigned = await post(app, paths[kind], createBody(kind, secretKey), { key })
    t.equal(unsigned.statusCode, status, kind)
    if (status === 400) t.match(unsigned.json(), { error: { code: 40004 } })
    const body = createBody(kind, secretKey)
    const headers = { 'x-signature': signatureOf(secretKey, body) }
    t.equal((await post(app, paths[kind], body, { key, headers })).statusCode, 200)
  }
})

t.test('rejects a native create without a hashCode if the merchant requires one', async (t) => {
  const { app, merchant } = await service(t)
  const { secretKey, webApiKey: key } = await merchant({ requireNativeHash: true })
  const without = await post(app, paths.native, createBody('native', secretKey, { hashCode: undefined }), { key })
  t.match(without.json(), { error: { code: 40001, validationErrors: [{ members: ['hashCode'] }] } })
  t.equal((await post(app, paths.native, createBody('native', secretKey), { key })).statusCode, 200)
})

t.test("applies a merchant's own limits to creates with a key and to hosted creates", async (t) => {
  const { app, merchant } = await service(t)
  const { secretKey, webApiKey: key } = await merchant({ minAmountMinor: 1000n, maxAmountMinor: 2000n })
  for (const [amountText, status] of [
    ['9.99', 400],
    ['10.00', 200],
    ['20', 200],
    ['20.01', 400],
  ] as const) {
    for (const options of [{ key }, {}]) {
      const response = await post(app, paths.hosted, createBody('hosted', secretKey, {}, amountText), options)
      t.equal(response.statusCode, status, amountText)
      if (status === 400) t.match(response.json(), { error: { validationErrors: [{ members: ['amount'] }] } })
    }
  }
})

t.test('returns 429 with Retry-After to a merchant that exceeds its rate, but not to other merchants', async (t) => {
  const { app, merchant } = await service(t)
  const slow = await merchant({ rateLimitPerSecond: 1 })
  const other = await merchant()
  // Sent together, because a token comes back every second.
  const many = (send: () => ReturnType<typeof post>) => Promise.all(Array.from({ length: 20 }, send))
  const native = await many(() =>
    post(app, paths.native, createBody('native', slow.secretKey), { key: slow.webApiKey }),
  )
  t.ok(native.filter(({ statusCode }) => statusCode === 200).length >= 5, 'allows a burst of five seconds')
  const refused = native.filter(({ statusCode }) => statusCode === 429)
  t.ok(refused.length > 0)
  t.same([...new Set(refused.map(({ headers }) => headers['retry-after']))], ['1'])
  const hosted = await many(() => post(app, paths.hosted, createBody('hosted', slow.secretKey)))
  t.ok(
    hosted.some(({ statusCode }) => statusCode === 429),
    'the limit also applies to creates without a key',
  )
  t.equal(
    (await post(app, paths.native, createBody('native', other.secretKey), { key: other.webApiKey })).statusCode,
    200,
  )
})

t.test('limits the unknown addresses and failing requests of each caller without a merchant', async (t) => {
  const { app } = await service(t)
  const many = (send: (i: number) => Promise<{ readonly statusCode: number }>) =>
    Promise.all(Array.from({ length: 1000 }, (_, i) => send(i))).then(
      (responses) => new Set(responses.map(({ statusCode }) => statusCode)),
    )
  t.same([...(await many((i) => app.inject({ url: `/nothing/${i}` })))], [404, 429])
  t.ok((await many(() => post(app, paths.hosted, '{}'))).has(429))
  t.equal((await post(app, paths.hosted, '{}', { address: '10.0.0.1' })).statusCode, 400)
})

t.test('writes no key, secret or body to a log line', async (t) => {
  const { app, merchant, logLines } = await service(t)
  const { secretKey, webApiKey } = await merchant({ allowIps: ['10.0.0.1'] })
  await post(app, paths.native, createBody('native', secretKey, { name: 'Canary' }), { key: webApiKey })
  await post(app, paths.native, createBody('native', secretKey, { name: 'Canary' }), { key: 'tk_canary' })
  t.equal(logLines.length, 2)
  for (const canary of [webApiKey, secretKey, 'Canary', 'tk_canary'])
    t.notOk(logLines.join('').includes(canary), canary)
})
