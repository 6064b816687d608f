import { randomUUID } from 'node:crypto'
import { once } from 'node:events'
import { readFile } from 'node:fs/promises'
import { type AddressInfo, createServer } from 'node:net'
import { inspect } from 'node:util'
import {
  ApiError,
  CallbackRejected,
  type ClientOptions,
  ErrorCode,
  fromMinorUnits,
  hashCode,
  NoResponseError,
  Status,
  signRequest,
  TransferdClient,
  TransferdError,
  toMinorUnits,
  verifyCallback,
} from '@transferd/client'
import fc from 'fast-check'
import t, { type Test } from 'tap'
import { formatShortest, formatTwoDecimals } from '../../src/domain/money.js'
import { hashCode as serviceHashCode } from '../../src/security/api-keys.js'
import { anyText } from '../support/any-text.js'
import { destroyTestService, startTestService } from '../support/test-service.js'
import { until } from '../support/until.js'

interface CallbackVector {
  readonly name: string
  readonly headers: { readonly [name: string]: string }
  readonly body: string
  readonly nowSeconds: number
  readonly webhookSecrets?: readonly string[]
  readonly secretKeys?: readonly string[]
  readonly handled?: readonly string[]
  readonly result: string
}

const vectors = JSON.parse(await readFile('sdks/test-vectors.json', 'utf8'))
const callbacks: readonly CallbackVector[] = vectors.callbacks
const { secretKey, webhookSecret } = vectors

/** Verifies a callback of the vectors and returns the result in their words. */
async function resultOf(
  vector: CallbackVector,
  body: string | Uint8Array = vector.body,
  headers: object = vector.headers,
) {
  const { webhookSecrets = webhookSecret, secretKeys = secretKey, handled = [], nowSeconds } = vector
  const options = { webhookSecret: webhookSecrets, secretKey: secretKeys, nowSeconds }
  const isHandled = async (id: string) => handled.includes(id)
  try {
    const received = await verifyCallback(body, headers as Headers, { ...options, isHandled })
    return received.isRepeated ? 'repeated' : 'accepted'
  } catch (error) {
    if (error instanceof CallbackRejected) return error.reason
    throw error
  }
}

t.test('tells apart the callbacks of the vectors', async (t) => {
  const results = new Set(callbacks.map(({ result }) => result))
  t.equal(results.size, 8)
  for (const vector of callbacks) {
    t.equal(await resultOf(vector), vector.result, vector.name)
    t.equal(await resultOf(vector, Buffer.from(vector.body)), vector.result, `${vector.name}, as bytes`)
    t.equal(
      await resultOf(vector, vector.body, new Headers(vector.headers)),
      vector.result,
      `${vector.name}, in Headers`,
    )
    const upper = Object.entries(vector.headers).map(([name, value]) => [name.toUpperCase(), [value]])
    t.equal(await resultOf(vector, vector.body, Object.fromEntries(upper)), vector.result, `${vector.name}, in lists`)
  }
})

t.test('returns the callback with exact amounts, its id, its revision and whether it is a test event', async (t) => {
  const find = (name: string) => callbacks.find((each) => each.name === name)!
  const receive = ({ body, headers, nowSeconds }: CallbackVector) =>
    verifyCallback(body, headers, { webhookSecret, secretKey, nowSeconds })
  const large = await receive(find('an amount of 2^53 minor units'))
  t.match(large, {
    callback: { Amount: '90071992547409.92', Status: Status.Completed },
    isTest: false,
    isRepeated: false,
  })
  t.match(large, { webhookId: find('a genuine callback').headers['webhook-id'], revision: 1 })
  t.match(await receive(find('a genuine callback')), { callback: { Amount: '100.50', HashCode: /^[0-9A-F]{32}$/ } })
  t.match(await receive(find('a test event')), { isTest: true })
})

t.test('rejects any change of a genuine callback', async () => {
  const vector = callbacks[0]!
  const position = fc.nat({ max: vector.body.length - 1 })
  await fc.assert(
    fc.asyncProperty(position, fc.constantFrom(...'"{}:,0159aZ \\'), async (at, character) => {
      const body = vector.body.slice(0, at) + character + vector.body.slice(at + 1)
      const result = await resultOf(vector, body)
      return body === vector.body ? result === 'accepted' : /^(changed-body|wrong-signature)$/.test(result)
    }),
    { numRuns: 500 },
  )
})

