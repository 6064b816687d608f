import { randomUUID } from 'node:crypto'
import { once } from 'node:events'
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import { type AddressInfo, createServer as createTcpServer, type Socket } from 'node:net'
import t, { type Test } from 'tap'
import { createHttpWallet } from '../../src/wallet/http/http-wallet.js'
import { type Wallet, WalletOutcomeUnknownError, WalletUnavailableError } from '../../src/wallet/wallet.js'

const payment = () => ({
  trackingId: randomUUID(),
  accountNumber: 123_456_789_012,
  amountMinor: 100n,
  description: 'x',
  sandbox: false,
})
const currency = { code: 'EUR', decimals: 2 } as const
const longTimeoutMs = 60_000
/** A short timeout that still allows a connection on a busy machine. */
const shortTimeoutMs = 3_000

interface Served {
  readonly wallet: Wallet
  readonly url: string
  readonly requests: IncomingMessage[]
  readonly bodies: string[]
}

/** A wallet core that reads each request completely and then calls the handler of the test. */
async function core(t: Test, respond: (response: ServerResponse) => void, timeoutMs = longTimeoutMs): Promise<Served> {
  const requests: IncomingMessage[] = []
  const bodies: string[] = []
  const server = createServer(async (request, response) => {
    let body = ''
    for await (const chunk of request.setEncoding('utf8')) body += chunk
    requests.push(request)
    bodies.push(body)
    respond(response)
  })
  const url = await listening(t, server)
  return { wallet: createHttpWallet({ url, token: 'the-token', timeoutMs, currency }), url, requests, bodies }
}

