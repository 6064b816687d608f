import { randomUUID } from 'node:crypto'
import { openEventLog } from '@transferd/event-log'
import { tempDirectory } from '@transferd/event-log/test/support/temp-directory'
import { serve } from '@transferd/event-log-server/test/support/server-fixture'
import fc from 'fast-check'
import t, { type Test } from 'tap'
import { trackingIdOf } from '../../src/commands/ids.js'
import { skipEvent } from '../../src/commands/skip-events.js'
import { hashIdOf, keyOf } from '../../src/commands/transfer/create-transfer.js'
import type { TransferResult } from '../../src/commands/transfer/transfer-requests.js'
import type { TransferCommands } from '../../src/commands/transfer/transfers.js'
import { formatShortest, formatTwoDecimals, parseAmount } from '../../src/domain/money.js'
import { transferStream } from '../../src/domain/streams.js'
import type { TransferKind } from '../../src/domain/transfer/transfer-events.js'
import { type EventStore, StoreUnavailableError } from '../../src/event-store/event-store.js'
import { openEventStoreDb } from '../../src/event-store/eventstoredb/eventstoredb-event-store.js'
import { logCalls, logCount } from '../../src/event-store/log-counts.js'
import { skipEvents } from '../../src/event-store/read-event.js'
import { copyLog } from '../../src/operations/copy/copy-log.js'
import { hashCode } from '../../src/security/api-keys.js'
import { settings } from '../domain/merchant-samples.js'
import { depositRequest, withdrawalRequest } from '../domain/transfer-samples.js'
import { context } from '../support/embedded-store.js'
import { startTestEventsServer } from '../support/events-server.js'
import { long } from '../support/long.js'
import { transferCommands } from '../support/transfer-commands.js'

const clock = () => '2026-03-01T10:00:00.000Z'
const otherKind = { deposit: 'withdrawal', withdrawal: 'deposit' } as const
const kinds = ['deposit', 'withdrawal'] as const

type Engine = 'embedded' | 'EventStoreDB'

interface OpenLog {
  readonly store: EventStore
  close(): Promise<void>
}

async function open(engine: Engine, directory: string): Promise<OpenLog> {
  if (engine === 'embedded') {
    const store = await openEventLog({ directory, writerThread: false })
    return { store, close: () => store.close() }
  }
  const server = await startTestEventsServer(directory)
  const store = openEventStoreDb({ url: server.url })
  const close = async () => {
    await store.close()
    await server.stop()
  }
  return { store, close }
}

async function openUntilEnd(t: Test, engine: Engine, directory = tempDirectory(t)): Promise<EventStore> {
  const { store, close } = await open(engine, directory)
  t.teardown(close)
  return store
}

interface Create {
  readonly kind: TransferKind
  /** The amount as the body spells it. */
  readonly amount: string
  readonly referenceId: string
  /** The amount text that the hashCode is calculated from; omitted if the request has no hashCode. */
  readonly hashed?: string
  readonly secret?: string
}

/** Returns the fields of a request that a body determines. */
function fieldsOf(merchantId: string, { amount, referenceId, hashed, secret = 'sk_one' }: Create) {
  const hash =
    hashed === undefined ? undefined : { hashCode: hashCode(secret, hashed, referenceId), amountText: hashed }
  return { merchantId, referenceId, amountMinor: parseAmount(amount)!, ...(hash && { hash }) }
}

function commandsOn(store: EventStore): TransferCommands {
  return transferCommands(store, clock, async () => settings)
}

function withdrawalOf(merchantId: string, body: Create) {
  return { ...withdrawalRequest, ...fieldsOf(merchantId, body) }
}

/** Creates a separate merchant, so that the tests of an engine can share one log. */
function newMerchant(store: EventStore, merchantId: string = randomUUID()) {
  const commands = commandsOn(store)
  const create = (body: Create): Promise<TransferResult> => {
    if (body.kind === 'withdrawal') return commands.create(withdrawalOf(merchantId, body), context)
    return commands.create({ ...depositRequest, ...fieldsOf(merchantId, body) }, context)
  }
  return { merchantId, create }
}

async function countEvents(store: EventStore, streamPrefixes: readonly string[] = []): Promise<number> {
  const options = { maxCount: 1_000, ...(streamPrefixes.length > 0 && { streamPrefixes }) }
  return (await store.readAll(options)).events.length
}

const isReused = { accepted: false, refusal: { rule: 'hash-reused' } }
const isConflict = { accepted: false, refusal: { reason: 'conflict' } }
const isNew = { accepted: true, changed: true }
const isRepeat = { accepted: true, changed: false }

