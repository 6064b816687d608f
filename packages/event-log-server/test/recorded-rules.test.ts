import { randomUUID } from 'node:crypto'
import {
  BACKWARDS,
  END,
  type EventStoreDBClient,
  jsonEvent,
  persistentSubscriptionToAllSettingsFromDefaults,
  persistentSubscriptionToStreamSettingsFromDefaults,
  START,
  streamNameFilter,
} from '@eventstore/db-client'
import { Client, credentials } from '@grpc/grpc-js'
import { openEventLog } from '@transferd/event-log'
import type { StreamStore } from '@transferd/event-log/streams'
import { tempDirectory } from '@transferd/event-log/test/support/temp-directory'
import fc from 'fast-check'
import t from 'tap'
import { dotnetRegex } from '../src/filters/dotnet-regex.js'
import { persistent, shared, streams } from '../src/wire/generated-protocol.js'
import { serve } from './support/server-fixture.js'

/** Tests rules of EventStoreDB 23.10 that no recorded scenario covers completely. */

const waitMs = 60_000
const pass = (bytes: Buffer) => bytes
const empty = () => new shared.Empty()

async function all<T>(iterable: AsyncIterable<T>): Promise<T[]> {
  const items: T[] = []
  for await (const item of iterable) items.push(item)
  return items
}

// ---- checkpoints of a filtered subscription

/** A filtered subscription. `existing` and `live` state for each event, before and after it is live, whether the event matches. */
interface Scenario {
  readonly window: number
  readonly interval: number
  readonly existing: readonly boolean[]
  readonly live: readonly boolean[]
}

/**
 * A message about event n: `e<n>` is the event, `c<n>` a checkpoint at it, and `b<n>` a checkpoint before it, without
 * its prepare position.
 */
type Message = string

/** Returns the messages that EventStoreDB sends. It reads pages of one window of events or 32 matching events. */
function expected({ window, interval, existing, live }: Scenario): Message[] {
  const messages: Message[] = []
  let count = 0
  let next = 0
  for (;;) {
    const page: number[] = []
    const matching = () => page.filter((n) => existing[n])
    while (next < existing.length && page.length < window && matching().length < 32) page.push(next++)
    messages.push(...matching().map((n) => `e${n}`))
    count += page.length
    if (page.length < window && matching().length < 32) break
    if (count < window * interval) continue
    count %= window * interval
    messages.push(matching().length > 0 ? `c${matching().at(-1)}` : `b${page[0]}`)
  }
  messages.push('caught up')
  for (const [i, matches] of live.entries()) {
    if (matches) messages.push(`e${next + i}`)
    count += 1
    if (count < window * interval) continue
    count = 0
    messages.push(`c${next + i}`)
  }
  return messages
}

function content() {
  return { id: randomUUID(), type: 'T', isJson: true, data: Buffer.from('{}'), metadata: new Uint8Array(0) }
}

/** Appends the events and returns the messages of a subscription that starts before them, up to the last event. */
async function observed(store: StreamStore, client: Client, scenario: Scenario): Promise<Message[]> {
  const run = randomUUID()
  const first = store.reader.lastPosition() + 1
  const put = async (matches: boolean) => {
    await store.append(matches ? `hit-${run}` : 'noise', 'any', [content()])
  }
  for (const matches of scenario.existing) await put(matches)
  const expression = new streams.ReadReq.Options.FilterOptions.Expression().setPrefixList([`hit-${run}`])
  const filter = new streams.ReadReq.Options.FilterOptions().setStreamIdentifier(expression).setMax(scenario.window)
  const after = `${(first - 1) * 64}`
  const position = new streams.ReadReq.Options.Position().setCommitPosition(after).setPreparePosition(after)
  const options = new streams.ReadReq.Options()
    .setAll(new streams.ReadReq.Options.AllOptions().setPosition(position))
    .setSubscription(new streams.ReadReq.Options.SubscriptionOptions())
    .setFilter(filter.setCheckpointintervalmultiplier(scenario.interval))
    .setUuidOption(new streams.ReadReq.Options.UUIDOption().setString(empty()))
  const request = Buffer.from(new streams.ReadReq().setOptions(options).serializeBinary())
  const call = client.makeServerStreamRequest('/event_store.client.streams.Streams/Read', pass, pass, request)
  const messages: Message[] = []
  let wake = () => {}
  call.on('error', () => {})
  call.on('data', (bytes: Buffer) => {
    const response = streams.ReadResp.deserializeBinary(bytes)
    const [event, checkpoint] = [response.getEvent(), response.getCheckpoint()]
    const numberOf = (commit: string) => Number(commit) / 64 - first
    if (event) messages.push(`e${numberOf(event.getCommitPosition())}`)
    if (checkpoint) {
      const isBefore = checkpoint.getPreparePosition() === '0'
      messages.push(`${isBefore ? 'b' : 'c'}${numberOf(checkpoint.getCommitPosition())}`)
    }
    if (response.hasCaughtUp()) messages.push('caught up')
    wake()
  })
  const until = async (message: Message) => {
    const deadline = Date.now() + waitMs
    while (!messages.includes(message) && Date.now() < deadline) {
      await new Promise<void>((resolve) => {
        wake = resolve
        setTimeout(resolve, waitMs).unref()
      })
    }
  }
  await until('caught up')
  for (const matches of scenario.live) await put(matches)
  await put(true) // The messages about all other events precede this one.
  const end = scenario.existing.length + scenario.live.length
  await until(`e${end}`)
  call.cancel()
  const last = messages.indexOf(`e${end}`)
  return last < 0 ? messages : messages.slice(0, last)
}