async function listening(t: Test, server: ReturnType<typeof createServer> | ReturnType<typeof createTcpServer>) {
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  t.teardown(() => {
    if ('closeAllConnections' in server) server.closeAllConnections()
    server.close()
  })
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`
}

const json = (status: number, body: unknown) => (response: ServerResponse) =>
  response.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify(body))

const others: { readonly [name: string]: (wallet: Wallet) => Promise<unknown> } = {
  logIn: (wallet) => wallet.logIn('ada@example.com', '123456', 'merchant'),
  sendCode: (wallet) =>
    wallet.sendCode({ id: randomUUID(), accountNumber: 1 }, { merchantName: 'Shop', amountMinor: 100n }),
  verifyCode: (wallet) => wallet.verifyCode({ id: randomUUID(), accountNumber: 1 }, '123456'),
  isTrusted: (wallet) => wallet.isTrusted(1, 'device'),
  trust: (wallet) => wallet.trust(1, 'device'),
  requestTrust: (wallet) =>
    wallet.requestTrust({ accountNumber: 1, confirmUrl: 'https://x.example', merchantName: 'Shop', amountMinor: 100n }),
  collectionOf: (wallet) => wallet.collectionOf(payment()),
}

t.test('reports that nothing was done if the core cannot be reached', async (t) => {
  const server = createTcpServer()
  const url = await listening(t, server)
  server.close()
  await once(server, 'close')
  const wallet = createHttpWallet({ url, token: 't', timeoutMs: longTimeoutMs, currency })
  await t.rejects(wallet.collect(payment()), { name: 'WalletUnavailableError', message: /ECONNREFUSED/ })
  const unresolvable = createHttpWallet({
    url: 'http://wallet.invalid',
    token: 't',
    timeoutMs: longTimeoutMs,
    currency,
  })
  await t.rejects(unresolvable.collect(payment()), WalletUnavailableError)
})

t.test('sends nothing to a core with an untrusted certificate', async (t) => {
  const received: Buffer[] = []
  // The client cannot parse this response as a TLS handshake.
  const server = createTcpServer((socket) => {
    socket.on('error', () => undefined)
    socket.on('data', (bytes) => {
      received.push(bytes)
      socket.end('HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\n{}')
    })
  })
  const url = (await listening(t, server)).replace('http:', 'https:')
  const wallet = createHttpWallet({ url, token: 'canary-token', timeoutMs: longTimeoutMs, currency })
  await t.rejects(wallet.collect(payment()), WalletUnavailableError)
  t.notOk(Buffer.concat(received).includes('canary-token'))
})

t.test('after a collection was sent, its outcome is unknown without a complete valid response', async (t) => {
  const invalidResponses: { readonly [what: string]: (response: ServerResponse) => void } = {
    'a reset': (response) => response.socket?.resetAndDestroy(),
    'a closed connection': (response) => response.socket?.end(),
    'half a response': (response) => {
      response.writeHead(200, { 'content-length': '100' }).write('{"outcome":"collected"')
      setTimeout(() => response.socket?.destroy(), 20)
    },
    'status 500': json(500, { outcome: 'refused', reason: 'insufficient-balance' }),
    'status 502': json(502, {}),
    'status 503': json(503, {}),
    'status 504': json(504, {}),
    'status 408': json(408, {}),
    'status 409': json(409, {}),
    'status 202': json(202, { outcome: 'collected', amountMinor: 100 }),
    'status 204': (response) => response.writeHead(204).end(),
    'a page': (response) => response.writeHead(200, { 'content-type': 'text/html' }).end('<h1>OK</h1>'),
    'no outcome': json(200, {}),
    null: json(200, null),
    'a different outcome': json(200, { outcome: 'pending' }),
    'no amount': json(200, { outcome: 'collected' }),
    'an amount as text': json(200, { outcome: 'collected', amountMinor: '100' }),
    'a fractional amount': json(200, { outcome: 'collected', amountMinor: 100.5 }),
    'an amount of zero': json(200, { outcome: 'collected', amountMinor: 0 }),
    'an amount above the limit': json(200, { outcome: 'collected', amountMinor: 1e15 }),
    'an unknown reason': json(200, { outcome: 'refused', reason: 'because' }),
    'half JSON': (response) => response.writeHead(200).end('{"outcome":"refused","reason":"insufficient-bal'),
    'a response above the size limit': (response) =>
      response.writeHead(200).end(`{"outcome":"refused","reason":"account-blocked","x":"${'x'.repeat(100_000)}"}`),
  }
  for (const [what, respond] of Object.entries(invalidResponses)) {
    const { wallet, requests } = await core(t, respond)
    await t.rejects(wallet.collect(payment()), WalletOutcomeUnknownError, what)
    t.equal(requests.length, 1, `${what}: sent once`)
  }
})

t.test('trusts a response in which the core states that it did nothing', async (t) => {
  for (const status of [400, 401, 403, 404, 405, 413, 415, 422, 429]) {
    const { wallet } = await core(t, json(status, {}))
    await t.rejects(wallet.collect(payment()), { name: 'WalletUnavailableError', message: new RegExp(`${status}`) })
  }
})

t.test('does not follow redirects, because requests are for the configured core only', async (t) => {
  const elsewhere = await core(t, json(200, { outcome: 'collected', amountMinor: 100 }))
  for (const status of [301, 302, 307, 308]) {
    const { wallet } = await core(t, (response) => response.writeHead(status, { location: elsewhere.url }).end())
    await t.rejects(wallet.collect(payment()), WalletOutcomeUnknownError, String(status))
    await t.rejects(wallet.logIn('ada@example.com', '123456', 'merchant'), WalletUnavailableError, String(status))
  }
  t.equal(elsewhere.requests.length, 0)
})

t.test('stops waiting for a core that does not respond, or sends single bytes slowly', async (t) => {
  const silent = await core(t, () => undefined, shortTimeoutMs)
  const slowCore = await core(
    t,
    (response) => {
      response.writeHead(200, { 'content-length': '100000' })
      const interval = setInterval(() => response.write(' '), 20)
      response.on('close', () => clearInterval(interval))
    },
    shortTimeoutMs,
  )
  const sockets: Socket[] = []
  const stalledServer = await listening(
    t,
    createTcpServer((socket) => {
      sockets.push(socket.pause())
    }),
  )
  const invalidResponses = { name: 'WalletOutcomeUnknownError', message: /no response in time/ }
  await Promise.all([
    t.rejects(silent.wallet.collect(payment()), invalidResponses),
    t.rejects(slowCore.wallet.collect(payment()), invalidResponses),
    t.rejects(
      createHttpWallet({ url: stalledServer, token: 't', timeoutMs: shortTimeoutMs, currency }).collect(payment()),
      invalidResponses,
    ),
    t.rejects(silent.wallet.logIn('ada@example.com', '123456', 'merchant'), WalletUnavailableError),
  ])
  for (const socket of sockets) socket.destroy()
})

t.test('reports any failure of a repeatable request as an unavailable wallet', async (t) => {
  const wrong: { readonly [what: string]: (response: ServerResponse) => void } = {
    'a reset': (response) => response.socket?.resetAndDestroy(),
    'status 500': json(500, {}),
    'a page': (response) => response.writeHead(200).end('<h1>OK</h1>'),
    'a list': json(200, []),
    'an unexpected status': json(201, {}),
  }
  for (const [what, respond] of Object.entries(wrong)) {
    const { wallet } = await core(t, respond)
    for (const [name, call] of Object.entries(others))
      await t.rejects(call(wallet), WalletUnavailableError, `${name}: ${what}`)
  }
})

t.test('sends the token, the trackingId as idempotency key, and integer minor units with a collection', async (t) => {
  const { wallet, requests, bodies } = await core(t, json(200, { outcome: 'collected', amountMinor: 99, more: true }))
  const request = { ...payment(), amountMinor: 99_999_999n }
  t.same(await wallet.collect(request), { outcome: 'collected', amountMinor: 99n, receiptUrl: null })
  t.match(requests[0], {
    method: 'POST',
    url: '/collections',
    headers: {
      authorization: 'Bearer the-token',
      'idempotency-key': request.trackingId,
      'content-type': 'application/json',
      connection: 'close',
    },
  })
  const { sandbox: _, ...money } = { ...request, amountMinor: 99_999_999, currency: 'EUR' }
  t.same(JSON.parse(bodies[0]!), money)
  await wallet.collect({ ...request, sandbox: true })
  t.same(JSON.parse(bodies[1]!), { ...money, sandbox: true }, 'a core without a sandbox never receives the field')
})

t.test('ignores a receipt that is not a web address and records the collection', async (t) => {
  const answers: [unknown, string | null][] = [
    ['https://core.example/receipts/1', 'https://core.example/receipts/1'],
    ['javascript:alert(1)', null],
    ['receipt 1', null],
    [`https://core.example/${'x'.repeat(3_000)}`, null],
    [null, null],
  ]
  for (const [given, expected] of answers) {
    const { wallet } = await core(t, json(200, { outcome: 'collected', amountMinor: 100, receiptUrl: given }))
    t.same(await wallet.collect(payment()), { outcome: 'collected', amountMinor: 100n, receiptUrl: expected })
  }
})

