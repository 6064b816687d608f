import { randomUUID } from 'node:crypto'
import { Client, credentials, Metadata, type ServiceError, status } from '@grpc/grpc-js'
import type { StreamStore } from '@transferd/event-log/streams'
import type { Message } from 'google-protobuf'
import t, { type Test } from 'tap'
import { addressOf, Guesses } from '../src/access/password-attempts.js'
import { persistent, shared, streams, users } from '../src/wire/generated-protocol.js'
import { administrator, reservedPrefixes, serve } from './support/server-fixture.js'

const waitMs = 60_000
const pass = (bytes: Buffer) => bytes
const empty = () => new shared.Empty()
const named = (stream: string) => new shared.StreamIdentifier().setStreamName(Buffer.from(stream))
const service = '/event_store.client'
const read = `${service}.streams.Streams/Read`
const groupCalls = `${service}.persistent_subscriptions.PersistentSubscriptions`

interface Answer {
  readonly code: number
  readonly messages: readonly Buffer[]
}

/** Clients over plain text, each call with the credentials it names. */
class Caller {
  readonly #client: Client

  constructor(port: number) {
    this.#client = new Client(`127.0.0.1:${port}`, credentials.createInsecure())
  }

  /** How a call ends; one that stays open is left after `count` messages. */
  ask(path: string, request: Message, caller = '', count = Number.POSITIVE_INFINITY): Promise<Answer> {
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
      // A consumer that says no more leaves its group.
      if (path !== `${groupCalls}/Read`) call.end()
    })
  }

  async code(path: string, request: Message, caller: string): Promise<number> {
    return (await this.ask(path, request, caller)).code
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

/** What changes a stream: an append in both ways, a soft delete and a tombstone. */
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

/** A writable server as `transferd events serve` runs it, with somebody in no group, an operator and one in a group of their own. */
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
    if (faults.length > 0) throw new AggregateError(faults, 'calls failed for reasons of ours')
  })
  return { store, caller }
}

t.test('whoever is in no group, or one of their own, reads and writes nothing that no ACL gives them', async (t) => {
  const { store, caller } = await scene(t)
  await put(store, 'orders', { secret: true })
  await link(store, '$ce-orders', 'orders')
  t.equal(await caller.code(`${groupCalls}/Create`, createGroup('orders'), admin), status.OK)
  const info = new persistent.GetInfoReq().setOptions(ofGroup(new persistent.GetInfoReq.Options(), 'orders'))
  const listAll = new persistent.ListReq().setOptions(new persistent.ListReq.Options().setListAllSubscriptions(empty()))
  for (const who of ['loner:secret', 'clerk:secret']) {
    for (const stream of ['orders', '$$orders', 'missing', '$ce-orders', 'transfer-1']) {
      t.equal(await caller.code(read, readStream(stream), who), status.PERMISSION_DENIED, `${who} reads ${stream}`)
      const followed = await caller.ask(read, readStream(stream, true), who, 1)
      t.equal(followed.code, status.PERMISSION_DENIED, `${who} subscribes to ${stream}`)
      for (const [path, request] of changes(stream)) {
        t.equal(await caller.code(path, request, who), status.PERMISSION_DENIED, `${who}: ${path} of ${stream}`)
      }
    }
    t.equal(await caller.code(read, readAll(), who), status.PERMISSION_DENIED, `${who} reads all`)
    t.equal((await caller.ask(read, readAll(true), who, 1)).code, status.PERMISSION_DENIED, `${who} follows all`)
    t.equal(await caller.code(`${groupCalls}/GetInfo`, info, who), status.PERMISSION_DENIED)
    t.equal(await caller.code(`${groupCalls}/List`, listAll, who), status.PERMISSION_DENIED)
    t.equal((await caller.ask(`${groupCalls}/Read`, consume('orders'), who, 1)).code, status.PERMISSION_DENIED)
  }
  t.equal(await caller.code(read, readStream('orders'), 'keeper:secret'), status.OK, 'operators read')
  t.equal(await caller.code(read, readStream('$ce-orders'), 'keeper:secret'), status.PERMISSION_DENIED)

  await acl(store, 'orders', { $r: ['loner'], $w: 'clerks' })
  t.equal(await caller.code(read, readStream('orders'), 'loner:secret'), status.OK, 'an ACL gives')
  t.equal(
    await caller.code(read, readStream('$$orders'), 'loner:secret'),
    status.PERMISSION_DENIED,
    'no more than it says',
  )
  t.equal(await caller.code(read, readStream('orders'), 'clerk:secret'), status.PERMISSION_DENIED)
  const [append, remove] = changes('orders')
  t.equal(await caller.code(append![0], append![1], 'loner:secret'), status.PERMISSION_DENIED)
  t.equal(await caller.code(append![0], append![1], 'clerk:secret'), status.OK)
  t.equal(await caller.code(remove![0], remove![1], 'clerk:secret'), status.PERMISSION_DENIED)
  t.equal(await caller.code(`${groupCalls}/GetInfo`, info, 'loner:secret'), status.OK, 'how a group of it stands')
  t.equal((await caller.ask(`${groupCalls}/Read`, consume('orders'), 'loner:secret', 1)).code, status.OK)
})