t.test('rejects a forged body in a time that grows with its length, and never with another error', async (t) => {
  const { nowSeconds, headers } = callbacks[0]!
  const signatures = `v1,${'A'.repeat(43)}= `.repeat(300)
  const manySignatures = { ...headers, 'webhook-signature': signatures }
  for (const [name, body] of Object.entries({
    'escaped quotes': `"${'\\"'.repeat(500_000)}`,
    'spaces before a colon': `{"Amount"${' '.repeat(1_000_000)}:`,
    'open lists': '['.repeat(1_000_000),
    'many digits': `{"Amount":${'9'.repeat(1_000_000)},"RefereneceId":"a","HashCode":"a"}`,
    'a long text': `{"Amount":1,"RefereneceId":"${'a'.repeat(1_000_000)}","HashCode":"a"}`,
    ...Object.fromEntries(['', 'null', '[]', '1', '{}', '\ud800'].map((text) => [`'${text}'`, text])),
    'fields of other types': '{"Amount":{},"RefereneceId":[],"HashCode":{"toString":1}}',
  })) {
    const before = performance.now()
    t.equal(await resultOf(callbacks[0]!, body, manySignatures), 'changed-body', name)
    t.ok(performance.now() - before < 3_000, `${name}: ${performance.now() - before} ms`)
  }
  const [start, end] = callbacks[0]!.body.split('Completed') as [string, string]
  const bytes = Buffer.concat([Buffer.from(start), Buffer.of(0xff), Buffer.from(end)])
  t.equal(await resultOf(callbacks[0]!, bytes), 'changed-body', 'not UTF-8')
  for (const body of [JSON.parse(callbacks[0]!.body), null, undefined, new ArrayBuffer(3)])
    await rejects(t, verifyCallback(body, headers, { webhookSecret, secretKey, nowSeconds }), /body must be the text/)
})

t.test('accepts no time if the tolerance or the clock is not a number', async (t) => {
  const { body, headers, nowSeconds } = callbacks[0]!
  for (const time of [{ toleranceSeconds: Number.NaN }, { nowSeconds: Number.NaN }])
    await rejects(t, verifyCallback(body, headers, { webhookSecret, secretKey, nowSeconds, ...time }), CallbackRejected)
})

t.test('reports a wrong secret before it reads the request', async (t) => {
  const verify = (secrets: object) => verifyCallback('', {}, { webhookSecret, secretKey, ...secrets })
  await rejects(t, verify({ secretKey: '' }), /secretKey is missing/)
  await rejects(t, verify({ webhookSecret: secretKey }), /whsec_/)
  await rejects(t, verify({}), { reason: 'missing-signature' })
})

t.test('asks whether a callback is handled only after it is verified', async (t) => {
  const asked: string[] = []
  const isHandled = (id: string) => asked.push(id) > 0
  for (const { body, headers, nowSeconds, result } of callbacks.filter(
    (each) => !each.webhookSecrets && !each.secretKeys,
  )) {
    const before = asked.length
    await verifyCallback(body, headers, { webhookSecret, secretKey, nowSeconds, isHandled }).catch(() => undefined)
    t.equal(asked.length - before, /accepted|repeated/.test(result) ? 1 : 0)
  }
  const { body, headers, nowSeconds } = callbacks[0]!
  for (const none of ['', [], [''], [secretKey, ''], undefined as unknown as string]) {
    const verify = (secrets: object) =>
      verifyCallback(body, headers, { webhookSecret, secretKey, nowSeconds, ...secrets })
    await rejects(t, verify({ secretKey: none }), /secretKey is missing/)
    await rejects(t, verify({ webhookSecret: none }), /webhookSecret is missing/)
  }
  const { 'x-transfer-revision': _, ...unnumbered } = headers
  t.equal(await resultOf(callbacks[0]!, body, unnumbered), 'missing-signature')
  for (const wrong of ['whsec_', 'whsec_%', secretKey])
    await rejects(
      t,
      verifyCallback('', callbacks[0]!.headers, {
        webhookSecret: wrong,
        secretKey,
        nowSeconds: callbacks[0]!.nowSeconds,
      }),
      /whsec_/,
    )
})

