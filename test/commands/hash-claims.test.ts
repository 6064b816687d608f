import { randomUUID } from 'node:crypto'
import fc from 'fast-check'
import t from 'tap'
import { derivedEventId, hashIdOf } from '../../src/commands/ids.js'
import { TransferCommands, type TransferResult, type WithdrawalRequest } from '../../src/commands/transfer/transfers.js'
import { referencesIn, requestsIn } from '../../src/domain/hash-code.js'
import { formatShortest, formatTwoDecimals, parseAmount } from '../../src/domain/money.js'
import { hashStream } from '../../src/domain/streams.js'
import type { TransferKind } from '../../src/domain/transfer/transfer-events.js'
import type { EventStore } from '../../src/event-store/event-store.js'
import { hashCode } from '../../src/security/hash-code.js'
import { merchantId, settings } from '../domain/merchant-samples.js'
import { context, openTestStore } from '../support/embedded-store.js'

const at = '2026-03-01T10:00:00.000Z'
const other = { deposit: 'withdrawal', withdrawal: 'deposit' } as const

interface Create {
  readonly kind: TransferKind
  /** As it stands in the body. */
  readonly text: string
  readonly referenceId: string
  /** The text that is hashed; absent when there is no hash. */
  readonly hashed?: string
  readonly secret?: string
}

function create(store: EventStore, wanted: Create, more: Partial<WithdrawalRequest> = {}): Promise<TransferResult> {
  const { kind, text, referenceId, hashed, secret = 'sk_one' } = wanted
  const commands = new TransferCommands(
    store,
    () => at,
    async () => settings,
  )
  const hash =
    hashed === undefined ? {} : { hash: { hashCode: hashCode(secret, hashed, referenceId), amountText: hashed } }
  const request = {
    ...{
      merchantId,
      referenceId,
      amountMinor: parseAmount(text)!,
      userId: 'u',
      name: 'n',
      username: 'n',
      paymentMethod: 1,
      told: false,
    },
    ...hash,
    ...more,
  }
  return kind === 'deposit'
    ? commands.createDeposit({ ...request, channel: 'native', expiryMinutes: 30 }, context)
    : commands.createWithdrawal({ ...request, accountNumber: 'TR33', identityNumber: null }, context)
}

const reused = { accepted: false, refusal: { reason: 'hash-reused' } }
const isNew = { accepted: true, changed: true }
const isRepeat = { accepted: true, changed: false }

/** Of a merchant whose requests claim nothing. */
const unclaimed = { mayHaveUnclaimed: true }

/** As EventStoreDB is: its appends go one after the other, and others may come in between. */
function inOrderOnly({ appendsInOneTransaction: _, ...store }: EventStore): EventStore {
  return store
}

async function claims(store: EventStore) {
  return (await store.readAll({ streamPrefixes: ['hash-'], maxCount: 1_000 })).events
}

t.test('what joined texts stand for: every split into an amount and a referenceId', async (t) => {
  t.strictSame(requestsIn('123'), [
    { amountMinor: 100n, referenceId: '23' },
    { amountMinor: 1_200n, referenceId: '3' },
  ])
  t.strictSame(requestsIn('1.005a'), [
    { amountMinor: 100n, referenceId: '05a' },
    { amountMinor: 100n, referenceId: '5a' },
  ])
  t.strictSame(requestsIn('0'), [])
})

t.test('the referenceIds that a text may name are those of all requests in it', async (t) => {
  const text = fc.stringMatching(/^(0|[1-9]\d{0,13})(\.\d{1,3})?[0-9a.]{0,4}$/)
  fc.assert(
    fc.property(text, (joined) => {
      const named = new Set(referencesIn(joined))
      return requestsIn(joined).every(({ referenceId }) => named.has(referenceId))
    }),
  )
  t.strictSame(referencesIn('100r'), ['00r', '0r', 'r'])
  t.strictSame(referencesIn('100.00r'), ['0r', 'r'])
})

