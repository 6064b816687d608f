import { randomBytes, randomUUID } from 'node:crypto'
import { readFileSync } from 'node:fs'
import {
  ANY,
  binaryEvent,
  EventStoreDBClient,
  eventTypeFilter,
  jsonEvent,
  NO_STREAM,
  persistentSubscriptionToAllSettingsFromDefaults,
  persistentSubscriptionToStreamSettingsFromDefaults,
  START,
  streamNameFilter,
} from '@eventstore/db-client'
import { Client, credentials, Metadata, type ServiceError, status } from '@grpc/grpc-js'
import { until } from '@transferd/event-log/test/support/group-scene'
import { tempDirectory } from '@transferd/event-log/test/support/temp-directory'
import t from 'tap'
import { MatchingBudget } from '../src/filters/matching-budget.js'
import { shared, streams } from '../src/wire/generated-protocol.js'
import { makeCertificate } from './support/certificate.js'
import { administrator, serve } from './support/server-fixture.js'

const waitMs = 60_000
const long = process.env.TEST_LONG === '1'
const certificate = makeCertificate(tempDirectory(t))
const plain = {}
const transports = [
  { transport: 'plain text', options: plain, skip: false },
  {
    transport: 'TLS',
    options: certificate ? { certificate } : {},
    skip: certificate ? false : 'creating a certificate requires openssl',
  },
]
/** The two ways to append: with credentials, the client makes a separate call; otherwise it uses one call for all appends. */
const methods = [
  { method: 'Append', call: { credentials: { username: administrator.login, password: administrator.password } } },
  { method: 'BatchAppend', call: {} },
]

async function all<T>(iterable: AsyncIterable<T>): Promise<T[]> {
  const items: T[] = []
  for await (const item of iterable) items.push(item)
  return items
}

function subscribeToAllRequest() {
  const { Options } = streams.ReadReq
  const empty = () => new shared.Empty()
  const options = new Options().setAll(new Options.AllOptions().setStart(empty())).setNoFilter(empty())
  options.setSubscription(new Options.SubscriptionOptions()).setUuidOption(new Options.UUIDOption().setString(empty()))
  return new streams.ReadReq().setOptions(options)
}

// All transports and methods share the limits, so the short form of the tests uses one transport, and one method for many events.
for (const { transport, options, skip } of long ? transports : transports.slice(0, 1)) {
  t.test(`over ${transport}`, { skip }, async (t) => {
    const { client, port, stop, faults } = await serve(options)

    t.test('stores an event of 1 MiB byte by byte and rejects one more byte', async (t) => {
      const data = randomBytes(1_048_576)
      for (const { method, call } of methods) {
        const stream = `big-${method}`
        await client.createPersistentSubscriptionToStream(
          stream,
          'g',
          persistentSubscriptionToStreamSettingsFromDefaults({ startFrom: START }),
        )
        await client.appendToStream(stream, binaryEvent({ type: 'Big', data }), call)
        const more = binaryEvent({ type: 'Big', data: Buffer.concat([data, Buffer.alloc(1)]) })
        await t.rejects(client.appendToStream(stream, more, call), {
          name: 'Error',
          type: 'maximum-append-size-exceeded',
        })
        const [read, ...others] = await all(client.readStream(stream))
        t.ok(data.equals((read?.event?.data ?? []) as Uint8Array), `read, ${method}`)
        t.equal(others.length, 0)
        for await (const { event } of client.subscribeToStream(stream, { fromRevision: START })) {
          t.ok(data.equals((event?.data ?? []) as Uint8Array), 'subscribed to')
          break
        }
        const group = client.subscribeToPersistentSubscriptionToStream(stream, 'g')
        for await (const { event } of group) {
          t.ok(data.equals((event?.data ?? []) as Uint8Array), 'from a group')
          break
        }
      }
    })

    t.test('stores thousands of events of one append atomically and returns them in order', async (t) => {
      const count = long ? 10_000 : 2_000
      const events = Array.from({ length: count }, (_, n) => jsonEvent({ type: 'T', data: { n } }))
      for (const { method, call } of long ? methods : methods.slice(1)) {
        const stream = `many-${method}`
        const { nextExpectedRevision } = await client.appendToStream(stream, events, {
          expectedRevision: NO_STREAM,
          ...call,
        })
        t.equal(nextExpectedRevision, BigInt(count - 1))
        const read = await all(client.readStream<{ type: 'T'; data: { n: number } }>(stream))
        t.ok(read.every(({ event }, n) => event?.revision === BigInt(n) && event.data.n === n))
        t.equal(read.length, count, method)
      }
      const repeated = await client.appendToStream('many-BatchAppend', events, { expectedRevision: NO_STREAM })
      t.equal(repeated.nextExpectedRevision, BigInt(count - 1), 'repeated')
    })

    t.test('a call ends at its deadline, and the connection serves the next', async (t) => {
      const trusted = certificate && readFileSync(certificate.cert)
      const raw = new Client(
        `localhost:${port}`,
        options === plain ? credentials.createInsecure() : credentials.createSsl(trusted),
      )
      const metadata = new Metadata()
      const { login, password } = administrator
      metadata.set('authorization', `Basic ${Buffer.from(`${login}:${password}`).toString('base64')}`)
      const code = await new Promise((resolve) => {
        const pass = (bytes: Buffer) => bytes
        const request = Buffer.from(subscribeToAllRequest().serializeBinary())
        const path = '/event_store.client.streams.Streams/Read'
        const call = raw.makeServerStreamRequest(path, pass, pass, request, metadata, { deadline: Date.now() + 500 })
        call.on('data', () => {})
        call.on('error', (error: ServiceError) => resolve(error.code))
        call.on('end', () => resolve(status.OK))
      })
      t.equal(code, status.DEADLINE_EXCEEDED)
      raw.close()
      await client.appendToStream('s', jsonEvent({ type: 'T', data: {} }))
      t.equal((await all(client.readStream('s'))).length, 1)
    })

    await t.test('the server has no fault', async (t) => t.strictSame(faults, []))
    await stop()
  })
}

