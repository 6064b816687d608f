import { randomUUID } from 'node:crypto'
import { Client, credentials, Metadata, type ServiceError, status } from '@grpc/grpc-js'
import type { StreamStore } from '@transferd/event-log/streams'
import type { Message } from 'google-protobuf'
import t, { type Test } from 'tap'
import { addressOf, PasswordAttempts } from '../src/access/password-attempts.js'
import { persistent, shared, streams, users } from '../src/wire/generated-protocol.js'
import { administrator, reservedPrefixes, serve } from './support/server-fixture.js'

const waitMs = 60_000
const pass = (bytes: Buffer) => bytes
const empty = () => new shared.Empty()
const named = (stream: string) => new shared.StreamIdentifier().setStreamName(Buffer.from(stream))
const service = '/event_store.client'
const read = `${service}.streams.Streams/Read`
const groupCalls = `${service}.persistent_subscriptions.PersistentSubscriptions`

interface CallResult {
  readonly code: number
  readonly messages: readonly Buffer[]
}

/** A client without TLS. Each call has its own credentials. */
class Caller {
  readonly #client: Client

  constructor(port: number) {
    this.#client = new Client(`127.0.0.1:${port}`, credentials.createInsecure())
  }

  /** Returns the result of a call, which it cancels after `count` messages. */
  call(path: string, request: Message, caller = '', count = Number.POSITIVE_INFINITY): Promise<CallResult> {
    const metadata = new Metadata()
    if (caller !== '') metadata.set('authorization', `Basic ${Buffer.from(caller).toString('base64')}`)
    return new Promise((resolve) => {
      const messages: Buffer[] = []
      const call = this.#client.makeBidiStreamRequest(path, pass, pass, metadata, { deadline: Date.now() + waitMs })
      call.on('data', (bytes: Buffer) => {
        messages.push(bytes)
        if (messages.length < count) return
        resolve({ code: status.OK, messages })
        call.cancel()
      })
      call.on('error', (error: ServiceError) => resolve({ code: error.code, messages }))
      call.on('end', () => resolve({ code: status.OK, messages }))
      call.write(Buffer.from(request.serializeBinary()))
      // A consumer that half-closes its call would leave its group.
      if (path !== `${groupCalls}/Read`) call.end()
    })
  }

  async code(path: string, request: Message, caller: string): Promise<number> {
    return (await this.call(path, request, caller)).code
  }

  close(): void {
    this.#client.close()
  }
}

function readOptions(): InstanceType<typeof streams.ReadReq.Options> {
  const options = new streams.ReadReq.Options().setNoFilter(empty()).setResolveLinks(true)
  return options.setUuidOption(new streams.ReadReq.Options.UUIDOption().setString(empty()))
}

function readStream(stream: string, subscribing = false): Message {
  const options = readOptions().setCount('10')
  options.setStream(new streams.ReadReq.Options.StreamOptions().setStreamIdentifier(named(stream)).setStart(empty()))
  if (subscribing) options.setSubscription(new streams.ReadReq.Options.SubscriptionOptions())
  return new streams.ReadReq().setOptions(options)
}

function readAll(subscribing = false): Message {
  const options = readOptions().setCount('10').setAll(new streams.ReadReq.Options.AllOptions().setStart(empty()))
  if (subscribing) options.setSubscription(new streams.ReadReq.Options.SubscriptionOptions())
  return new streams.ReadReq().setOptions(options)
}

/** Returns the requests that change a stream: an append, a soft delete and a tombstone. */
function changes(stream: string): readonly (readonly [path: string, request: Message])[] {
  const append = new streams.AppendReq.Options().setStreamIdentifier(named(stream)).setAny(empty())
  const remove = new streams.DeleteReq.Options().setStreamIdentifier(named(stream)).setAny(empty())
  const end = new streams.TombstoneReq.Options().setStreamIdentifier(named(stream)).setAny(empty())
  return [
    [`${service}.streams.Streams/Append`, new streams.AppendReq().setOptions(append)],
    [`${service}.streams.Streams/Delete`, new streams.DeleteReq().setOptions(remove)],
    [`${service}.streams.Streams/Tombstone`, new streams.TombstoneReq().setOptions(end)],
  ]
}

