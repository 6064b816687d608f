import { randomUUID } from 'node:crypto'
import { get, type IncomingMessage } from 'node:http'
import { mock } from 'node:test'
import fc from 'fast-check'
import { Webhook } from 'standardwebhooks'
import t, { type Test } from 'tap'
import type { IssuedCredentials } from '../../src/commands/merchant/merchant-commands.js'
import type { AttemptOutcome } from '../../src/domain/callback.js'
import { apiKeyId } from '../../src/domain/merchant/api-key.js'
import { signInAs } from '../support/dashboard.js'
import {
  destroyTestService,
  startTestService,
  type TestService,
  type TestServiceOptions,
} from '../support/test-service.js'
import { until } from '../support/until.js'

const context = { actor: 'test', $correlationId: 'test', $causationId: 'test' }
const service = await listening(t)

async function listening(t: Test, options: TestServiceOptions = {}): Promise<TestService & { readonly port: number }> {
  const started = await startTestService(options)
  t.teardown(() => destroyTestService(started))
  await started.app.listen({ port: 0, host: '127.0.0.1' })
  const address = started.app.server.address()
  return { ...started, port: typeof address === 'object' ? address!.port : 0 }
}

interface Frame {
  readonly event: string
  readonly id: string
  readonly data: {
    readonly webhookId: string
    readonly resent: boolean
    readonly request: { readonly headers: Record<string, string>; readonly body: string }
    readonly [field: string]: unknown
  }
}

interface Listening {
  readonly status: number
  readonly headers: IncomingMessage['headers']
  readonly response: IncomingMessage
  text(): string
  frames(event?: string): Frame[]
  /** The latest id. */
  lastId(): string
  isEnded(): boolean
  leave(): void
}

async function open(
  t: Pick<Test, 'teardown'>,
  headers: { readonly [name: string]: string },
  { path = '/v1/callbacks/stream', port = service.port, reads = true } = {},
): Promise<Listening> {
  const response = await new Promise<IncomingMessage>((resolve, reject) => {
    const request = get({ port, path, headers, agent: false }, resolve)
    request.once('error', reject)
    t.teardown(() => request.destroy())
  })
  let text = ''
  let isEnded = false
  const onEnd = () => {
    isEnded = true
  }
  const onData = (chunk: Buffer) => {
    text += String(chunk)
  }
  if (reads) response.on('data', onData)
  response.once('end', onEnd).once('close', onEnd).on('error', onEnd)
  const blocks = () =>
    text
      .slice(0, text.lastIndexOf('\n\n') + 1)
      .split('\n\n')
      .map((block) => new Map(block.split('\n').map((line) => [/^\w*/.exec(line)![0], line.replace(/^\w*: ?/, '')])))
  return {
    status: response.statusCode!,
    headers: response.headers,
    response,
    text: () => text,
    frames: (event) =>
      blocks()
        .filter((block) => (event === undefined ? block.has('event') : block.get('event') === event))
        .map((block) => ({
          event: block.get('event')!,
          id: block.get('id')!,
          data: JSON.parse(block.get('data')!) as Frame['data'],
        })),
    lastId: () =>
      blocks()
        .findLast((block) => block.has('id'))!
        .get('id')!,
    isEnded: () => isEnded,
    leave: () => response.destroy(),
  }
}

/** Opens a stream and waits until it misses nothing. */
async function listen(
  t: Pick<Test, 'teardown'>,
  { webApiKey }: IssuedCredentials,
  lastEventId?: string,
  { port } = service,
) {
  const resumed = lastEventId !== undefined && { 'last-event-id': lastEventId }
  const stream = await open(t, { webapikey: webApiKey, ...resumed }, { port })
  if (stream.status === 200) await until(() => stream.frames('ready').length === 1)
  return stream
}

const payload = {
  ...{ status: 2, referenceId: 'order-1', message: null, amountMinor: 100_50n, transactionAmountMinor: 100_50n },
  ...{ hasAmountMismatch: false, receiptUrl: null },
}

async function record({ id: merchantId }: { readonly id: string }, dueAt?: string, { callbacks } = service) {
  const [webhookId, trackingId] = [randomUUID(), randomUUID()]
  const callback = { webhookId, trackingId, merchantId, transferRevision: 1, payload, ...(dueAt && { dueAt }) }
  await callbacks.record(callback, context)
  return { webhookId, trackingId }
}