t.test('no error contains the token, the password, the code or the response of the core', async (t) => {
  const secrets = /the-token|481516|canary/
  for (const respond of [
    json(500, { error: 'canary 481516' }),
    json(400, { error: 'canary 481516' }),
    json(200, 'canary'),
  ]) {
    const { wallet } = await core(t, respond)
    const calls = [
      wallet.logIn('ada@example.com', '481516', 'merchant'),
      wallet.verifyCode({ id: randomUUID(), accountNumber: 1 }, '481516'),
      wallet.collect(payment()),
    ]
    for (const call of calls) {
      const error = await call.catch((error: unknown) => error)
      t.ok(error instanceof Error)
      t.notMatch(`${(error as Error).stack} ${JSON.stringify(error)} ${(error as Error).cause}`, secrets)
    }
  }
})

t.test('rejects requests above the concurrency limit before it sends them', async (t) => {
  const { wallet, requests } = await core(t, () => undefined)
  const attempts = Array.from({ length: 70 }, () => wallet.collect(payment()).catch((error: Error) => error.name))
  const first = await Promise.race(attempts)
  t.equal(first, 'WalletUnavailableError')
  const refused = await Promise.all(attempts.slice(64))
  t.same(new Set(refused), new Set(['WalletUnavailableError']))
  t.ok(requests.length <= 64)
})

t.test('sends the merchant, the amount and the currency with messages and debits', async (t) => {
  const { wallet, bodies } = await core(t, json(200, {}))
  const details = { merchantName: 'Blue Shop', amountMinor: 12_345n }
  await wallet.sendCode({ id: 'c', accountNumber: 1 }, details)
  await wallet.requestTrust({ accountNumber: 1, confirmUrl: 'https://x.example', ...details })
  await wallet.collect({ ...payment(), amountMinor: 12_345n }).catch(() => undefined)
  const requested = bodies.map((body) => JSON.parse(body))
  for (const body of requested) t.match(body, { amountMinor: 12_345, currency: 'EUR' })
  for (const body of requested.slice(0, 2)) t.match(body, { merchantName: 'Blue Shop' })
  t.equal(requested.length, 3)
})