/** Generates few amounts and short references of digits and points, so that the joined texts often collide. */
const anyCreate = fc.record({
  kind: fc.constantFrom<TransferKind>(...kinds),
  amount: fc.constantFrom('1', '1.0', '1.00', '10', '12', '12.3', '12.30', '1.2', '1.23', '100', '2', '23'),
  referenceId: fc.stringMatching(/^[.0-3]{1,3}$/),
  hashed: fc.constantFrom('raw', 'shortest', 'two decimals', 'none'),
  secret: fc.constantFrom('sk_one', 'sk_two'),
})

t.test('costs an append for each text and one for the transfer, and no read, on EventStoreDB', async (t) => {
  const { create } = newMerchant(await openUntilEnd(t, 'EventStoreDB'))
  const counts = () => logCalls.map((call) => [call, logCount(call)] as const)
  const before = new Map(counts())
  const creates = 20
  const body = { kind: 'deposit', amount: '100.00', hashed: '100.00' } as const
  await Promise.all(Array.from({ length: creates }, (_, n) => create({ ...body, referenceId: `counted-${n}` })))
  const added = Object.fromEntries(counts().map(([call, count]) => [call, count - before.get(call)!]))
  t.strictSame(added, { append: creates * 3, read_stream: 0, read_all: 0, subscribe: 0, ack: 0 })
})

t.test('appends one event for a create, which names its hashed texts by digests, and no hashCode', async (t) => {
  for (const engine of ['embedded', 'EventStoreDB'] as const) {
    const store = await openUntilEnd(t, engine)
    const { merchantId, create } = newMerchant(store)
    const creates: readonly (readonly [Omit<Create, 'kind' | 'amount'>, amountTexts: readonly string[]])[] = [
      [{ referenceId: 'a', hashed: '100' }, ['100']],
      [{ referenceId: 'b' }, ['100']],
      [{ referenceId: 'c', hashed: '100.00' }, ['100', '100.00']],
    ]
    for (const [body, amountTexts] of creates) {
      const { referenceId } = body
      t.match(await create({ kind: 'deposit', amount: '100', ...body }), isNew)
      const [created] = await store.readStream(transferStream(trackingIdOf(merchantId, 'deposit', referenceId)))
      t.strictSame(
        created?.metadata.$reserves,
        amountTexts.map((text) => keyOf(merchantId, text + referenceId)),
      )
    }
    const { events } = await store.readAll({ maxCount: 100 })
    t.equal(events.length, creates.length)
    const texts = JSON.stringify(events, (_, value) => (typeof value === 'bigint' ? String(value) : value))
    t.notOk(texts.includes(hashCode('sk_one', '100', 'a')), 'no event contains a hashCode')
    t.equal(events.at(-1)?.data.hashId, hashIdOf(merchantId, hashCode('sk_one', '100.00', 'c')))
  }
})

t.test('reads only after a conflict on EventStoreDB', async (t) => {
  const { store: served, url, stop } = await serve({ directory: tempDirectory(t) })
  const store = openEventStoreDb({ url })
  t.teardown(async () => {
    await store.close()
    await stop()
  })
  const { create } = newMerchant(store)
  const send = (referenceId: string) => create({ kind: 'deposit', amount: '100', referenceId, hashed: '100.00' })
  await send('the first append opens the connection')
  const appends = t.capture(served, 'append', served.append)
  const streamReads = t.capture(served.reader, 'view', served.reader.view)
  const logReads = t.capture(served.reader, 'allPage', served.reader.allPage)
  const calls = () => [appends().length, streamReads().length + logReads().length]
  for (const referenceId of ['r', '0', '10', randomUUID()]) {
    t.match(await send(referenceId), isNew)
    t.strictSame(calls(), [3, 0], referenceId)
  }
  t.match(await send('r'), isRepeat)
  t.strictSame(calls(), [3, 4], 'a repeat: its two texts, its transfer, and the keys that its creation names')
})

