import { randomUUID } from 'node:crypto'
import { join } from 'node:path'
import { openEventLog } from '@transferd/event-log'
import fc from 'fast-check'
import t, { type Test } from 'tap'
import { MerchantCommands } from '../../src/commands/merchant/merchant-commands.js'
import { MerchantDirectory } from '../../src/commands/merchant/merchant-directory.js'
import { skipEvent } from '../../src/commands/skip-events.js'
import { UserDirectory } from '../../src/commands/user/user-commands.js'
import {
  listedStreamsStream,
  merchantStream,
  privacyStream,
  streamPrefix,
  userStream,
} from '../../src/domain/streams.js'
import { encodeEvent, UnreadableEventError } from '../../src/event-store/event-codec.js'
import {
  comparePositions,
  type EventStore,
  eventAt,
  type NewEvent,
  type Position,
  type RecordedEvent,
} from '../../src/event-store/event-store.js'
import { openEventStoreDb } from '../../src/event-store/eventstoredb/eventstoredb-event-store.js'
import { skipEvents } from '../../src/event-store/read-event.js'
import { listedPrefixes, readStreamList } from '../../src/event-store/stream-list.js'
import { createSecretBox } from '../../src/security/secret-box.js'
import { settings } from '../domain/merchant-samples.js'
import { context, openTestStore } from '../support/embedded-store.js'
import { startTestEventsServer } from '../support/events-server.js'

const at = '2026-03-01T10:00:00.000Z'
const clock = () => at
const box = createSecretBox(Buffer.alloc(32, 7))
const addresses = ['192.0.2.1', '198.51.100.1', '203.0.113.7']
const foreign = (): NewEvent => ({ id: randomUUID(), type: 'Foreign', data: {}, metadata: {} })

async function allEvents(store: EventStore): Promise<readonly RecordedEvent[]> {
  return (await store.readAll({ maxCount: 10_000 })).events
}

async function appendNext(store: EventStore, stream: string, event: NewEvent): Promise<void> {
  const [last] = await store.readStream(stream, { direction: 'backwards', maxCount: 1 })
  await store.append(stream, last?.revision ?? 'no_stream', [event])
}

/** Extends a log with generated events. */
class World {
  readonly #commands: MerchantCommands
  readonly #merchants: string[] = []
  readonly #users: string[] = []

  constructor(private readonly store: EventStore) {
    this.#commands = new MerchantCommands(store, clock, box)
  }

  async appendEvent(kind: number, seed: number): Promise<void> {
    const merchant = this.#merchants[seed % Math.max(1, this.#merchants.length)]
    const user = this.#users[seed % Math.max(1, this.#users.length)]
    if (kind <= 1) this.#merchants.push((await this.#commands.register(settings, context)).id)
    else if (kind === 2) this.#users.push(await this.#newUser())
    else if (kind === 3) await this.#erase()
    else if (kind <= 6) await appendNext(this.store, `transfer-${randomUUID()}`, foreign())
    else if (kind <= 9) await this.#list(seed)
    else if (kind === 10) await this.#listWithGap()
    else if (kind === 11) await appendNext(this.store, listedStreamsStream, foreign())
    else if (kind === 12 && user) await this.#append(userStream(user), 'UserDisabled', { userId: user, at })
    else if (merchant === undefined) return
    else if (kind === 13) await this.#commands.suspend(merchant, context)
    else if (kind === 14) await this.#commands.execute(merchant, { type: 'Resume' }, context)
    else if (kind === 15)
      await this.#commands.execute(
        merchant,
        { type: 'ChangeSettings', changes: { allowIps: [addresses[seed % addresses.length]!] } },
        context,
      )
    else if (kind === 16) await appendNext(this.store, merchantStream(merchant), foreign())
    else await this.#decide(merchant)
  }

  #append(stream: string, type: 'UserDisabled', data: { readonly userId: string; readonly at: string }) {
    return appendNext(this.store, stream, encodeEvent({ type, data }, context))
  }

  async #newUser(): Promise<string> {
    const userId = randomUUID()
    const sealed = { emailMac: box.mac('email', userId), email: box.seal('a@example.com', userId) }
    const profile = { ...sealed, passwordHash: '$argon2id$', temporary: false, name: 'Ada' }
    const data = { userId, at, role: 'auditor', merchantIds: null, ...profile } as const
    await appendNext(this.store, userStream(userId), encodeEvent({ type: 'UserCreated', data }, context))
    return userId
  }

  async #erase(): Promise<void> {
    const erasureId = randomUUID()
    const data = { erasureId, merchantId: randomUUID(), trackingIds: [], reason: 'asked', at }
    await appendNext(this.store, privacyStream(erasureId), encodeEvent({ type: 'CustomerErased', data }, context))
  }

  /** Extends the list from the last listed event to any later event, as the service does. */
  async #list(seed: number): Promise<void> {
    const { through, position } = await readStreamList(this.store)
    const events = await allEvents(this.store)
    const behind = events.filter((event) => !position || comparePositions(event.position, position) > 0)
    const end = behind[seed % Math.max(1, behind.length)]
    if (!end) return
    const streams = behind
      .filter((event) => comparePositions(event.position, end.position) <= 0)
      .map(({ stream }) => stream)
      .filter((stream) => listedPrefixes.some((prefix) => stream.startsWith(prefix)))
    const data = { after: through ?? null, through: placeOf(end), streams: [...new Set(streams)], at }
    await appendNext(this.store, listedStreamsStream, encodeEvent({ type: 'StreamsListed', data }, context))
  }

  /** Appends a list that does not continue the previous one, like a process that has not read it. */
  async #listWithGap(): Promise<void> {
    const { through } = await readStreamList(this.store)
    const end = (await allEvents(this.store)).at(-1)
    if (!through || !end) return
    const after = { ...through, revision: through.revision + 1 }
    const data = { after, through: placeOf(end), streams: [], at }
    await appendNext(this.store, listedStreamsStream, encodeEvent({ type: 'StreamsListed', data }, context))
  }

  async #decide(merchant: string): Promise<void> {
    const stream = merchantStream(merchant)
    const unreadable = (await this.store.readStream(stream)).find(
      ({ type, isSkipped }) => type === 'Foreign' && !isSkipped,
    )
    if (unreadable) await skipEvent({ store: this.store, clock }, { ...placeOf(unreadable), reason: 'a test' }, context)
  }
}