const none = (count: number) => Array.from({ length: count }, () => false)
const hits = (count: number) => Array.from({ length: count }, () => true)

t.test(
  'checkpoints follow pages, and the events of the last page count towards the first live checkpoint',
  async (t) => {
    const { store, port, stop, faults } = await serve()
    const client = new Client(`127.0.0.1:${port}`, credentials.createInsecure())
    const sent = (scenario: Scenario) => observed(store, client, scenario)
    const window10 = { window: 10, interval: 2 }
    t.strictSame(
      await sent({ ...window10, existing: none(70), live: none(10) }),
      ['b10', 'b30', 'b50', 'caught up', 'c79'],
      'ten of 70 events count towards the first live checkpoint',
    )
    t.strictSame(
      await sent({ ...window10, existing: none(25), live: none(36) }),
      ['b10', 'caught up', 'c39', 'c59'],
      'five events of the incomplete page count',
    )
    t.strictSame(await sent({ window: 100, interval: 3, existing: none(310), live: [] }), ['b200', 'caught up'])
    t.strictSame(await sent({ window: 32, interval: 1, existing: none(64), live: none(32) }), [
      ...['b0', 'b32', 'caught up'],
      'c95',
    ])
    const matching = await sent({ window: 100, interval: 1, existing: hits(130), live: [] })
    t.strictSame(
      matching.filter((message) => message.startsWith('c')),
      ['c127', 'caught up'],
      'a page ends after 32 matching events: four pages reach the interval',
    )
    const some = await sent({ window: 7, interval: 2, existing: [...none(8), true, ...none(40)], live: none(5) })
    t.strictSame(some.slice(0, 3), ['e8', 'c8', 'b21'], 'the checkpoint is at the last match of the page')
    await fc.assert(
      fc.asyncProperty(
        fc.record({
          window: fc.integer({ min: 1, max: 40 }),
          interval: fc.integer({ min: 1, max: 4 }),
          existing: fc.array(fc.boolean(), { maxLength: 120 }),
          live: fc.array(fc.boolean(), { maxLength: 30 }),
        }),
        async (scenario) => {
          t.strictSame(await sent(scenario), expected(scenario))
        },
      ),
      { numRuns: 20 },
    )
    t.strictSame(faults, [])
    client.close()
    await stop()
  },
)

t.test('resuming from any checkpoint loses no event', async (t) => {
  const { client, stop } = await serve()
  for (let n = 0; n < 40; n += 1) {
    await client.appendToStream(n % 13 === 5 ? 'hit' : 'noise', jsonEvent({ type: 'T', data: { n } }))
  }
  const last = (await all(client.readAll({ direction: BACKWARDS, fromPosition: END, maxCount: 1 })))[0]?.event?.position
  const receiveFrom = async (fromPosition: typeof START | { commit: bigint; prepare: bigint }) => {
    const checkpoints: { commit: bigint; prepare: bigint }[] = []
    const found: bigint[] = []
    const checkpointReached = async (_: unknown, position: { commit: bigint; prepare: bigint }) => {
      checkpoints.push(position)
    }
    const filter = streamNameFilter({ prefixes: ['hit'], maxSearchWindow: 3, checkpointInterval: 1, checkpointReached })
    const subscription = client.subscribeToAll({ fromPosition, filter })
    await new Promise<void>((resolve, reject) => {
      subscription.on('data', ({ event }) => found.push(event?.position?.commit ?? 0n))
      subscription.on('caughtUp', resolve)
      subscription.on('error', reject)
    })
    await subscription.unsubscribe()
    return { checkpoints, found }
  }
  const { checkpoints, found } = await receiveFrom(START)
  t.ok(checkpoints.length > 10)
  t.equal(found.length, 3)
  for (const checkpoint of checkpoints) {
    t.ok(checkpoint.commit <= (last?.commit ?? 0n))
    const resumed = await receiveFrom(checkpoint)
    t.strictSame(
      resumed.found,
      found.filter((commit) => commit > checkpoint.commit),
    )
  }
  await stop()
})