t.test('computes the hashes and signatures of the vectors, and those of any text', async (t) => {
  for (const { hashed, referenceId, hashCode: expected } of vectors.hashCodes.accepted)
    t.equal(hashCode(secretKey, hashed, referenceId), expected)
  for (const { body, method, path, timestampSeconds, signature, name } of vectors.signatures)
    t.equal(await signRequest(secretKey, body, { method, path, timestampSeconds }), signature, name)
  fc.assert(
    fc.property(anyText({ maxLength: 300 }), (text) => hashCode(text, '1', text) === serviceHashCode(text, '1', text)),
  )
})

t.test('converts amounts exactly, from 0.01 to 2^53 minor units', async (t) => {
  for (const { minorUnits, amount } of vectors.amounts.accepted) {
    t.equal(toMinorUnits(amount), BigInt(minorUnits))
    t.equal(fromMinorUnits(BigInt(minorUnits)), amount)
  }
  for (const { text, amount } of vectors.amounts.shortForms) t.equal(fromMinorUnits(toMinorUnits(text)), amount)
  for (const text of vectors.amounts.rejected) if (!/^0/.test(text)) t.throws(() => toMinorUnits(text), TypeError, text)
  t.throws(() => fromMinorUnits(-1n), RangeError)
  t.throws(() => fromMinorUnits(100 as unknown as bigint), TypeError)
  t.throws(() => toMinorUnits(100 as unknown as string), TypeError)
  const pieces = fc.constantFrom('"amount"', 'amount', '"', '\\', ':', ' ', '1.5', ',', '}')
  const parts = fc.array(pieces).map((each) => each.join(''))
  await fc.assert(
    fc.asyncProperty(fc.bigInt({ min: 1n, max: 2n ** 53n }), parts, async (minor, message) => {
      const { client, requests } = scripted(({ body }) =>
        answer({ result: { ...created, ...JSON.parse(body.replace(/"amount":([\d.]+)/, '"amount":"$1"')) } }),
      )
      const amount = fromMinorUnits(minor)
      await client.createWithdrawal({ ...withdrawal, amount })
      if (!requests[0]!.body.startsWith(`{"accountNumber":"a","amount":${formatTwoDecimals(minor)},`)) return false
      // The service responds with the shortest form of a number.
      const { client: reader } = scripted(
        () =>
          new Response(
            JSON.stringify({ [message]: 1, ...stored, message }).replace(
              '"lateFunds":0',
              `"lateFunds" : ${formatShortest(minor)}`,
            ),
          ),
      )
      const transfer = await reader.getTransfer('x')
      return toMinorUnits(transfer.lateFunds) === minor && transfer.message === message
    }),
  )
})

t.test('rejects numbers and texts that are not amounts, before anything is sent', async (t) => {
  const { client, requests } = scripted(() => answer({}))
  for (const amount of [...vectors.amounts.rejected, 100.5, 100, 1n, null, undefined, {}, ['1']])
    await rejects(t, client.createWithdrawal({ ...withdrawal, amount: amount as string }), {
      name: 'TypeError',
      message: /amount must be a text with at most two decimals, such as '100.50'/,
    })
  await rejects(t, client.completeWithdrawal('x', { revision: 1, amount: 5 as unknown as string }), TypeError)
  const { client: reader } = scripted(() => answer({}), { secretKey: undefined })
  await rejects(t, reader.createWithdrawal(withdrawal), /requires the secretKey/)
  t.same(requests, [])
})

const withdrawal = {
  ...{ accountNumber: 'a', amount: '100.50', userId: '8412', name: 'Ada', username: 'ada' },
  ...{ referenceId: 'order-1', paymentMethod: 1 },
}