function placeOf({ stream, revision }: RecordedEvent) {
  return { stream, revision }
}

/** Returns what a starting process reads from a log. */
async function readByStart(store: EventStore) {
  const erased = new Set<string>()
  const seen = (events: readonly RecordedEvent[]) => {
    for (const { stream } of events) if (stream.startsWith(streamPrefix.privacy)) erased.add(stream)
  }
  const watched: EventStore = {
    ...store,
    readStream: async (stream, options) => {
      const events = await store.readStream(stream, options)
      seen(events)
      return events
    },
    readAll: async (options) => {
      const page = await store.readAll(options)
      seen(page.events)
      return page
    },
  }
  const errors = new Set<string>()
  const merchants = new MerchantDirectory(watched, box, clock, (error) => errors.add(String(error)))
  const users = new UserDirectory(watched, (error) => errors.add(String(error)))
  for (const directory of [merchants, users]) {
    await directory.start()
    await directory.stop()
  }
  const byId = <Of>(of: readonly Of[], id: (one: Of) => string) => of.toSorted((a, b) => (id(a) < id(b) ? -1 : 1))
  return {
    erased: [...erased].sort(),
    errors: [...errors].sort(),
    merchants: byId(merchants.all(), ({ merchantId }) => merchantId),
    problems: byId(merchants.problems(), ({ problem }) => problem.stream).map(({ problem }) => problem.message),
    users: byId(users.all(), ({ userId }) => userId),
    addresses: addresses.map((address) =>
      merchants
        .byAddress(address)
        .map(({ merchantId }) => merchantId)
        .sort(),
    ),
  }
}

function unlessOutOfService(error: unknown): void {
  if (!(error instanceof UnreadableEventError)) throw error
}

/** Hides the list from a reader. */
function withoutList(store: EventStore): EventStore {
  return {
    ...store,
    readStream: async (stream, options) => (stream === listedStreamsStream ? [] : store.readStream(stream, options)),
  }
}

t.test('a start from the list has the same state as a read of the whole log', async (t) => {
  const steps = fc.array(fc.tuple(fc.nat(17), fc.nat(1_000)), { minLength: 20, maxLength: 45 })
  const directory = t.testdir()
  let runs = 0
  let listed = 0
  await fc.assert(
    fc.asyncProperty(steps, async (choices) => {
      const raw = await openEventLog({ directory: join(directory, String(runs++)), writerThread: false })
      const store = skipEvents(raw)
      const world = new World(store)
      for (const [kind, seed] of choices) await world.appendEvent(kind, seed).catch(unlessOutOfService)
      if ((await readStreamList(store)).position) listed++
      // Each has a separate store, because a store remembers the decisions that it has read.
      t.strictSame(await readByStart(skipEvents(raw)), await readByStart(withoutList(skipEvents(raw))))
      await raw.close()
    }),
    { numRuns: 12, endOnFailure: true },
  )
  t.ok(listed > 5, 'several runs start from a list')
})

/** Returns what a start reads when one merchant is listed and another was registered later. */
async function startBehindList(t: Test, store: EventStore): Promise<void> {
  const commands = new MerchantCommands(store, clock, box)
  const before = await commands.register(settings, context)
  await appendNext(store, 'transfer-1', foreign())
  const through = { stream: 'transfer-1', revision: 0 }
  const data = { after: null, through, streams: [merchantStream(before.id)], at }
  await appendNext(store, listedStreamsStream, encodeEvent({ type: 'StreamsListed', data }, context))
  const after = await commands.register(settings, context)
  await commands.suspend(before.id, context)
  const from: (Position | undefined)[] = []
  const watched: EventStore = {
    ...store,
    readAll: (options) => {
      from.push(options.after)
      return store.readAll(options)
    },
  }
  const directory = new MerchantDirectory(watched, box, clock, () => t.fail())
  await directory.start()
  await directory.stop()
  t.strictSame(from[0], (await eventAt(store, through))?.position)
  t.equal(directory.byId(before.id)?.suspended, true, 'the listed merchant is suspended after the list')
  t.equal(directory.byId(after.id)?.suspended, false)
}

t.test('starts reading the log at the listed position and includes streams that were created later', async (t) => {
  await startBehindList(t, await openTestStore(t))
})

t.test('starts reading at the listed position on EventStoreDB too', async (t) => {
  const server = await startTestEventsServer()
  const store = openEventStoreDb({ url: server.url })
  t.teardown(async () => {
    await store.close()
    await server.stop()
  })
  await startBehindList(t, store)
})

t.test('ignores a list whose last event is not in the log', async (t) => {
  const store = await openTestStore(t)
  const data = { after: null, through: { stream: 'transfer-1', revision: 0 }, streams: ['merchant-gone'], at }
  await appendNext(store, listedStreamsStream, encodeEvent({ type: 'StreamsListed', data }, context))
  t.strictSame(await readStreamList(store), {
    ...{ streams: new Set(), through: undefined, position: undefined },
    revision: 0,
  })
})