// ---- where a group starts

const service = '/event_store.client.persistent_subscriptions.PersistentSubscriptions'

/** Returns the start position in the server's response. The official client would convert it. */
function startPositionOf(client: Client, source: string, group: string): Promise<string> {
  const options = new persistent.GetInfoReq.Options().setGroupName(group)
  if (source === '$all') options.setAll(empty())
  else options.setStreamIdentifier(new shared.StreamIdentifier().setStreamName(Buffer.from(source)))
  const request = Buffer.from(new persistent.GetInfoReq().setOptions(options).serializeBinary())
  return new Promise((resolve, reject) => {
    client.makeUnaryRequest(`${service}/GetInfo`, pass, pass, request, (error, bytes) => {
      if (error || bytes === undefined) reject(error)
      else resolve(persistent.GetInfoResp.deserializeBinary(bytes).getSubscriptionInfo()?.getStartFrom() ?? '')
    })
  })
}

t.test('a group returns its start position in the format of its creation', async (t) => {
  const directory = tempDirectory(t)
  const first = await serve({ directory })
  for (let n = 0; n < 5; n += 1) await first.client.appendToStream('s', jsonEvent({ type: 'T', data: { n } }))
  const [, second] = await all(first.client.readStream('s'))
  const commit = second?.event?.position?.commit ?? 0n
  const ofAll = {
    'C:0/P:0': START,
    'C:-1/P:-1': END,
    [`C:${commit}/P:${commit}`]: { commit, prepare: commit },
    [`C:${commit}/P:0`]: { commit, prepare: 0n },
    [`C:${commit}/P:${commit - 7n}`]: { commit, prepare: commit - 7n },
    [`C:${commit - 5n}/P:${commit - 5n}`]: { commit: commit - 5n, prepare: commit - 5n },
  } as const
  const ofStream = new Map<string, typeof START | typeof END | bigint>([
    ['0', START],
    ['-1', END],
    ...[3n, 4_711n, 2n ** 53n + 1n].map((revision) => [`${revision}`, revision] as const),
  ])
  const create = async (client: EventStoreDBClient) => {
    for (const [name, startFrom] of Object.entries(ofAll)) {
      await client.createPersistentSubscriptionToAll(
        name,
        persistentSubscriptionToAllSettingsFromDefaults({ startFrom }),
      )
    }
    for (const [name, startFrom] of ofStream) {
      const settings = persistentSubscriptionToStreamSettingsFromDefaults({ startFrom })
      await client.createPersistentSubscriptionToStream('s', name, settings)
    }
  }
  const verify = async (port: number) => {
    const raw = new Client(`127.0.0.1:${port}`, credentials.createInsecure())
    for (const name of Object.keys(ofAll)) t.equal(await startPositionOf(raw, '$all', name), name)
    for (const name of ofStream.keys()) t.equal(await startPositionOf(raw, 's', name), name)
    raw.close()
  }
  await create(first.client)
  await verify(first.port)
  const settings = persistentSubscriptionToAllSettingsFromDefaults({ startFrom: { commit, prepare: 1n } })
  await first.client.updatePersistentSubscriptionToAll('C:0/P:0', settings)
  t.match(await first.client.getPersistentSubscriptionToAllInfo('C:0/P:0'), {
    settings: { startFrom: { commit, prepare: 1n } },
  })
  await first.client.updatePersistentSubscriptionToAll(
    'C:0/P:0',
    persistentSubscriptionToAllSettingsFromDefaults({ startFrom: START }),
  )
  t.strictSame(first.faults, [])
  await first.stop()
  const restarted = await serve({ directory })
  await verify(restarted.port)
  await restarted.stop()
})

// ---- a new log

t.test('a new log has a last event from which a subscription can resume', async (t) => {
  const { client, stop, faults } = await serve()
  const backwards = await all(client.readAll({ direction: BACKWARDS, fromPosition: END, maxCount: 1 }))
  const forwards = await all(client.readAll({ fromPosition: START, maxCount: 1 }))
  const position = backwards[0]?.event?.position
  t.ok(position && position.commit > 0n)
  t.match(forwards[0]?.event, { streamId: /^\$/, position: {} })
  t.equal((await all(client.readAll({ direction: BACKWARDS, fromPosition: START }))).length, 0)

  const followed: (string | undefined)[] = []
  const subscription = client.subscribeToAll({ fromPosition: position! })
  const group = persistentSubscriptionToAllSettingsFromDefaults({ startFrom: START })
  await client.createPersistentSubscriptionToAll('g', group)
  await client.appendToStream('s', jsonEvent({ type: 'T', data: {} }))
  await new Promise<void>((resolve) => {
    subscription.on('data', ({ event }) => {
      followed.push(event?.streamId)
      if (event?.streamId === 's') resolve()
    })
  })
  t.notOk(followed.includes(forwards[0]?.event?.streamId), 'the event at the position is not sent again')
  await subscription.unsubscribe()
  for await (const { event } of client.subscribeToPersistentSubscriptionToAll('g')) {
    t.not(event?.type, '$EpochInformation', 'no group receives it')
    if (event?.streamId === 's') break
  }
  t.strictSame(faults, [])
  await stop()
})