const created = {
  transactionId: 't',
  trackingId: 't',
  referenceId: 'r',
  status: 1,
  statusDescription: 'Pending',
  amount: 1,
}
const amounts = {
  amount: 1,
  transactionAmount: 1,
  receivedAmount: 0,
  returnedAmount: 0,
  refundedAmount: 0,
  reservedAmount: 0,
  resolvedAmount: 0,
  lateFunds: 0,
}
const stored = {
  ...{
    ...created,
    ...amounts,
    kind: 'deposit',
    hasAmountMismatch: false,
    needsAttention: false,
    userId: 'u',
    name: 'n',
  },
  ...{ username: 'u', paymentMethod: 1, createdAt: 'now', updatedAt: 'now', revision: 3 },
  ...{ message: null, exceededLimits: [], refunds: [], repayments: [] },
}
/** The fields of several results. */
const anything = {
  ...{ ...stored, merchantId: 'm', sandbox: true, currency: 'EUR', paymentMethods: [], result: created },
  ...{ items: [], nextCursor: null, delivered: true, durationMs: 1, resendsWaiting: false, requeued: 1 },
}

/** Asserts that the promise rejects with an error that matches. */
async function rejects(t: Test, promise: Promise<unknown>, wanted: object): Promise<void> {
  const error = await promise.then(
    () => undefined,
    (each: Error) => each,
  )
  t.match(wanted instanceof RegExp ? error?.message : error, wanted)
}

async function allOf<Item>(items: AsyncIterable<Item>): Promise<Item[]> {
  const found: Item[] = []
  for await (const item of items) found.push(item)
  return found
}

interface Sent {
  readonly url: string
  readonly method: string
  readonly body: string
  readonly headers: Headers
  readonly redirect: string
}

const answer = (body: object, init: ResponseInit = {}) => new Response(JSON.stringify(body), init)
const failure = (status: number, headers: { readonly [name: string]: string } = {}) =>
  answer(
    { success: false, error: { code: status * 100 + 1, message: 'No.', details: null, validationErrors: null } },
    { status, headers },
  )

/** Returns a client whose requests get the responses of the script and whose waits take no time. */
function scripted(respond: (sent: Sent, attempt: number) => Response | Error, options: Partial<ClientOptions> = {}) {
  const requests: Sent[] = []
  const waits: number[] = []
  class Client extends TransferdClient {
    protected override async delay(ms: number) {
      waits.push(ms)
    }
  }
  const fetch = async (url: unknown, init: RequestInit = {}) => {
    const headers = new Headers(init.headers)
    const sent = {
      url: String(url),
      method: init.method!,
      body: String(init.body ?? ''),
      headers,
      redirect: init.redirect!,
    }
    const response = respond(sent, requests.push(sent) - 1)
    if (response instanceof Error) throw response
    return response
  }
  const client = new Client({
    baseUrl: 'https://pay.example/base/',
    webApiKey: 'tk_key',
    secretKey,
    fetch,
    ...options,
  } as ClientOptions)
  return { client, requests, waits }
}

t.test('hashes and signs requests, and follows no redirect', async (t) => {
  const { client, requests } = scripted(() => answer(anything))
  await client.createWithdrawal(withdrawal)
  await client.claimWithdrawal('a/b', { revision: 0 })
  await client.listTransfers({ referenceId: 'ö&=1', limit: 5, cursor: undefined })
  await client.testCallbackEndpoint()
  await client.resendTransferCallbacks('t')
  const [create, claim, list, test, resend] = requests
  t.equal(create!.url, 'https://pay.example/base/api/services/app/TransactionRequests/CreateWithdraw')
  t.match(JSON.parse(create!.body), { transactionType: 2, hashCode: hashCode(secretKey, '100.50', 'order-1') })
  t.equal(claim!.url, 'https://pay.example/base/v1/withdrawals/a%2Fb/claim')
  for (const { headers, body, url, redirect } of [create!, claim!, test!, resend!]) {
    const signature = headers.get('x-signature')!
    const timestampSeconds = Number(/t=(\d+)/.exec(signature)![1])
    t.ok(Math.abs(timestampSeconds - Date.now() / 1000) < 5)
    const path = url.replace('https://pay.example/base', '')
    t.equal(signature, await signRequest(secretKey, body, { path, timestampSeconds }))
    t.same([headers.get('webapikey'), redirect], ['tk_key', 'manual'])
  }
  t.equal(list!.url, 'https://pay.example/base/v1/transfers?referenceId=%C3%B6%26%3D1&limit=5')
  t.same(
    [list!.headers.get('x-signature'), test!.body, test!.headers.get('content-type'), resend!.body],
    [null, '', null, '{}'],
  )
  const redirected = scripted(() => new Response(null, { status: 302, headers: { location: 'https://evil.example' } }))
  const target = /redirects to https:\/\/evil.example, which is not followed/
  await rejects(t, redirected.client.getMerchant(), { status: 302, isOutcomeUnknown: true, message: target })
})