function ofGroup<
  Options extends { setStreamIdentifier(identifier: unknown): Options; setGroupName(name: string): Options },
>(options: Options, stream: string): Options {
  return options.setStreamIdentifier(named(stream)).setGroupName('g')
}

function createGroup(stream: string): Message {
  const settings = new persistent.CreateReq.Settings().setReadBatchSize(20).setHistoryBufferSize(500)
  settings.setResolveLinks(true).setMessageTimeoutMs(60_000).setLiveBufferSize(500)
  const options = ofGroup(new persistent.CreateReq.Options(), stream).setSettings(settings)
  return new persistent.CreateReq().setOptions(options)
}

function consume(stream: string): Message {
  const uuids = new persistent.ReadReq.Options.UUIDOption().setString(empty())
  const options = ofGroup(new persistent.ReadReq.Options(), stream).setBufferSize(10).setUuidOption(uuids)
  return new persistent.ReadReq().setOptions(options)
}

function createUser(login: string, groups: string[]): Message {
  const options = new users.CreateReq.Options().setLoginName(login).setPassword('secret').setGroupsList(groups)
  return new users.CreateReq().setOptions(options)
}

const admin = `${administrator.login}:${administrator.password}`

async function put(store: StreamStore, stream: string, data: object, type = 'T', isJson = true): Promise<void> {
  const text = type === '$>' ? String(Object.values(data)[0]) : JSON.stringify(data)
  const event = { id: randomUUID(), type, isJson, data: Buffer.from(text), metadata: new Uint8Array(0) }
  await store.append(stream, 'any', [event])
}

function link(store: StreamStore, stream: string, to: string): Promise<void> {
  return put(store, stream, { to: `0@${to}` }, '$>', false)
}

function acl(store: StreamStore, stream: string, roles: object): Promise<void> {
  return put(store, `$$${stream}`, { $acl: roles }, '$metadata')
}

/**
 * Starts a writable server like `transferd events serve-grpc`. It has three users: one without a group, an operator, and one with a custom
 * group.
 */
async function scene(t: Test) {
  const { port, store, faults, stop } = await serve({ isClosed: true })
  const caller = new Caller(port)
  for (const [login, groups] of [
    ['loner', []],
    ['keeper', ['$ops']],
    ['clerk', ['clerks']],
  ] as const) {
    t.equal(await caller.code(`${service}.users.Users/Create`, createUser(login, [...groups]), admin), status.OK)
  }
  t.teardown(async () => {
    caller.close()
    await stop()
    if (faults.length > 0) throw new AggregateError(faults, 'the server had faults during the calls')
  })
  return { store, caller }
}