for (const engine of ['embedded', 'EventStoreDB'] as const) {
  t.test(engine, async (t) => {
    const store = await openUntilEnd(t, engine)

    t.test('returns the first transfer for a repeat and appends nothing', async (t) => {
      const { create } = newMerchant(store)
      for (const kind of kinds) {
        for (const hashed of ['100', '100.00', undefined]) {
          const body = { kind, amount: '100', referenceId: randomUUID(), ...(hashed && { hashed }) }
          const first = await create(body)
          t.match(first, isNew)
          const before = await countEvents(store)
          t.strictSame(await create(body), { ...first, changed: false })
          t.equal(await countEvents(store), before)
          t.match(await create({ ...body, amount: '101' }), isConflict, 'a different amount is a conflict')
          t.equal(await countEvents(store), before)
        }
      }
    })

    t.test('rejects a hash of the other kind, even after a secret rotation', async (t) => {
      for (const kind of kinds) {
        for (const secret of ['sk_one', 'sk_two']) {
          for (const first of [undefined, '100', '100.00', '100.0']) {
            const { create } = newMerchant(store)
            const created = { kind, amount: '100.0', referenceId: 'r', ...(first && { hashed: first }) }
            t.match(await create(created), isNew)
            // The hashes of the request and of its callback are published.
            for (const hashed of new Set([first ?? '100', '100'])) {
              const forged = { kind: otherKind[kind], amount: hashed, referenceId: 'r', hashed, secret }
              t.match(await create(forged), isReused, `${kind} ${first}, then ${hashed} with ${secret}`)
            }
            t.match(await create({ ...created, secret }), isRepeat)
          }
        }
      }
    })

    t.test('rejects a hash whose text also splits into the amount and referenceId of another transfer', async (t) => {
      const { create } = newMerchant(store)
      t.match(await create({ kind: 'deposit', amount: '10', referenceId: '0r' }), isNew)
      // The text of the callback's hash is `100r`, which also splits into 10 and 0r.
      t.match(await create({ kind: 'deposit', amount: '100.00', referenceId: 'r', hashed: '100.00' }), isReused)
      t.match(await create({ kind: 'deposit', amount: '1', referenceId: '23', hashed: '1' }), isNew)
      t.match(await create({ kind: 'deposit', amount: '12', referenceId: '3', hashed: '12' }), isReused)
      t.match(await create({ kind: 'deposit', amount: '4', referenceId: '0.5é', hashed: '4' }), isNew)
      t.match(await create({ kind: 'withdrawal', amount: '40.5', referenceId: 'é', hashed: '40.5' }), isReused)
    })

    t.test('accepts a create whose text contains the referenceId of a transfer with a different amount', async (t) => {
      const { create } = newMerchant(store)
      for (const referenceId of ['0r', '00r'])
        t.match(await create({ kind: 'deposit', amount: '7', referenceId }), isNew)
      t.match(await create({ kind: 'deposit', amount: '100', referenceId: 'r', hashed: '100' }), isNew)
    })

    t.test('rejects a repeat in a different spelling whose text belongs to another transfer', async (t) => {
      const one = newMerchant(store)
      const send = ({ create }: typeof one, referenceId: string, text: string) =>
        create({ kind: 'deposit', amount: text, referenceId, hashed: text })
      const two = newMerchant(store)
      t.match(await send(one, '1', '1'), isNew)
      t.match(await send(one, '01', '1.0'), isNew)
      t.match(await send(two, '01', '1.0'), isNew)
      t.match(await send(two, '1', '1'), isNew)
      for (const merchant of [one, two]) {
        t.match(await send(merchant, '1', '1.00'), isReused, '1.001 is the text of 1.0 with 01')
        t.match(await send(merchant, '1', '1.0'), isRepeat)
        t.match(await send(merchant, '1', '1'), isRepeat)
        t.match(await send(merchant, '01', '1.0'), isRepeat)
      }
    })

    t.test('accepts one of two concurrent creates that share a hash', async (t) => {
      for (let round = 0; round < (long ? 20 : 5); round++) {
        const referenceId = randomUUID()
        const pairs: Create[][] = [
          [
            { kind: 'deposit', amount: '100', referenceId },
            { kind: 'withdrawal', amount: '100', referenceId, hashed: '100', secret: 'sk_two' },
          ],
          [
            { kind: 'deposit', amount: '1', referenceId: `23${referenceId}`, hashed: '1' },
            { kind: 'withdrawal', amount: '12', referenceId: `3${referenceId}`, hashed: '12' },
          ],
        ]
        for (const pair of pairs) {
          const { create } = newMerchant(store)
          const results = await Promise.all(pair.map(create))
          t.equal(results.filter(({ accepted }) => accepted).length, 1)
          t.equal(results.filter((result) => !result.accepted && result.refusal.rule === 'hash-reused').length, 1)
        }
      }
    })

    t.test('never accepts two different requests with the same hash, in any sequence', async () => {
      const manyCreates = fc.array(anyCreate, { minLength: 2, maxLength: 25 })
      await fc.assert(
        fc.asyncProperty(manyCreates, fc.boolean(), async (creates, isConcurrent) => {
          const { create } = newMerchant(store)
          const ownerOf = new Map<string, string>()
          const send = async (body: (typeof creates)[number]) => {
            const { kind, amount, referenceId, secret } = body
            const amountMinor = parseAmount(amount)!
            const shortest = formatShortest(amountMinor)
            const texts = { raw: amount, shortest, 'two decimals': formatTwoDecimals(amountMinor), none: undefined }
            const hashed = texts[body.hashed]
            const result = await create({ kind, amount, referenceId, secret, ...(hashed && { hashed }) })
            if (!result.accepted) return
            // Two hashes belong to a transfer: that of its create request and that of its callback.
            for (const text of [...(result.changed && hashed ? [hashed] : []), shortest]) {
              const request = `${kind} ${amountMinor} ${referenceId}`
              const owner = ownerOf.get(text + referenceId) ?? request
              if (owner !== request) throw new Error(`${text + referenceId} belongs to both ${owner} and ${request}`)
              ownerOf.set(text + referenceId, request)
            }
          }
          if (isConcurrent) await Promise.all(creates.map(send))
          else for (const body of creates) await send(body)
        }),
        { numRuns: long ? 40 : 8 },
      )
    })

    t.test('recognizes only the original hash after the secret has changed', async (t) => {
      const { merchantId, create } = newMerchant(store)
      const body = { kind: 'withdrawal', amount: '100.00', referenceId: 'r', hashed: '100.00' } as const
      t.match(await create(body), isNew)
      const findRepeated = (secret: string, amountText: string) => {
        const unproven = { hashCode: hashCode(secret, amountText, 'r'), amountText }
        return commandsOn(store).findRepeated(withdrawalOf(merchantId, body), unproven)
      }
      t.match(await findRepeated('sk_one', '100.00'), { referenceId: 'r' })
      t.equal(await findRepeated('sk_two', '100.00'), undefined)
      t.equal(await findRepeated('sk_one', '100'), undefined, 'a different spelling has a different hash')
    })
  })
}