t.test('a repeat in another text is refused where that text stands for another request', async (t) => {
  for (const more of [{}, unclaimed]) {
    const store = await openTestStore(t)
    const ask = (referenceId: string, text: string) =>
      create(store, { kind: 'deposit', text, referenceId, hashed: text }, more)
    t.match(await ask('1', '1'), isNew)
    t.match(await ask('01', '1.0'), more === unclaimed ? reused : isNew, 'as 1.001 is 1.00 for 1 as well')
    const other = await openTestStore(t)
    const askThere = (referenceId: string, text: string) =>
      create(other, { kind: 'deposit', text, referenceId, hashed: text }, more)
    t.match(await askThere('01', '1.0'), isNew)
    t.match(await askThere('1', '1'), isNew)
    t.match(await askThere('1', '1.00'), reused)
    t.match(await askThere('1', '1.0'), isRepeat)
    t.match(await askThere('1', '1'), isRepeat)
    t.match(await askThere('01', '1.0'), isRepeat)
  }
})

t.test('a create in the shortest text makes one claim, with or without a hash; in another text two', async (t) => {
  const store = await openTestStore(t)
  t.match(await create(store, { kind: 'deposit', text: '100', referenceId: 'a', hashed: '100' }), isNew)
  t.equal((await claims(store)).length, 1)
  t.match(await create(store, { kind: 'deposit', text: '100', referenceId: 'b' }), isNew)
  t.equal((await claims(store)).length, 2)
  t.match(await create(store, { kind: 'deposit', text: '100', referenceId: 'c', hashed: '100.00' }), isNew)
  t.equal((await claims(store)).length, 4)
  t.notOk(
    JSON.stringify(await claims(store), (_, value) => (typeof value === 'bigint' ? String(value) : value)).includes(
      hashCode('sk_one', '100', 'a'),
    ),
    'no hash is kept',
  )
})

t.test('where one append asks for all that a hash may stand for, a create claims nothing', async (t) => {
  const store = await openTestStore(t)
  const wanted = { kind: 'deposit', text: '100', referenceId: 'c', hashed: '100.00' } as const
  t.match(await create(store, wanted, unclaimed), isNew)
  const { events } = await store.readAll({ maxCount: 10 })
  t.equal(events.length, 1, 'the transfer alone')
  t.equal(events[0]?.data.hashId, hashIdOf(merchantId, hashCode('sk_one', '100.00', 'c')))
  t.match(await create(store, wanted, unclaimed), isRepeat)
})

t.test('a hash makes one kind of transfer, also after the secret was rotated', async (t) => {
  for (const more of [{}, unclaimed])
    for (const kind of ['deposit', 'withdrawal'] as const) {
      for (const secret of ['sk_one', 'sk_two']) {
        for (const first of [undefined, '100', '100.00', '100.0']) {
          const store = await openTestStore(t)
          const made = { kind, text: '100.0', referenceId: 'r', ...(first && { hashed: first }) }
          t.match(await create(store, made, more), isNew)
          // What was seen of it: its own hash, and its callback's.
          for (const hashed of new Set([first ?? '100', '100'])) {
            const forged = { kind: other[kind], text: hashed, referenceId: 'r', hashed, secret }
            t.match(await create(store, forged, more), reused, `${kind} ${first}, then ${hashed} by ${secret}`)
          }
          t.match(await create(store, { ...made, secret }, more), isRepeat)
        }
      }
    }
})

t.test('of two creates at once on two nodes that share a hash, one is accepted', async (t) => {
  const store = await openTestStore(t)
  for (let round = 0; round < 20; round++) {
    const referenceId = randomUUID()
    const pairs: Create[][] = [
      [
        { kind: 'deposit', text: '100', referenceId },
        { kind: 'withdrawal', text: '100', referenceId, hashed: '100', secret: 'sk_two' },
      ],
      [
        { kind: 'deposit', text: '1', referenceId: `23${referenceId}`, hashed: '1' },
        { kind: 'withdrawal', text: '12', referenceId: `3${referenceId}`, hashed: '12' },
      ],
    ]
    for (const pair of pairs) {
      for (const more of [{}, { ...unclaimed, merchantId: randomUUID() }]) {
        const answers = await Promise.all(pair.map((each) => create(store, each, more)))
        t.equal(answers.filter(({ accepted }) => accepted).length, 1)
        t.equal(answers.filter((answer) => !answer.accepted && answer.refusal.reason === 'hash-reused').length, 1)
      }
    }
  }
})