t.test('a user without a group, or with a custom one, has only the rights that an ACL grants', async (t) => {
  const { store, caller } = await scene(t)
  await put(store, 'orders', { secret: true })
  await link(store, '$ce-orders', 'orders')
  t.equal(await caller.code(`${groupCalls}/Create`, createGroup('orders'), admin), status.OK)
  const info = new persistent.GetInfoReq().setOptions(ofGroup(new persistent.GetInfoReq.Options(), 'orders'))
  const listAll = new persistent.ListReq().setOptions(new persistent.ListReq.Options().setListAllSubscriptions(empty()))
  for (const user of ['loner:secret', 'clerk:secret']) {
    for (const stream of ['orders', '$$orders', 'missing', '$ce-orders', 'transfer-1']) {
      t.equal(await caller.code(read, readStream(stream), user), status.PERMISSION_DENIED, `${user} reads ${stream}`)
      const subscription = await caller.call(read, readStream(stream, true), user, 1)
      t.equal(subscription.code, status.PERMISSION_DENIED, `${user} subscribes to ${stream}`)
      for (const [path, request] of changes(stream)) {
        t.equal(await caller.code(path, request, user), status.PERMISSION_DENIED, `${user}: ${path} of ${stream}`)
      }
    }
    t.equal(await caller.code(read, readAll(), user), status.PERMISSION_DENIED, `${user} reads all`)
    t.equal(
      (await caller.call(read, readAll(true), user, 1)).code,
      status.PERMISSION_DENIED,
      `${user} subscribes to all`,
    )
    t.equal(await caller.code(`${groupCalls}/GetInfo`, info, user), status.PERMISSION_DENIED)
    t.equal(await caller.code(`${groupCalls}/List`, listAll, user), status.PERMISSION_DENIED)
    t.equal((await caller.call(`${groupCalls}/Read`, consume('orders'), user, 1)).code, status.PERMISSION_DENIED)
  }
  t.equal(await caller.code(read, readStream('orders'), 'keeper:secret'), status.OK, 'an operator can read it')
  t.equal(await caller.code(read, readStream('$ce-orders'), 'keeper:secret'), status.PERMISSION_DENIED)

  await acl(store, 'orders', { $r: ['loner'], $w: 'clerks' })
  t.equal(await caller.code(read, readStream('orders'), 'loner:secret'), status.OK, 'an ACL grants access')
  t.equal(
    await caller.code(read, readStream('$$orders'), 'loner:secret'),
    status.PERMISSION_DENIED,
    'it grants nothing else',
  )
  t.equal(await caller.code(read, readStream('orders'), 'clerk:secret'), status.PERMISSION_DENIED)
  const [append, remove] = changes('orders')
  t.equal(await caller.code(append![0], append![1], 'loner:secret'), status.PERMISSION_DENIED)
  t.equal(await caller.code(append![0], append![1], 'clerk:secret'), status.OK)
  t.equal(await caller.code(remove![0], remove![1], 'clerk:secret'), status.PERMISSION_DENIED)
  t.equal(
    await caller.code(`${groupCalls}/GetInfo`, info, 'loner:secret'),
    status.OK,
    'a user with access to the stream can read the state of its group',
  )
  t.equal((await caller.call(`${groupCalls}/Read`, consume('orders'), 'loner:secret', 1)).code, status.OK)
})

t.test('a link does not reveal an event that the user is not allowed to read', async (t) => {
  const { store, caller } = await scene(t)
  await put(store, 'closed', { secret: true })
  await put(store, 'open', { secret: false })
  for (const target of ['closed', 'open']) await link(store, 'links', target)
  await acl(store, 'links', { $r: 'loner' })
  await acl(store, 'open', { $r: 'loner' })
  t.equal(await caller.code(`${groupCalls}/Create`, createGroup('links'), admin), status.OK)
  const resolved = (messages: readonly Buffer[]) =>
    messages.flatMap((bytes) => streams.ReadResp.deserializeBinary(bytes).getEvent() ?? [])
  const delivered = (messages: readonly Buffer[]) =>
    messages.flatMap((bytes) => persistent.ReadResp.deserializeBinary(bytes).getEvent() ?? [])
  const texts = (events: readonly { getEvent(): { getData_asU8(): Uint8Array } | undefined; getLink(): unknown }[]) =>
    events.map((event) => [
      event.getLink() !== undefined,
      event.getEvent() && Buffer.from(event.getEvent()!.getData_asU8()).toString(),
    ])
  const shown = [
    [true, undefined],
    [true, '{"secret":false}'],
  ]
  t.strictSame(texts(resolved((await caller.call(read, readStream('links'), 'loner:secret')).messages)), shown)
  const subscription = await caller.call(read, readStream('links', true), 'loner:secret', 3)
  t.strictSame(texts(resolved(subscription.messages)), shown)
  const group = await caller.call(`${groupCalls}/Read`, consume('links'), 'loner:secret', 3)
  t.strictSame(texts(delivered(group.messages)), shown)
  t.strictSame(
    texts(resolved((await caller.call(read, readStream('links'), admin)).messages)).map(([, text]) => text),
    ['{"secret":true}', '{"secret":false}'],
  )
})