const report = (
  { trackingId, webhookId }: { readonly trackingId: string; readonly webhookId: string },
  outcome: AttemptOutcome,
  httpStatus: number | null,
) => service.callbacks.reportAttempt(trackingId, webhookId, { attempt: 1, httpStatus, durationMs: 7, outcome }, context)

const idsOf = (stream: Listening) => stream.frames('callback').map(({ data }) => data.webhookId)

t.test('shows each callback as the signed request that the endpoint gets, also while it is disabled', async (t) => {
  const own = await service.merchant({ name: 'Blue' })
  await service.merchants.execute(own.id, { type: 'DisableCallbacks', reason: 'test' }, context)
  await record(own)
  const stream = await listen(t, own)
  t.match(stream.headers, {
    ...{ 'content-type': 'text/event-stream', 'cache-control': 'no-store', 'x-accel-buffering': 'no' },
  })
  const { webhookId, trackingId } = await record(own)
  await until(() => idsOf(stream).length > 0)
  t.match(stream.frames(), [
    { event: 'ready', data: { merchantId: own.id, name: 'Blue' } },
    {
      event: 'callback',
      data: {
        ...{ webhookId, trackingId, referenceId: 'order-1', transferRevision: 1 },
        ...{ status: 2, statusDescription: 'Completed', resent: false, request: { method: 'POST' } },
      },
    },
  ])
  const { request, recordedAt } = stream.frames('callback')[0]!.data
  t.equal(new Date(String(recordedAt)).toISOString(), recordedAt)
  t.match(request.headers, { 'webhook-id': webhookId, 'x-transfer-revision': '1', 'content-type': 'application/json' })
  const webhook = new Webhook(own.webhookSecret.slice('whsec_'.length))
  t.match(webhook.verify(request.body, request.headers), { TrackingId: trackingId, Status: 2, Amount: 100.5 })
  t.throws(() => webhook.verify(`${request.body} `, request.headers))
})

t.test(
  'shows attempts, and the callbacks that were resent on request but not the retries of the service',
  async (t) => {
    const own = await service.merchant()
    const callback = await record(own)
    const stream = await listen(t, own)
    const nextAttemptAt = '2030-01-01T00:00:00.000Z'
    await report(callback, { result: 'failed', reason: 'http 500', nextAttemptAt }, 500)
    const which = { webhookId: callback.webhookId }
    await service.callbacks.requeue(callback.trackingId, which, { ...context, actor: 'system:callbacks' })
    await report(callback, { result: 'parked', reason: 'timeout' }, null)
    const resent = await service.app.inject({
      ...{ method: 'POST', url: `/v1/transfers/${callback.trackingId}/callbacks/resend` },
      headers: { webapikey: own.webApiKey },
      payload: which,
    })
    t.equal(resent.statusCode, 404, 'the transfer of this callback does not exist')
    const again = await service.app.inject({
      ...{ method: 'POST', url: '/v1/callbacks/resend', headers: { webapikey: own.webApiKey } },
      payload: { callbacks: [callback] },
    })
    t.same(again.json(), { requeued: 1, more: false })
    await report(callback, { result: 'delivered' }, 200)
    await until(() => stream.frames('attempt').length === 3)
    const about = { ...callback, durationMs: 7 }
    t.match(
      stream.frames().map(({ event, data }) => ({ event, data })),
      [
        { event: 'ready' },
        {
          event: 'attempt',
          data: { ...about, result: 'failed', httpStatus: 500, reason: 'http 500', nextAttemptAt },
        },
        {
          event: 'attempt',
          data: { ...about, result: 'parked', httpStatus: null, reason: 'timeout', nextAttemptAt: null },
        },
        {
          event: 'callback',
          data: { ...callback, resent: true, request: { headers: { 'webhook-id': about.webhookId } } },
        },
        {
          event: 'attempt',
          data: { ...about, result: 'delivered', httpStatus: 200, reason: null, nextAttemptAt: null },
        },
      ],
    )
  },
)