t.test('repeats what is safe to repeat, signed again, after a growing time or after Retry-After', async (t) => {
  const connection = new TypeError('fetch failed')
  const outcomes = [connection, failure(503), failure(500), answer(anything)]
  const { client, requests, waits } = scripted((_, attempt) => outcomes[attempt]!)
  t.match(await client.createWithdrawal(withdrawal), { trackingId: 't' })
  t.equal(requests.length, 4)
  t.equal(new Set(requests.map(({ body }) => body)).size, 1)
  t.ok(
    waits.every((ms, index) => ms >= 250 * 2 ** index && ms <= 500 * 2 ** index),
    String(waits),
  )

  const limited = scripted((_, attempt) => (attempt === 0 ? failure(429, { 'retry-after': '7' }) : answer(anything)))
  await limited.client.getMerchant()
  t.same(limited.waits, [7_000])
  const date = new Date(Date.now() + 20_000).toUTCString()
  const dated = scripted((_, attempt) => (attempt === 0 ? failure(503, { 'retry-after': date }) : answer(anything)))
  await dated.client.getMerchant()
  t.ok(dated.waits[0]! > 15_000 && dated.waits[0]! <= 20_000)
  const long = scripted(() => failure(429, { 'retry-after': '61' }))
  await rejects(t, long.client.getMerchant(), { status: 429, retryAfterSeconds: 61 })
  t.same(long.waits, [])

  const down = scripted(() => connection, { maxRetries: 5 })
  await rejects(t, down.client.getMerchant(), { name: 'NoResponseError', isOutcomeUnknown: true, cause: connection })
  t.equal(down.requests.length, 6)
  t.ok(down.waits.every((ms) => ms <= 8_000))
  const none = scripted(() => failure(503), { maxRetries: 0 })
  await rejects(t, none.client.getMerchant(), { status: 503, isOutcomeUnknown: true })
  t.equal(none.requests.length, 1)
})

t.test('reads Retry-After as seconds or a date, and nothing else', async (t) => {
  const past = new Date(Date.now() - 30_000).toUTCString()
  for (const value of ['0', past]) {
    const { client, waits } = scripted((_, attempt) =>
      attempt === 0 ? failure(503, { 'retry-after': value }) : answer(anything),
    )
    await client.getMerchant()
    t.same(waits, [0], value)
  }
  for (const value of ['-1', '1.5', 'soon', '', '2026-11-21', past.replace(' GMT', '')]) {
    const { client, waits } = scripted((_, attempt) =>
      attempt === 0 ? failure(503, { 'retry-after': value }) : answer(anything),
    )
    await client.getMerchant()
    t.ok(waits[0]! >= 250 && waits[0]! <= 500, value)
  }
  const { client } = scripted(() => failure(503, { 'retry-after': '9'.repeat(20) }))
  await rejects(t, client.getMerchant(), { status: 503, retryAfterSeconds: 1e20 })
})