t.test('stops working on a call that the client has cancelled', async (t) => {
  const { client, store, stop, faults } = await serve()
  const events = Array.from({ length: 5_000 }, (_, n) => jsonEvent({ type: 'T', data: { n } }))
  await client.appendToStream('s', events)
  let pages = 0
  const { reader } = store
  const allPage = reader.allPage.bind(reader)
  reader.allPage = (...args) => {
    pages += 1
    return allPage(...args)
  }
  const nothing = eventTypeFilter({ prefixes: ['never'] })
  const subscriptions = [client.subscribeToAll({ filter: nothing }), client.subscribeToAll(), client.subscribeToAll()]
  for (const subscription of subscriptions) subscription.on('error', () => {}).resume()
  await until(() => pages > 10, waitMs)
  await Promise.all(subscriptions.map((subscription) => subscription.unsubscribe()))
  for (let i = 0; i < 3; i += 1) {
    for await (const _ of client.readAll({ maxCount: 100_000 })) break
  }
  // The calls in progress have ended when the count no longer changes.
  let before = -1
  await until(async () => {
    if (pages === before) return true
    before = pages
    await new Promise((resolve) => setTimeout(resolve, 500))
    return false
  }, waitMs)
  t.equal(pages, before)
  await client.appendToStream('s', jsonEvent({ type: 'T', data: {} }))
  await new Promise((resolve) => setTimeout(resolve, 300))
  t.equal(pages, before, 'a new event starts no work for the cancelled calls')
  t.strictSame(faults, [])
  await stop()
})

t.test('an expression that backtracks endlessly ends only the calls of its own group', async (t) => {
  const { client, stop, faults } = await serve()
  const stream = `${'a'.repeat(40)}b`
  await client.appendToStream(stream, jsonEvent({ type: 'T', data: {} }))
  const endless = streamNameFilter({ regex: '^(a+)+$' })
  const start = performance.now()
  const group = `g-${randomUUID()}`
  const settings = persistentSubscriptionToAllSettingsFromDefaults({ startFrom: START })
  await client.createPersistentSubscriptionToAll(group, settings, { filter: endless })
  await t.rejects(all(client.subscribeToPersistentSubscriptionToAll(group)), {
    name: 'Error',
    type: 'persistent-subscription-dropped',
  })
  t.ok(performance.now() - start < waitMs, 'no expression blocks the server permanently')
  await client.deletePersistentSubscriptionToAll(group)

  const harmless = streamNameFilter({ regex: '^a{3,}b$|^(?:x|y)+z$' })
  const found: (string | undefined)[] = []
  const subscription = client.subscribeToAll({ filter: harmless, fromPosition: START })
  subscription.on('data', ({ event }) => found.push(event?.streamId))
  await until(() => found.length > 0, waitMs)
  await subscription.unsubscribe()
  t.strictSame(found, [stream], 'expressions with repetitions work')
  t.ok((await client.appendToStream('s', jsonEvent({ type: 'T', data: {} }), { expectedRevision: ANY })).success)
  t.ok(faults.length > 0, 'the server reports the fault of the group')
  await stop()
})