t.test('resumes without a gap after any disconnects, and shows no callback of another merchant', async (t) => {
  const [own, other] = [await service.merchant(), await service.merchant()]
  const theirs = await listen(t, other)
  const theirIds = new Set<string>()
  await fc.assert(
    fc.asyncProperty(fc.array(fc.integer({ min: 0, max: 6 }), { minLength: 1, maxLength: 5 }), async (waits) => {
      let stream = await listen(t, own)
      const recorded: string[] = []
      const recording = (async () => {
        for (let n = 0; n < 12; n++) {
          recorded.push((await record(own)).webhookId)
          theirIds.add((await record(other)).webhookId)
        }
      })()
      const seen: string[] = []
      for (const wait of waits) {
        const target = wait
        await until(() => idsOf(stream).length >= target || recorded.length === 12)
        stream.leave()
        seen.push(...idsOf(stream))
        stream = await listen(t, own, stream.lastId())
      }
      await recording
      await until(() => new Set([...seen, ...idsOf(stream)]).size >= recorded.length)
      const all = [...seen, ...idsOf(stream)]
      stream.leave()
      t.strictSame(all, recorded, 'each once and in order')
    }),
    { numRuns: 15 },
  )
  await until(() => idsOf(theirs).length >= theirIds.size)
  t.strictSame(new Set(idsOf(theirs)), theirIds)
})

t.test('resumes a delayed callback, which is shown when it is due and delays no other', async (t) => {
  const own = await service.merchant()
  const stream = await listen(t, own)
  const dueMs = Date.now() + 1_500
  const delayed = await record(own, new Date(dueMs).toISOString())
  const prompt = await record(own)
  await until(() => idsOf(stream).length === 1)
  t.strictSame(idsOf(stream), [prompt.webhookId])
  const left = stream.lastId()
  stream.leave()
  const resumed = await listen(t, own, left)
  await until(() => idsOf(resumed).length === 2)
  t.ok(Date.now() >= dueMs)
  t.strictSame(idsOf(resumed), [prompt.webhookId, delayed.webhookId], 'the other one comes again')
  const later = await listen(t, own, resumed.lastId())
  const last = await record(own)
  await until(() => idsOf(later).length > 0)
  t.strictSame(idsOf(later), [last.webhookId], 'both are before the latest id')
})

t.test('a resend ends the delay of a callback, which is shown once', async (t) => {
  const own = await service.merchant()
  const stream = await listen(t, own)
  const delayed = await record(own, new Date(Date.now() + 500).toISOString())
  await service.callbacks.replay(delayed.trackingId, 'latest', context)
  await until(() => idsOf(stream).length === 1)
  const due = await record(own, new Date(Date.now() + 700).toISOString())
  await until(() => idsOf(stream).includes(due.webhookId))
  t.strictSame(idsOf(stream), [delayed.webhookId, due.webhookId])
})

t.test('skips what a resume would read for too long, and positions that are not in the log', async (t) => {
  const own = await service.merchant()
  const unread = await listen(t, own, '9007199254740991')
  await until(() => unread.frames('skipped').length === 1)
  const first = await record(own)
  await until(() => idsOf(unread).length === 1)
  t.strictSame(
    unread.frames().map(({ event }) => event),
    ['ready', 'skipped', 'callback'],
  )
  t.equal(unread.frames('callback')[0]!.data.webhookId, first.webhookId)
  for (const lastEventId of ['yesterday', '-1', '1.5', '']) {
    const refused = await service.app.inject({
      url: '/v1/callbacks/stream',
      headers: { webapikey: own.webApiKey, 'last-event-id': lastEventId },
    })
    t.equal(refused.statusCode, 400, lastEventId)
    t.same(refused.json().error.validationErrors[0].members, ['Last-Event-ID'])
  }
})

t.test('a resume reads at most 20 pages of the log before its end', async (t) => {
  // Two events in each page.
  const short = await listening(t, {
    wrapStore: (store) => ({ ...store, readAll: (options) => store.readAll({ ...options, maxCount: 2 }) }),
  })
  const [own, other] = [await short.merchant(), await short.merchant()]
  const start = (await listen(t, own, undefined, short)).lastId()
  const recorded = [await record(own, undefined, short)]
  for (let n = 0; n < 36; n++) await record(other, undefined, short)
  recorded.push(await record(own, undefined, short))
  const resumed = await listen(t, own, start, short)
  await until(() => idsOf(resumed).length === 2)
  for (let n = 0; n < 6; n++) await record(other, undefined, short)
  const skipping = await listen(t, own, start, short)
  await until(() => skipping.frames('skipped').length === 1)
  recorded.push(await record(own, undefined, short))
  await until(() => idsOf(skipping).length === 3 && idsOf(resumed).length === 3)
  const all = recorded.map(({ webhookId }) => webhookId)
  t.strictSame([idsOf(skipping), idsOf(resumed)], [all, all])
  t.strictSame(resumed.frames('skipped'), [])
  t.strictSame(
    skipping.frames().map(({ event }) => event),
    ['ready', 'callback', 'callback', 'skipped', 'callback'],
  )
})