t.test('with --writable, administrators can read but not write the streams of the service', async (t) => {
  const { store, caller } = await scene(t)
  const serverStreams = ['$user-admin', '$persistentSubscriptionConfig', '$persistentsubscription-a::g-parked']
  const names = [...reservedPrefixes.map((prefix) => `${prefix}1`), ...serverStreams]
  for (const name of names) {
    for (const stream of [name, `$$${name}`, `$$$$${name}`]) {
      const before = store.reader.lastPosition()
      for (const [path, request] of changes(stream)) {
        t.equal(await caller.code(path, request, admin), status.PERMISSION_DENIED, `${path} of ${stream}`)
      }
      t.equal(store.reader.lastPosition(), before)
    }
  }
  t.equal(await caller.code(read, readStream('transfer-1'), admin), status.OK)
  for (const stream of ['orders', 'persistentsubscription-a', 'transferd', '$own']) {
    const [append] = changes(stream)
    t.equal(await caller.code(append![0], append![1], admin), status.OK, `${stream} is writable`)
  }
})

t.test('an administrator cannot write a stream named $all, and finds none', async (t) => {
  const { store, caller } = await scene(t)
  const before = store.reader.lastPosition()
  const [append] = changes('$all')
  t.equal(await caller.code(append![0], append![1], admin), status.PERMISSION_DENIED)
  t.equal(store.reader.lastPosition(), before)
  const { code, messages } = await caller.call(read, readStream('$all'), admin)
  t.equal(code, status.OK)
  const [only] = messages.map((bytes) => streams.ReadResp.deserializeBinary(bytes))
  t.equal(messages.length, 1)
  t.ok(only?.hasStreamNotFound())
})

t.test('limits wrong passwords without locking out users that have logged in before', async (t) => {
  const { caller } = await scene(t)
  t.equal(await caller.code(read, readStream('orders'), 'keeper:secret'), status.OK)
  const codes = await Promise.all(
    Array.from({ length: 60 }, (_, n) => caller.code(read, readStream('orders'), `keeper:guess-${n}`)),
  )
  t.ok(codes.filter((code) => code === status.UNAUTHENTICATED).length <= 21)
  t.ok(codes.every((code) => code === status.UNAUTHENTICATED || code === status.RESOURCE_EXHAUSTED))
  t.equal(
    await caller.code(read, readStream('orders'), 'clerk:secret'),
    status.RESOURCE_EXHAUSTED,
    'a correct password is rejected too',
  )
  t.equal(await caller.code(read, readStream('orders'), 'keeper:secret'), status.OK, 'a user that logged in before')
  t.equal(await caller.code(read, readStream('orders'), admin), status.OK)
})

t.test('allows 20 password attempts per address, and six more per minute', async (t) => {
  let nowMs = 0
  const attempts = new PasswordAttempts(() => nowMs)
  const taken = (address: string) => Array.from({ length: 100 }, () => attempts.take(address)).filter(Boolean).length
  t.equal(taken('10.0.0.1'), 20)
  t.equal(taken('10.0.0.2'), 20, 'other addresses are not affected')
  nowMs += 60_000
  t.equal(taken('10.0.0.1'), 6)
  attempts.refund('10.0.0.1')
  t.equal(taken('10.0.0.1'), 1, 'a correct password costs no attempt')
  nowMs += 3_600_000
  t.equal(taken('10.0.0.1'), 20)
})

t.test('identifies a connection by its IPv4 address in any form, or by its IPv6 network', async (t) => {
  t.equal(addressOf('10.1.2.3:4711'), '10.1.2.3')
  t.equal(addressOf('::ffff:10.1.2.3:4711'), '10.1.2.3')
  t.equal(addressOf('2001:db8:1:2:3:4:5:6:4711'), '2001:db8:1:2')
  t.equal(addressOf('2001:db8::6:4711'), '2001:db8:0:0')
  t.equal(addressOf('::1:4711'), '0:0:0:0')
  t.equal(addressOf('fe80::1%eth0:4711'), 'fe80:0:0:0')
})