t.test('reports a response of something else as an ApiError without a code', async (t) => {
  const calls: readonly ((client: TransferdClient) => Promise<unknown>)[] = [
    (client) => client.createWithdrawal(withdrawal),
    (client) => client.createHostedDeposit(withdrawal),
    (client) => client.walletCustomerLogin({ trackingId: 't', userName: 'u', password: 'p' }),
    (client) => allOf(client.iterateTransfers()),
    (client) => allOf(client.iterateFeed()),
  ]
  const errors = ['x', null, [], { code: 1 }, { code: '1', message: 'm' }, { code: 1, message: {} }]
  const invalid = [{ a: 1 }, [null], [{ message: 1 }]]
  const texts = [
    ...['', 'null', '[]', '1', '{}', '{"result":null}', '{"result":{}}', '{"status":"ok"}', '{"result":{"tr', '<html>'],
    ...errors.map((error) => JSON.stringify({ error })),
    ...invalid.map((validationErrors) => JSON.stringify({ error: { code: 1, message: 'm', validationErrors } })),
  ]
  for (const text of texts)
    for (const call of calls)
      for (const status of [200, 400, 500]) {
        const { client } = scripted(() => new Response(text, { status }), { maxRetries: 0 })
        const error = await call(client).then(String, (each) => each)
        t.ok(error instanceof ApiError && error.code === null && error.status === status, `${status} ${text}: ${error}`)
        t.equal(error.isOutcomeUnknown, status !== 400)
      }
  for (const amount of ['-1', '1e2', '1.005']) {
    const text = JSON.stringify(stored).replace('"amount":1', `"amount":${amount}`)
    const { client } = scripted(() => new Response(text))
    await rejects(t, client.getTransfer('t'), { status: 200, code: null })
  }
  const large = scripted(() => answer({ ...stored, message: '"x\\'.repeat(3_000_000) }))
  t.equal((await large.client.getTransfer('t')).message?.length, 9_000_000)
})

t.test('reads all pages, and never the same one again', async (t) => {
  const { client, requests } = scripted(({ url }) => {
    const cursor = new URL(url).searchParams.get('cursor')
    return answer({
      items: [cursor],
      nextCursor: { first: 'second', second: null }[cursor ?? ''] ?? (cursor ? null : 'first'),
    })
  })
  const query = { status: 'Completed', limit: 1, cursor: 'second' }
  t.same(await allOf(client.iterateTransfers(query)), [null, 'first', 'second'])
  t.ok(requests.every(({ url }) => /status=Completed&limit=100/.test(url)))
  const cached = scripted(() => answer({ items: [1], nextCursor: 'a', next: 'a' }))
  await rejects(t, allOf(cached.client.iterateCallbacks()), { name: 'TransferdError', message: /same page/ })
  await rejects(t, allOf(cached.client.iterateFeed()), /same page/)
  t.equal(cached.requests.length, 4)
  const endless = scripted(() => answer({ items: [1], next: null }))
  await rejects(t, allOf(endless.client.iterateFeed()), /same page/)
})

t.test('rejects options that are missing or invalid, before anything is sent', async (t) => {
  const valid = { baseUrl: 'https://pay.example', webApiKey: 'k', secretKey }
  for (const webApiKey of [undefined, null, '', 5, 'a b', 'ş'])
    t.throws(() => new TransferdClient({ ...valid, webApiKey: webApiKey as string }), /webApiKey/)
  for (const wrong of [null, '', 5])
    t.throws(() => new TransferdClient({ ...valid, secretKey: wrong as string }), /secretKey/)
  for (const baseUrl of [undefined, 'https://pay.example?', 'https://pay.example#'])
    t.throws(() => new TransferdClient({ ...valid, baseUrl: baseUrl as string }), /baseUrl/)
  for (const timeoutMs of [Number.NaN, Number.POSITIVE_INFINITY, -1]) {
    const { client, requests } = scripted(() => answer(anything), { timeoutMs })
    const error = await client.getMerchant().catch((each) => each)
    t.ok(error instanceof Error && !(error instanceof TransferdError), String(error))
    t.equal(requests.length, 0)
  }
})

t.test('never repeats a rejected request, nor one whose repeat would have another effect', async (t) => {
  for (const status of [400, 401, 403, 404, 409, 413, 415]) {
    const { client, requests } = scripted(() => failure(status))
    await rejects(t, client.createWithdrawal(withdrawal), { status, code: status * 100 + 1, isOutcomeUnknown: false })
    t.equal(requests.length, 1)
  }
  const { client, requests } = scripted(() => failure(503))
  const calls = [
    () => client.walletCustomerLogin({ trackingId: 't', userName: 'u', password: 'p' }),
    () => client.wallet2Fa({ trackingId: 't', token: 'x', code: '1' }),
    () => client.resendTransferCallbacks('t'),
    () => client.resendCallbacks({ parkedSince: '2026-11-21' }),
    () => client.testCallbackEndpoint(),
  ]
  for (const call of calls) await rejects(t, call(), ApiError)
  t.equal(requests.length, calls.length)
})