t.test('ends when the key is revoked, or the merchant is suspended or becomes live', async (t) => {
  const changes: readonly [string, (own: IssuedCredentials) => Promise<unknown>][] = [
    ['suspended', (own) => service.merchants.execute(own.id, { type: 'Suspend' }, context)],
    [
      'revoked',
      async (own) => {
        const [key] = service.directory.byId(own.id)!.apiKeys
        return service.merchants.execute(own.id, { type: 'RevokeApiKey', keyId: apiKeyId(key!) }, context)
      },
    ],
    [
      'live',
      (own) => service.merchants.execute(own.id, { type: 'ChangeSettings', changes: { sandbox: false } }, context),
    ],
    [
      'no longer allowed from here',
      (own) =>
        service.merchants.execute(own.id, { type: 'ChangeSettings', changes: { allowIps: ['198.51.100.1'] } }, context),
    ],
  ]
  for (const [name, change] of changes) {
    const own = await service.merchant({ callbackUrl: 'https://shop.example/callbacks' })
    const stream = await listen(t, own)
    await change(own)
    const gone = () => service.app.inject({ url: '/v1/merchant', headers: { webapikey: own.webApiKey } })
    await until(async () => name === 'live' || (await gone()).statusCode !== 200)
    await service.directory.catchUp()
    await record(own)
    await until(() => stream.isEnded())
    t.strictSame(idsOf(stream), [], name)
  }
})

t.test('allows five streams per merchant, and frees the place of a reader that vanishes', async (t) => {
  const own = await service.merchant()
  const streams = []
  for (let n = 0; n < 5; n++) streams.push(await listen(t, own))
  const sixth = await listen(t, own)
  t.match([sixth.status, sixth.headers['retry-after']], [429, '5'])
  t.equal((await listen(t, await service.merchant())).status, 200, 'another merchant has its own places')
  streams[0]!.leave()
  await until(async () => (await listen(t, own)).status === 200)
})

t.test('allows 50 streams in all', async (t) => {
  const full = await listening(t)
  const all: Listening[] = []
  for (let n = 0; n < 10; n++) {
    const own = await full.merchant()
    for (let m = 0; m < 5; m++) all.push(await listen(t, own, undefined, full))
  }
  t.ok(all.every(({ status }) => status === 200))
  const last = await full.merchant()
  t.equal((await listen(t, last, undefined, full)).status, 429)
  all[0]!.leave()
  await until(async () => (await listen(t, last, undefined, full)).status === 200)
})

t.test('a live merchant cannot listen, and a HEAD request opens no stream', async (t) => {
  const live = await listening(t)
  const own = await live.merchant({ sandbox: false })
  const headers = { webapikey: own.webApiKey }
  const refused = await live.app.inject({ url: '/v1/callbacks/stream', headers })
  t.match([refused.statusCode, refused.json()], [403, { error: { code: 40309 }, unAuthorizedRequest: true }])
  t.equal((await live.app.inject({ method: 'HEAD', url: '/v1/callbacks/stream', headers })).statusCode, 405)
})

t.test('sends an event with a position every 15 seconds, and the metrics omit streams', async (t) => {
  mock.timers.enable({ apis: ['setInterval'] })
  t.teardown(() => mock.timers.reset())
  const own = await service.merchant()
  const stream = await listen(t, own)
  const before = stream.lastId()
  await record(await service.merchant())
  await until(() => {
    mock.timers.tick(15_000)
    return stream.lastId() !== before
  })
  const [ready, ...rest] = stream.frames()
  t.equal(ready?.event, 'ready')
  for (const { event, data } of rest) t.match({ event, data }, { event: 'heartbeat', data: {} })
  for (const block of stream.text().split('\n\n'))
    if (block.includes('id: ')) t.match(block, /^data: /m, 'readers ignore the id of a block without data')
  mock.timers.reset()
  stream.leave()
  await until(() => stream.isEnded())
  const invalid = { webapikey: own.webApiKey, 'last-event-id': 'yesterday' }
  await service.app.inject({ url: '/v1/callbacks/stream', headers: invalid })
  const { body } = await service.app.inject('/metrics')
  t.notMatch(body, 'route="/v1/callbacks/stream",status="200"')
  t.match(body, 'route="/v1/callbacks/stream",status="400"')
})