t.test('the first event is hidden from the service and written only once', async (t) => {
  const directory = tempDirectory(t)
  for (let start = 0; start < 2; start += 1) {
    const { store, stop } = await serve({ directory })
    t.equal(store.reader.lastPosition(), 1)
    await stop()
  }
  const service = await openEventLog({ directory, writerThread: false })
  t.strictSame((await service.readAll({ maxCount: 10 })).events, [])
  const { position } = await service.append('transfer-1', 'no_stream', [{ ...content(), data: {}, metadata: {} }])
  t.match(await service.readAll({ maxCount: 10, streamPrefixes: ['transfer-'] }), {
    events: [{ position }],
    atEnd: true,
  })
  await service.close()
})

// ---- regular expressions of .NET

t.test("translates .NET's regular expressions", async (t) => {
  const matching: readonly (readonly [expression: string, matched: readonly string[], others: readonly string[]])[] = [
    [String.raw`\Aorder-\d+\z`, ['order-1', 'order-٣'], ['order-1\n', 'an order-1']],
    ['^a$', ['a', 'a\n'], ['a\n\n', 'b\na']],
    [String.raw`a\Z`, ['a', 'a\n'], ['ab', 'a\n\n']],
    ['(?m)^b$', ['a\nb\nc'], ['ab']],
    [String.raw`^\w+$`, ['straße_1', 'çay'], ['a-b', '']],
    [String.raw`^\W$`, ['-'], ['ç']],
    [String.raw`^\p{Lu}\P{Lu}`, ['Ça'], ['ça', 'ÇA']],
    ['^[a-z-[aeiou]]+$', ['xyz'], ['xaz']],
    [String.raw`^[^\W_]+$`, ['ç1'], ['_', '-']],
    [String.raw`^[\W\d-[-]]$`, ['+', '7'], ['-', 'a']],
    [String.raw`^[]a\-\]^]+$`, [']a-^'], ['b']],
    [String.raw`\bé\b`, ['un é là'], ['été']],
    ['(?i)^ORDER', ['order-1'], ['border']],
    ['(?x) ^ a # comment\n b $', ['ab'], ['a b']],
    ['^(?>a+)ab', [], ['aaab']],
    ['^(?>a|ab)c', ['ac'], ['abc']],
    ['(?#note)x', ['x'], ['note']],
    [String.raw`^(?'kind'a|b)-\k<kind>$`, ['a-a', 'b-b'], ['a-b']],
    ['^a.b$', ['a\rb', 'a\u2028b'], ['a\nb']],
    ['^[^$].*', ['a'], ['$a']],
    ['a{,2}{x}', ['a{,2}{x}'], ['aa']],
    [String.raw`^[\w-.]+$`, ['a-b.c'], ['a b']],
    [String.raw`^[a\W-.]+$`, ['a-. '], ['b']],
    ['^(?!order)x?', ['b'], ['order']],
  ]
  for (const [expression, matched, others] of matching) {
    const found = [...matched, ...others].filter((text) => dotnetRegex(expression).test(text))
    // A title must not contain the line break of an expression.
    t.same(found, matched, JSON.stringify(expression))
  }
  for (const construct of ['(?(a)b|c)', '(?<a-b>c)', 'a(?i)b', String.raw`\G`, String.raw`\p{IsGreek}`])
    t.throws(() => dotnetRegex(construct), /^The filter's expression uses .*, which this server/, construct)
  for (const invalid of ['(', ')', '[a', 'a**', '[z-a]', '(?>a'])
    t.throws(() => dotnetRegex(invalid), { name: 'SyntaxError' }, invalid)
})

t.test('any quoted text matches only itself', async (t) => {
  const quoted = (text: string) => text.replace(/[\\*+?|{[()^$.# ]/g, '\\$&')
  fc.assert(
    fc.property(fc.string({ unit: 'grapheme' }), fc.string({ unit: 'grapheme' }), (text, other) => {
      const expression = dotnetRegex(`\\A${quoted(text)}\\z`)
      return expression.test(text) && expression.test(other) === (other === text)
    }),
  )
  t.pass()
})