t.test('a create that was cut off after its claim goes on, with another secret and another hash', async (t) => {
  const store = await openTestStore(t)
  let isCut = true
  const cutting = new Proxy(store, {
    get(target, name) {
      if (name !== 'appendInOrder') return Reflect.get(target, name)
      return async (appends: Parameters<EventStore['appendInOrder']>[0]) => {
        if (!isCut) return target.appendInOrder(appends)
        isCut = false
        await target.appendInOrder(appends.slice(0, -1))
        throw new Error('cut off')
      }
    },
  })
  const wanted = { kind: 'withdrawal', text: '100', referenceId: 'r', hashed: '100' } as const
  await t.rejects(create(cutting, wanted), /cut off/)
  t.match(await create(store, { kind: 'deposit', text: '100', referenceId: 'r' }), reused)
  t.match(await create(cutting, { ...wanted, secret: 'sk_two' }), isNew)
})

/** Few amounts and short references of digits, so that joined texts meet often. */
const anyCreate = fc.record({
  kind: fc.constantFrom<TransferKind>('deposit', 'withdrawal'),
  text: fc.constantFrom('1', '1.0', '1.00', '10', '12', '12.3', '12.30', '1.2', '1.23', '100', '2', '23'),
  referenceId: fc.stringMatching(/^[0-3]{1,3}$/),
  hashed: fc.constantFrom('raw', 'shortest', 'two decimals', 'none'),
  secret: fc.constantFrom('sk_one', 'sk_two'),
})

const manyCreates = fc.array(anyCreate, { minLength: 2, maxLength: 25 })

t.test('no two accepted creates of different kind, amount or referenceId share a hash, in any sequence', async (t) => {
  const store = await openTestStore(t)
  await fc.assert(
    fc.asyncProperty(manyCreates, fc.uuid(), fc.boolean(), async (creates, ownMerchant, mayHaveUnclaimed) => {
      const madeOf = new Map<string, string>()
      for (const wanted of creates) {
        const { kind, text, referenceId, secret } = wanted
        const amountMinor = parseAmount(text)!
        const texts = {
          raw: text,
          shortest: formatShortest(amountMinor),
          'two decimals': formatTwoDecimals(amountMinor),
        }
        const hashed = wanted.hashed === 'none' ? undefined : texts[wanted.hashed]
        const answer = await create(
          store,
          { kind, text, referenceId, secret, ...(hashed && { hashed }) },
          { merchantId: ownMerchant, mayHaveUnclaimed },
        )
        if (!answer.accepted) continue
        // The hash it was accepted with, when it is no repeat in another spelling, and its callback's.
        for (const seen of [...(answer.changed && hashed ? [hashed] : []), texts.shortest]) {
          const request = `${kind} ${amountMinor} ${referenceId}`
          const before = madeOf.get(seen + referenceId) ?? request
          if (before !== request) throw new Error(`${seen + referenceId} made ${before} and ${request}`)
          madeOf.set(seen + referenceId, request)
        }
      }
    }),
    { numRuns: 60 },
  )
})

/** As the version before requests claimed texts left it: the claim, if any, by hash and without kind; then the transfer. */
async function createdByTheVersionBefore(store: EventStore, made: Create): Promise<void> {
  const scratch = await openTestStore(t)
  t.match(await create(scratch, made), isNew)
  const [transfer] = (await scratch.readAll({ streamPrefixes: ['transfer-'], maxCount: 1 })).events
  const { stream, type, data, metadata } = transfer!
  const { hashed: amountText, referenceId, secret = 'sk_one' } = made
  if (amountText !== undefined) {
    const hash = hashCode(secret, amountText, referenceId)
    const id = derivedEventId(merchantId, `hashCode:${hash}:${amountText}|${referenceId}`)
    const seen = { merchantId, amountText, referenceId, at }
    const event = { id, type: 'HashCodeSeen', data: seen, metadata: { ...context, schemaVersion: 1 } }
    await store.append(hashStream(hashIdOf(merchantId, hash)), 'no_stream', [event]).catch(() => {})
  }
  await store.append(stream, 'no_stream', [{ id: randomUUID(), type, data, metadata }])
}

