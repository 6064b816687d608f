import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import t, { type Test } from 'tap'
import { createForwarder, listenToCallbacks } from '../../src/cli/callback-listener.js'
import { UsageError } from '../../src/cli/failures.js'
import { accessOf, MerchantApi } from '../../src/cli/merchant-api.js'
import { startReceiver } from '../callbacks/receiver.js'
import { until } from '../support/until.js'

type Handle = (response: ServerResponse, request: IncomingMessage) => void

/** Starts a server, and returns its URL and the requests that it has received. */
async function server(t: Test, handle: Handle) {
  const requests: IncomingMessage[] = []
  const server = createServer((request, response) => {
    requests.push(request)
    handle(response, request)
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  t.teardown(() => {
    server.closeAllConnections()
    server.close()
  })
  return { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`, requests }
}

const apiOf = (url: string) => new MerchantApi({ url, apiKey: 'key', secretKey: undefined, webhookSecret: undefined })

const frame = (event: string, id: string) => `event: ${event}\nid: ${id}\ndata: {}\n\n`

t.test('a listener resumes after the latest id, through every failure of a proxy', async (t) => {
  const html = { 'content-type': 'text/html' }
  const failures: readonly Handle[] = [
    (response) => response.writeHead(502, html).end('<h1>Bad Gateway</h1>'),
    (response) => response.writeHead(504).end(),
    (response) => response.writeHead(200, html).end('<h1>We are back soon</h1>'),
    (response) => response.destroy(),
  ]
  await Promise.all(
    failures.map(async (fail) => {
      const stop = new AbortController()
      const turns: readonly Handle[] = [
        (response) => {
          response.setHeader('content-type', 'text/event-stream').end(frame('ready', '1') + frame('heartbeat', '9'))
        },
        fail,
        () => stop.abort(),
      ]
      const proxy = await server(t, (response, request) => turns[proxy.requests.length - 1]!(response, request))
      const reasons: string[] = []
      await listenToCallbacks({
        api: apiOf(proxy.url),
        signal: stop.signal,
        onReady: () => undefined,
        onCallback: () => undefined,
        onInterrupted: (reason) => reasons.push(reason),
        onSkipped: () => undefined,
      })
      t.strictSame(
        proxy.requests.map(({ headers }) => headers['last-event-id']),
        [undefined, '9', '9'],
      )
      t.equal(reasons.length, 1, 'an interruption is reported once')
    }),
  )
})

t.test('something other than the service is reported, and gets no second request', async (t) => {
  const elsewhere = await server(t, (response) => response.end())
  const others: readonly (readonly [RegExp, Handle])[] = [
    [/other than transferd/, (response) => response.setHeader('content-type', 'text/html').end('<h1>Hello</h1>')],
    [/301: .* It redirects to /, (response) => response.writeHead(301, { location: elsewhere.url }).end()],
    [/307: .* It redirects to /, (response) => response.writeHead(307, { location: elsewhere.url }).end()],
  ]
  for (const [message, handle] of others) {
    const other = await server(t, handle)
    const api = apiOf(other.url)
    await t.rejects(api.getMerchant(), { name: 'Refused', message })
    await t.rejects(api.resendCallbacks({}), { name: 'Refused', message })
    await t.rejects(api.open('/v1/callbacks/stream', {}, new AbortController().signal), { name: 'Refused', message })
    t.equal(other.requests.length, 3)
  }
  t.strictSame(elsewhere.requests, [], 'the key is sent to the named service only')
})

t.test('no error contains a value, because values can be secrets', async (t) => {
  const secret = 'hunter2'
  const values = [
    { url: `http://user:${secret}@127.0.0.1:1` },
    { url: `http://${secret}@127.0.0.1:1` },
    { url: `ftp://${secret}` },
    { url: `http://127.0.0.1:1/?token=${secret}` },
    { url: `http://127.0.0.1:1/#${secret}` },
    ...['', `a\n${secret}`, `${secret} `, `${secret}😀`, `\u0000${secret}`].map((apiKey) => ({ apiKey })),
  ]
  for (const value of values) {
    const access = { url: 'http://127.0.0.1:1', apiKey: 'key', ...value }
    const environment = { TRANSFERD_URL: access.url, TRANSFERD_API_KEY: access.apiKey }
    for (const given of [accessOf(access, {}), accessOf({}, environment)]) {
      const error = await given.then(
        () => undefined,
        (error: unknown) => error,
      )
      t.ok(error instanceof UsageError, JSON.stringify(value))
      t.notMatch(String(error), secret)
    }
  }
  t.throws(() => createForwarder(`http://user:${secret}@127.0.0.1:1`), {
    name: 'UsageError',
    message: /^(?!.*hunter2)/,
  })
})

const callback = { trackingId: 't', request: { method: 'POST', headers: {}, body: '{}' } } as Parameters<
  ReturnType<typeof createForwarder>
>[0]

t.test('only the start of a response is read', async (t) => {
  const start = 'x'.repeat(10)
  const endless = await server(t, (response) => response.writeHead(500).write(start))
  t.match(await createForwarder(endless.url)(callback), { status: 500, body: start, failure: null })
  let written = 0
  const huge = await server(t, (response) => {
    const write = () => {
      while (!response.destroyed) {
        written += 65_536
        if (!response.write('x'.repeat(65_536))) return response.once('drain', write)
      }
      return undefined
    }
    write()
  })
  t.match(await createForwarder(huge.url)(callback), { status: 200, body: 'x'.repeat(1_000), failure: null })
  t.ok(written < 100_000_000, 'the rest is not requested')
  const cut = await server(t, (response) => {
    response.writeHead(200, { 'content-length': '100' }).write(start, () => response.destroy())
  })
  t.match(await createForwarder(cut.url)(callback), { status: 200, body: start, failure: null })
})

t.test('at most 16 callbacks are forwarded at the same time, and one of each transfer, in order', async (t) => {
  const open: (() => void)[] = []
  const receiver = await startReceiver(t, (_received, response) => void open.push(() => response.end()))
  const forward = createForwarder(receiver.url)
  const sent = Array.from({ length: 40 }, (_, n) => {
    const trackingId = `transfer-${n % 20}`
    const body = JSON.stringify({ TrackingId: trackingId, n })
    return forward({ ...callback, trackingId, request: { ...callback.request, body } })
  })
  await until(() => open.length === 16)
  for (let answered = 0; answered < 40; ) {
    await until(() => open.length > 0)
    t.ok(open.length <= 16)
    for (const respond of open.splice(0)) {
      respond()
      answered++
    }
  }
  for (const response of await Promise.all(sent)) t.equal(response.status, 200)
  for (let k = 0; k < 20; k++) {
    const of = receiver.received.filter(({ trackingId }) => trackingId === `transfer-${k}`)
    t.same(
      of.map(({ body }) => body.n),
      [k, k + 20],
    )
  }
})