t.test('reads no further for a reader that does not read, and disconnects it', async (t) => {
  const slow = await listening(t)
  const { mock: signing } = mock.method(slow.http.directory, 'secrets')
  mock.timers.enable({ apis: ['setInterval'] })
  t.teardown(() => mock.timers.reset())
  const own = await slow.merchant()
  const reader = await open(t, { webapikey: own.webApiKey }, { port: slow.port, reads: false })
  // Each quotation mark takes four bytes of a frame. All frames together exceed what the sockets of the system hold.
  const large = { ...payload, message: '"'.repeat(2_000) }
  const [lanes, revisions] = [Array.from({ length: 40 }, () => randomUUID()), 60]
  for (let transferRevision = 1; transferRevision <= revisions; transferRevision++) {
    await Promise.all(
      lanes.map((trackingId) => {
        const callback = { webhookId: randomUUID(), trackingId, merchantId: own.id, transferRevision, payload: large }
        return slow.callbacks.record(callback, context)
      }),
    )
  }
  let [before, unchanged] = [0, 0]
  await until(() => {
    const signed = signing.callCount()
    unchanged = signed > 0 && signed === before ? unchanged + 1 : 0
    before = signed
    return unchanged > 50
  })
  t.ok(before < lanes.length * revisions, `${before} callbacks were signed`)
  for (let n = 0; n < 10; n++) {
    mock.timers.tick(15_000)
    await new Promise(setImmediate)
  }
  mock.timers.reset()
  reader.response.resume()
  await until(() => reader.isEnded())
})

t.test('users see the callbacks of their merchants without the hash and the signature', async (t) => {
  const [own, other] = [await service.merchant(), await service.merchant()]
  const path = (id: string) => `/dashboard/api/callbacks/stream?merchantId=${id}`
  const user = await signInAs(service, 'viewer', [own.id])
  t.equal((await open(t, { cookie: user.cookie }, { path: path(other.id) })).status, 404)
  t.equal((await open(t, {}, { path: path(own.id) })).status, 401)
  const stream = await open(t, { cookie: user.cookie }, { path: path(own.id) })
  await until(() => stream.frames('ready').length === 1)
  await record(other)
  const { webhookId, trackingId } = await record(own)
  await until(() => idsOf(stream).length === 1)
  const { request } = stream.frames('callback')[0]!.data
  t.match(request.headers, { 'webhook-id': webhookId, 'webhook-signature': '…' })
  t.match(JSON.parse(request.body), { TrackingId: trackingId, HashCode: '…' })
  t.equal((await user.delete('/session')).statusCode, 204)
  await record(own)
  await until(() => stream.isEnded())
  t.equal(idsOf(stream).length, 1)
})

t.test('a new EventSource resumes from the id in its address, unless the browser sends a newer one', async (t) => {
  const own = await service.merchant()
  const { cookie } = await signInAs(service, 'viewer', [own.id])
  const resume = async (lastEventId: string, headers: { readonly [name: string]: string } = {}) => {
    const path = `/dashboard/api/callbacks/stream?merchantId=${own.id}&lastEventId=${encodeURIComponent(lastEventId)}`
    const stream = await open(t, { cookie, ...headers }, { path })
    if (stream.status === 200) await until(() => stream.frames('ready').length === 1)
    return stream
  }
  const first = await resume('')
  t.equal(first.status, 400)
  const before = await listen(t, own)
  const earlier = before.lastId()
  const missed = await record(own)
  await until(() => before.frames('callback').length === 1)
  const newer = before.lastId()
  const later = await record(own)
  const resumed = await resume(earlier)
  await until(() => idsOf(resumed).length === 2)
  t.strictSame(idsOf(resumed), [missed.webhookId, later.webhookId])
  const reconnected = await resume(earlier, { 'last-event-id': newer })
  await until(() => idsOf(reconnected).length === 1)
  t.strictSame(idsOf(reconnected), [later.webhookId])
})

t.test('a stop of the service ends open streams immediately', async (t) => {
  const stopping = await listening(t)
  const own = await stopping.merchant()
  const streams: Listening[] = []
  for (let n = 0; n < 3; n++)
    streams.push(await open(t, { webapikey: own.webApiKey }, { port: stopping.port, reads: n > 0 }))
  const startedMs = performance.now()
  await stopping.app.close()
  t.ok(performance.now() - startedMs < 3_000, `${performance.now() - startedMs} ms`)
  streams[0]!.response.resume()
  await until(() => streams.every((each) => each.isEnded()))
})