/** Moves a log to a different engine. */
const moves = {
  'in the same directory': async (t: Test, { directory }: SourceLog, to: Engine) => openUntilEnd(t, to, directory),
  'by a copy': async (t: Test, { store }: SourceLog, to: Engine) => {
    const target = await openUntilEnd(t, to)
    await copyLog({ source: store, target, signal: new AbortController().signal, onProgress: () => {} })
    return target
  },
}
type SourceLog = { readonly store: EventStore; readonly directory: string }

for (const [from, to] of [
  ['embedded', 'EventStoreDB'],
  ['EventStoreDB', 'embedded'],
] as const) {
  for (const [how, move] of Object.entries(moves)) {
    t.test(`a log that was created on ${from} keeps its hashes on ${to}, moved ${how}`, async (t) => {
      const directory = tempDirectory(t)
      const source = { store: await openUntilEnd(t, from, directory), directory }
      const merchantId = randomUUID()
      const created = ['1', '1.00', undefined].map((hashed, index) => {
        return { kind: 'deposit', amount: '1.00', referenceId: `${index}23`, ...(hashed && { hashed }) } as const
      })
      const before = newMerchant(source.store, merchantId)
      for (const each of created) t.match(await before.create(each), isNew)
      t.match(await before.create({ ...created[0]!, hashed: '1.0' }), isRepeat)
      const target = await move(t, source, to)
      const { create } = newMerchant(target, merchantId)
      const events = await countEvents(target)
      for (const { referenceId, ...rest } of created) {
        for (const secret of ['sk_one', 'sk_two']) {
          const forged = { kind: 'withdrawal', amount: '1', referenceId, hashed: '1', secret } as const
          t.match(await create(forged), isReused)
          const shifted = { amount: `1${referenceId[0]}`, referenceId: '23', hashed: `1${referenceId[0]}` } as const
          t.match(await create({ ...forged, ...shifted }), isReused)
          t.match(await create({ ...rest, referenceId, secret }), isRepeat)
        }
      }
      const ofRepeat = { kind: 'withdrawal', amount: '1', referenceId: '.0023', hashed: '1' } as const
      t.match(await create(ofRepeat), isReused, 'the text of the repeat with 1.0')
      t.equal(await countEvents(target), events, 'no event is appended')
      t.match(await create({ kind: 'withdrawal', amount: '2', referenceId: '023', hashed: '2' }), isNew)
    })
  }
}