t.test('says what is wrong, and neither errors nor the client show a key', async (t) => {
  const error = {
    code: 40001,
    message: 'Invalid request.',
    details: null,
    validationErrors: [{ message: 'amount is wrong.', members: ['amount'] }],
  }
  const { client } = scripted(() => answer({ error }, { status: 400, headers: { 'x-request-id': 'r-1' } }))
  const rejected = await client.createWithdrawal(withdrawal).catch((each) => each)
  t.ok(rejected instanceof ApiError && rejected instanceof TransferdError)
  t.match(rejected, {
    message: '40001 (HTTP 400): Invalid request. amount is wrong. [X-Request-Id r-1]',
    requestId: 'r-1',
    code: ErrorCode.InvalidRequest,
  })
  const gateway = scripted(() => new Response('<html>', { status: 502 }), { maxRetries: 0 })
  await rejects(t, gateway.client.getMerchant(), { status: 502, code: null, isOutcomeUnknown: true })
  const other = scripted(() => new Response('<html>'), { maxRetries: 0 })
  await rejects(t, other.client.getMerchant(), { status: 200, code: null, isOutcomeUnknown: true })
  for (const id of ['', '.', '..']) await rejects(t, client.getTransfer(id), /an id/)
  const refused = new TransferdClient({ baseUrl: 'http://127.0.0.1:1', webApiKey: 'tk_key', secretKey, maxRetries: 0 })
  const noResponse = await refused.getMerchant().catch((each) => each)
  t.ok(noResponse instanceof NoResponseError)
  for (const shown of [client, rejected, refused, noResponse])
    t.notMatch(`${inspect(shown, { depth: 9 })}${JSON.stringify(shown)}`, /tk_key|sk_hash/)
  for (const baseUrl of ['pay.example', 'ftp://pay.example', 'https://a:b@pay.example', 'https://pay.example?x=1', ''])
    t.throws(() => new TransferdClient({ baseUrl, webApiKey: 'k' }), /baseUrl/)
  t.throws(() => new TransferdClient({ baseUrl: 'https://pay.example', webApiKey: 'k\n' }), /webApiKey/)
  const silent = createServer().listen(0, '127.0.0.1')
  t.teardown(() => silent.close())
  await once(silent, 'listening')
  const { port } = silent.address() as AddressInfo
  const slow = new TransferdClient({
    baseUrl: `http://127.0.0.1:${port}`,
    webApiKey: 'k',
    timeoutMs: 20,
    maxRetries: 0,
  })
  await rejects(t, slow.getMerchant(), { name: 'NoResponseError' })
})