t.test('a link leads nobody to what they may not read', async (t) => {
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
  t.strictSame(texts(resolved((await caller.ask(read, readStream('links'), 'loner:secret')).messages)), shown)
  const followed = await caller.ask(read, readStream('links', true), 'loner:secret', 3)
  t.strictSame(texts(resolved(followed.messages)), shown)
  const group = await caller.ask(`${groupCalls}/Read`, consume('links'), 'loner:secret', 3)
  t.strictSame(texts(delivered(group.messages)), shown)
  t.strictSame(
    texts(resolved((await caller.ask(read, readStream('links'), admin)).messages)).map(([, text]) => text),
    ['{"secret":true}', '{"secret":false}'],
  )
})

t.test('with --writable the streams of the service are read, and no administrator writes them', async (t) => {
  const { store, caller } = await scene(t)
  const ofServer = ['$user-admin', '$persistentSubscriptionConfig', '$persistentsubscription-a::g-parked']
  const names = [...reservedPrefixes.map((prefix) => `${prefix}1`), ...ofServer]
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
    t.equal(await caller.code(append![0], append![1], admin), status.OK, `${stream} is written`)
  }
})

t.test('wrong passwords are looked at so often, and no lock keeps those out who are known', async (t) => {
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
    'a right guess, too',
  )
  t.equal(await caller.code(read, readStream('orders'), 'keeper:secret'), status.OK, 'who was right before')
  t.equal(await caller.code(read, readStream('orders'), admin), status.OK)
})

t.test('an address may guess 20 times, and then six times a minute', async (t) => {
  let nowMs = 0
  const guesses = new Guesses(() => nowMs)
  const taken = (address: string) => Array.from({ length: 100 }, () => guesses.take(address)).filter(Boolean).length
  t.equal(taken('10.0.0.1'), 20)
  t.equal(taken('10.0.0.2'), 20, 'another is not concerned')
  nowMs += 60_000
  t.equal(taken('10.0.0.1'), 6)
  guesses.giveBack('10.0.0.1')
  t.equal(taken('10.0.0.1'), 1, 'a right one costs nothing')
  nowMs += 3_600_000
  t.equal(taken('10.0.0.1'), 20)
})

t.test('the address of a connection: IPv4 in whatever form, of IPv6 the network', async (t) => {
  t.equal(addressOf('10.1.2.3:4711'), '10.1.2.3')
  t.equal(addressOf('::ffff:10.1.2.3:4711'), '10.1.2.3')
  t.equal(addressOf('2001:db8:1:2:3:4:5:6:4711'), '2001:db8:1:2')
  t.equal(addressOf('2001:db8::6:4711'), '2001:db8:0:0')
  t.equal(addressOf('::1:4711'), '0:0:0:0')
  t.equal(addressOf('fe80::1%eth0:4711'), 'fe80:0:0:0')
})