for (const engine of ['embedded', 'EventStoreDB'] as const) {
  t.test(`a repeat in a new form of the amount reserves its text once, on ${engine}`, async (t) => {
    const store = await openUntilEnd(t, engine)
    const { merchantId, create } = newMerchant(store)
    const body = { kind: 'deposit', amount: '100', referenceId: 'r' } as const
    t.match(await create({ ...body, hashed: '100' }), isNew)
    for (const hashed of ['100.00', '100.00', '100', '100.0', '100.00'])
      t.match(await create({ ...body, hashed }), isRepeat)
    const { events } = await store.readAll({ maxCount: 100 })
    t.strictSame(
      events.map(({ type, data }) => [type, data.amountTexts]),
      [
        ['DepositCreated', undefined],
        ['HashCodeSeen', ['100.00']],
        ['HashCodeSeen', ['100.0']],
      ],
    )
    const keys = events.slice(1).map(({ metadata }) => [metadata.$reserves, metadata.$reservedFor])
    const owner = transferStream(trackingIdOf(merchantId, 'deposit', 'r'))
    t.strictSame(keys, [
      [[keyOf(merchantId, '100.00r')], owner],
      [[keyOf(merchantId, '100.0r')], owner],
    ])
    t.match(await create({ kind: 'deposit', amount: '10', referenceId: '0.0r' }), isReused)
  })
}

for (const engine of ['embedded', 'EventStoreDB'] as const) {
  t.test(
    `a transfer that is created again after its creation was skipped reserves its texts, on ${engine}`,
    async (t) => {
      const log = await openUntilEnd(t, engine)
      const merchantId = randomUUID()
      const stream = transferStream(trackingIdOf(merchantId, 'deposit', 'r'))
      await log.append(stream, 'no_stream', [{ id: randomUUID(), type: 'Foreign', data: {}, metadata: {} }])
      const onLog = () => newMerchant(skipEvents(log), merchantId)
      const body = { kind: 'deposit', amount: '100', referenceId: 'r', hashed: '100.00' } as const
      await t.rejects(onLog().create(body), { name: 'UnreadableEventError' })
      await skipEvent({ store: skipEvents(log), clock }, { stream, revision: 0, reason: 'a test' }, context)
      t.match(await onLog().create(body), isNew)
      t.match(await onLog().create(body), isRepeat)
      const claims = await log.readAll({ maxCount: 100, streamPrefixes: ['hash-'] })
      t.strictSame(
        claims.events.map(({ data }) => data.amountTexts),
        [['100'], ['100.00']],
      )
      for (const hashed of ['100', '100.00'])
        t.match(await onLog().create({ kind: 'withdrawal', amount: '100', referenceId: 'r', hashed }), isReused)

      const taken = transferStream(trackingIdOf(merchantId, 'withdrawal', 'taken'))
      await log.append(taken, 'no_stream', [{ id: randomUUID(), type: 'Foreign', data: {}, metadata: {} }])
      await skipEvent({ store: skipEvents(log), clock }, { stream: taken, revision: 0, reason: 'a test' }, context)
      t.match(await onLog().create({ ...body, referenceId: 'taken' }), isNew)
      t.match(await onLog().create({ ...body, kind: 'withdrawal', referenceId: 'taken' }), isReused)
      t.equal((await log.readStream(taken)).length, 1, 'a transfer whose text is taken is not created')
    },
  )
}

t.test(
  'completes a create that was lost after its keys were reserved, also with a different secret or form',
  async (t) => {
    const { store: served, url, stop } = await serve({ directory: tempDirectory(t) })
    const store = openEventStoreDb({ url })
    t.teardown(async () => {
      await store.close()
      await stop()
    })
    for (const hashed of ['100.00', '100', '100.0']) {
      const merchantId = randomUUID()
      const body = { kind: 'withdrawal', amount: '100', referenceId: 'r', hashed: '100.00' } as const
      const { create } = newMerchant(store, merchantId)
      const { append } = served
      served.append = (stream, ...rest) => {
        if (stream.startsWith('transfer-')) return Promise.reject(new StoreUnavailableError('lost'))
        return append.call(served, stream, ...rest)
      }
      await t.rejects(create(body), { name: 'StoreUnavailableError' })
      served.append = append
      t.match(await create({ kind: 'deposit', amount: '100', referenceId: 'r' }), isReused)
      const repeats = [body, { ...body, secret: 'sk_two', hashed }]
      t.match(await create(repeats[1]!), isNew)
      for (const repeat of repeats) t.match(await create(repeat), isRepeat)
    }
  },
)