t.test('creates, pays, reads and settles with a running service', async (t) => {
  const service = await startTestService({ projections: true })
  t.teardown(() => destroyTestService(service))
  const merchant = await service.merchant({ requireSignature: 'all' })
  await service.app.listen({ port: 0, host: '127.0.0.1' })
  const { port } = service.app.server.address() as { port: number }
  const baseUrl = `http://127.0.0.1:${port}`
  const client = new TransferdClient({ baseUrl, ...merchant })
  t.match(await client.getMerchant(), { sandbox: true, paymentMethods: [{ minAmount: '0.01' }] })

  const customer = { userId: '8412', name: 'Şule', username: 'şule', paymentMethod: 1 }
  const request = { ...customer, amount: '100.50', referenceId: `sipariş ${randomUUID()}` }
  const hosted = await client.createHostedDeposit(request)
  t.match(hosted, { url: /\/pay\//, amount: '100.50', status: Status.Pending })
  t.same(await client.createHostedDeposit({ ...request, amount: '100.5' }), hosted, 'a repeat gets the same response')
  await rejects(t, client.createHostedDeposit({ ...request, amount: '100.51' }), {
    code: ErrorCode.ReferenceReused,
    status: 409,
  })

  const native = await client.createNativeDeposit({ ...customer, amount: '12.34', referenceId: randomUUID() })
  const { trackingId } = native
  const token = await client.walletCustomerLogin({ trackingId, userName: 'test@wallet.example', password: '123456' })
  const verified = await client.wallet2Fa({ trackingId, token, code: '123456' })
  t.match(verified, { next_step: 'Completed', account_number: Number })
  t.match(await client.getTransfer(trackingId), {
    status: Status.Completed,
    transactionAmount: '12.34',
    kind: 'deposit',
  })
  const checked = await client.createNativeDeposit({ ...customer, amount: '66.04', referenceId: randomUUID() })
  const second = { trackingId: checked.trackingId }
  const login = await client.walletCustomerLogin({ ...second, userName: 'test@wallet.example', password: '123456' })
  const { token: deviceToken } = await client.wallet2Fa({ ...second, token: login, code: '123456' })
  t.equal(await client.walletValidateUserDevice({ ...second, token: deviceToken }), null, 'pending')

  const payout = await client.createWithdrawal({
    ...customer,
    amount: '75.00',
    referenceId: randomUUID(),
    accountNumber: 'DE89370400440532013000',
    identityNumber: null,
  })
  await rejects(t, client.claimWithdrawal(payout.trackingId, { revision: 0 }), { code: ErrorCode.ScopeMissing })
  const issued = await service.merchants.createApiKey(
    merchant.id,
    { name: 'settlement', scopes: ['settlement'], validUntil: null },
    { actor: 'test', $correlationId: 'test', $causationId: 'test' },
  )
  if (!issued.accepted) throw new Error('no key')
  const settling = new TransferdClient({ baseUrl, webApiKey: issued.webApiKey, secretKey: merchant.secretKey })
  await until(async () =>
    settling.getMerchant().then(
      () => true,
      (error) => error.code !== ErrorCode.UnknownKey,
    ),
  )
  const claimed = await settling.claimWithdrawal(payout.trackingId, { revision: 0 })
  const completion = { revision: claimed.revision, amount: '70', confirmedAmount: undefined, message: 'Less.' }
  const completed = await settling.completeWithdrawal(payout.trackingId, completion)
  t.match(completed, { status: Status.Completed, transactionAmount: '70.00', hasAmountMismatch: true })
  t.same(await settling.completeWithdrawal(payout.trackingId, completion), completed)

  // The names of amounts and other fields are texts like any other here.
  const metadata = { amount: '1e9', order: 'ü&=', toString: '5', ...JSON.parse('{"__proto__": "x"}') }
  const noted = await client.createHostedDeposit({ ...request, referenceId: randomUUID(), metadata })
  t.equal(JSON.stringify((await client.getTransfer(noted.trackingId)).metadata), JSON.stringify(metadata))
  const found = () => allOf(client.iterateTransfers({ metadata: { amount: '1e9', order: 'ü&=' } }))
  await until(async () => (await found()).some(({ trackingId }) => trackingId === noted.trackingId))
  t.equal((await found()).length, 1)

  const names = new Set([noted.trackingId])
  for (let n = 0; n < 5; n++)
    names.add((await client.createHostedDeposit({ ...request, referenceId: randomUUID() })).trackingId)
  const all = [...names, hosted.trackingId, trackingId, checked.trackingId, payout.trackingId]
  const listed = async () => (await allOf(client.iterateTransfers())).map((each) => each.trackingId)
  await until(async () => (await listed()).length === all.length)
  t.same((await listed()).sort(), all.sort())
  const pages = await allOf(client.iterateFeed())
  const events = pages.flatMap(({ items }) => items)
  t.equal(events.filter(({ type }) => /Created/.test(type)).length, all.length)
  t.match(
    events.find(({ type }) => type === 'WithdrawalCreated'),
    { data: { amount: '75.00' } },
  )
  t.same(await allOf(client.iterateFeed(pages.at(-1)!.next)), [], 'resumes at the stored position')
})