t.test('other clients wait at most a quarter of a second for an expression that backtracks endlessly', async (t) => {
  const { client, url, stop } = await serve()
  const other = EventStoreDBClient.connectionString(url)
  const stream = `${'a'.repeat(40)}b`
  await other.appendToStream(stream, jsonEvent({ type: 'T', data: {} }))
  const endless = () =>
    all(client.subscribeToAll({ filter: streamNameFilter({ regex: '^(a+)+$' }), fromPosition: START }))
  let isJudged = false
  // The second expression waits until the connection has time again.
  const judged = t.rejects(endless().catch(endless), /takes too long/).then(() => {
    isJudged = true
  })
  const startedAtMs = performance.now()
  const readsMs: number[] = []
  while (!isJudged) {
    const readAtMs = performance.now()
    // A pause, because reads without one would occupy the processor until the expression is judged.
    await new Promise((resolve) => setTimeout(resolve, 10))
    await all(other.readStream(stream))
    readsMs.push(performance.now() - readAtMs)
  }
  await judged
  const [judgedMs, slowestMs] = [performance.now() - startedAtMs, Math.max(...readsMs)]
  t.comment(`${readsMs.length} reads in ${judgedMs.toFixed(0)} ms, the slowest in ${slowestMs.toFixed(0)} ms`)
  t.ok(readsMs.length > 10, 'other clients are served in the meantime')
  t.ok(slowestMs < 1_000, 'no expression occupies the server for longer') // four times the limit, for a busy machine
  await other.dispose()
  await stop()
})

t.test('many expressions on one connection share its time, and other connections are not affected', async (t) => {
  const { client, port, stop, faults } = await serve()
  const stream = `${'a'.repeat(40)}b`
  await client.appendToStream(stream, jsonEvent({ type: 'T', data: {} }))
  const attacker = new Client(`127.0.0.1:${port}`, credentials.createInsecure())
  const path = '/event_store.client.streams.Streams/Read'
  const pass = (bytes: Buffer) => bytes
  const endless = new streams.ReadReq.Options.FilterOptions.Expression().setRegex('^(a+)+$')
  const filter = new streams.ReadReq.Options.FilterOptions().setStreamIdentifier(endless).setMax(32)
  const request = subscribeToAllRequest()
  request.getOptions()?.setFilter(filter.setCheckpointintervalmultiplier(1))
  const bytes = Buffer.from(request.serializeBinary())
  let ended = 0
  const calls = Array.from({ length: 40 }, () => {
    const call = attacker.makeServerStreamRequest(path, pass, pass, bytes)
    call.on('data', () => {})
    call.on('error', ({ code }: ServiceError) => {
      if (code === status.RESOURCE_EXHAUSTED) ended += 1
    })
    return call
  })
  await until(() => ended > 0, waitMs)
  const busyAtFirst = performance.eventLoopUtilization()
  const slowest = { ms: 0 }
  for (let i = 0; i < 10; i += 1) {
    const startedAtMs = performance.now()
    await all(client.readStream(stream))
    slowest.ms = Math.max(slowest.ms, performance.now() - startedAtMs)
    await new Promise((resolve) => setTimeout(resolve, 50))
  }
  t.comment(`slowest read ${slowest.ms.toFixed(0)} ms, ${ended} of 40 expressions ended`)
  t.comment(`busy for ${(performance.eventLoopUtilization(busyAtFirst).utilization * 100).toFixed(0)} %`)
  t.ok(ended < 10, 'the other expressions wait for the time of their connection')
  for (const call of calls) call.cancel()
  attacker.close()
  t.strictSame(faults, [])
  await stop()
})

t.test('a connection has a tenth of the time for expressions, and an aborted match is repeated', async (t) => {
  let nowMs = 0
  const budget = new MatchingBudget(
    () => nowMs,
    async (ms) => {
      nowMs += ms
    },
  )
  const allowed: number[] = []
  const takes = (ms: number) => (withinMs: number) => {
    allowed.push(withinMs)
    nowMs += Math.min(ms, withinMs)
    return ms <= withinMs ? 'done' : undefined
  }
  t.equal(await budget.spend(takes(240)), 'done')
  t.equal(await budget.spend(takes(100)), 'done', 'aborted after 25 ms, then repeated with a full budget')
  t.equal(await budget.spend(takes(10_000)), undefined, 'a full budget is not enough either')
  t.strictSame(allowed, [250, 25, 250, 150, 250])
  const before = nowMs
  for (let i = 0; i < 1_000; i += 1) await budget.spend(takes(1))
  t.ok(nowMs - before > 9_000, `${nowMs - before} ms for 1,000 ms of matching`)
})