t.test('transfers of before there were claims keep their hashes to themselves, and are repeated', async (t) => {
  const old = unclaimed
  const texts = ['1', '1.00', undefined]
  for (const [hashed, isInOrderOnly] of texts.flatMap((text) => [true, false].map((only) => [text, only] as const))) {
    const opened = await openTestStore(t)
    const store = isInOrderOnly ? inOrderOnly(opened) : opened
    const made = { kind: 'deposit', text: '1.00', referenceId: '23', ...(hashed && { hashed }) } as const
    await createdByTheVersionBefore(store, made)
    for (const secret of ['sk_one', 'sk_two']) {
      const sameRequest = { kind: 'withdrawal', text: '1', referenceId: '23', hashed: '1', secret } as const
      t.match(await create(store, sameRequest, old), reused)
      t.match(
        await create(store, { ...sameRequest, kind: 'deposit', text: '12', referenceId: '3', hashed: '12' }, old),
        reused,
      )
      t.match(await create(store, { ...made, secret }, old), isRepeat)
    }
    t.match(
      await create(store, { kind: 'withdrawal', text: '2', referenceId: '23', hashed: '2' }, old),
      isNew,
      'another amount',
    )
  }
})

t.test('a deposit and a withdrawal that shared a hash before are both repeated', async (t) => {
  const opened = await openTestStore(t)
  const both = (['deposit', 'withdrawal'] as const).map((kind) => ({ kind, text: '1', referenceId: '23', hashed: '1' }))
  for (const each of both) await createdByTheVersionBefore(opened, each)
  for (const store of [opened, inOrderOnly(opened)])
    for (const each of [...both, ...both]) t.match(await create(store, each, unclaimed), isRepeat)
})

t.test('a reference that two readings of a text name is looked at with the amounts of both', async (t) => {
  const opened = await openTestStore(t)
  for (const store of [opened, inOrderOnly(opened)]) {
    const more = { ...unclaimed, merchantId: randomUUID() }
    t.match(await create(store, { kind: 'deposit', text: '10', referenceId: '0r' }, more), isNew)
    // `100r` is 10 with 0r, and `100.00r` is 100 with 0r.
    const wanted = { kind: 'deposit', text: '100.00', referenceId: 'r', hashed: '100.00' } as const
    t.match(await create(store, wanted, more), reused)
  }
})

t.test('a transfer with another amount under a reference that a text names stands in nobody’s way', async (t) => {
  const store = await openTestStore(t)
  for (const referenceId of ['0r', '00r'])
    t.match(await create(store, { kind: 'deposit', text: '7', referenceId }, unclaimed), isNew)
  t.match(await create(store, { kind: 'deposit', text: '100', referenceId: 'r' }, unclaimed), isNew)
})

t.test('a hashCode that no secret makes any more is known as the one that the transfer was created with', async (t) => {
  const store = await openTestStore(t)
  const wanted = { kind: 'withdrawal', text: '100.00', referenceId: 'r', hashed: '100.00' } as const
  t.match(await create(store, wanted, unclaimed), isNew)
  const commands = new TransferCommands(
    store,
    () => at,
    async () => settings,
  )
  const request = {
    ...{ merchantId, referenceId: 'r', amountMinor: 10_000n, userId: 'u', name: 'n', username: 'n', paymentMethod: 1 },
    ...{ accountNumber: 'TR33', identityNumber: null, told: false },
  }
  const before = (secret: string) =>
    commands.withdrawalBefore(request, { hashCode: hashCode(secret, '100.00', 'r'), amountText: '100.00' })
  t.match(await before('sk_one'), { referenceId: 'r' })
  t.equal(await before('sk_two'), undefined)
})
