import t from 'tap'
import { trackingIdOf } from '../../src/commands/ids.js'
import type { EventStore } from '../../src/event-store/event-store.js'
import { hashCode } from '../../src/security/api-keys.js'
import { merchantId, settings } from '../domain/merchant-samples.js'
import { depositRequest as deposit, withdrawalRequest as withdrawal } from '../domain/transfer-samples.js'
import { context, openTestStore, settableClock } from '../support/embedded-store.js'
import { transferCommands } from '../support/transfer-commands.js'

const at = '2026-03-01T10:00:00.000Z'
const trackingId = trackingIdOf(merchantId, 'deposit', deposit.referenceId)

const hashed = (amountText: string, referenceId: string) => ({
  hash: { hashCode: hashCode('sk_test', amountText, referenceId), amountText },
})

function commands(store: EventStore, changes: object = {}, clock = () => at) {
  return transferCommands(store, clock, async () => ({ ...settings, ...changes }))
}

async function logged(store: EventStore, prefix: string): Promise<string[]> {
  const { events } = await store.readAll({ streamPrefixes: [prefix], maxCount: 1_000 })
  return events.map((event) => event.type)
}

t.test('derives a stable trackingId from merchant, kind and referenceId', async (t) => {
  t.equal(trackingIdOf(merchantId, 'deposit', 'order-1001'), 'ec5e1c4a-1c46-52ac-89f7-82815a548533')
  t.equal(trackingIdOf(merchantId, 'withdrawal', 'order-1001'), '3c3b44ee-4533-5844-8fa6-5299867a876d')
})

t.test('finds a created deposit immediately, with its expiry and creator', async (t) => {
  const store = await openTestStore(t)
  const created = await commands(store).create(deposit, { ...context, actor: `merchant:${merchantId}` })
  t.match(created, { accepted: true, changed: true, transfer: { trackingId, expiresAt: '2026-03-01T10:30:00.000Z' } })
  const found = await commands(store).find(trackingId)
  t.equal(found?.revision, 0)
  t.strictSame(found?.transfer, created.accepted && created.transfer)
  const [event] = await store.readStream(`transfer-${trackingId}`)
  t.match(event?.metadata, { ...context, actor: `merchant:${merchantId}` })
})

t.test(
  'appends one event for 100 concurrent creates with one referenceId and returns the same result to all',
  async (t) => {
    const store = await openTestStore(t)
    const withHash = { ...deposit, ...hashed('100', deposit.referenceId) }
    const results = await Promise.all(Array.from({ length: 100 }, () => commands(store).create(withHash, context)))
    t.equal(results.filter((result) => result.accepted && result.changed).length, 1)
    t.ok(results.every((result) => result.accepted && result.transfer.trackingId === trackingId))
    t.strictSame(await logged(store, 'transfer-'), ['DepositCreated'])
  },
)

t.test('returns the first result for a repeated create, and reports a changed body as a conflict', async (t) => {
  const store = await openTestStore(t)
  const first = await commands(store).create(deposit, context)
  const again = await commands(store, {}, () => '2026-03-09T10:00:00.000Z').create(deposit, context)
  t.strictSame(again, { ...first, changed: false })
  const changed = await commands(store).create({ ...deposit, amountMinor: 10_001n }, context)
  t.match(changed, { accepted: false, refusal: { reason: 'conflict' } })
  t.strictSame(await logged(store, 'transfer-'), ['DepositCreated'])
})

t.test('allows two merchants to use the same referenceId and hash', async (t) => {
  const store = await openTestStore(t)
  const hash = hashed('100', deposit.referenceId)
  const other = '6f6a5c0e-52a1-4f0e-9d2b-0f0f5d3c1a12'
  const results = [
    await commands(store).create({ ...deposit, ...hash }, context),
    await commands(store).create({ ...deposit, ...hash, merchantId: other }, context),
  ]
  t.ok(results.every((result) => result.accepted && result.changed))
  t.equal(new Set(results.map((result) => result.accepted && result.transfer.trackingId)).size, 2)
})

t.test('rejects a hash reused for a different amount and referenceId, and creates no transfer', async (t) => {
  const store = await openTestStore(t)
  // The MD5 input has no delimiter, so "1" + "23" equals "12" + "3".
  const [first, second] = [hashed('1', '23'), hashed('12', '3')]
  t.equal(first.hash.hashCode, second.hash.hashCode)
  const one = await commands(store).create({ ...deposit, referenceId: '23', amountMinor: 100n, ...first }, context)
  t.match(one, { accepted: true, changed: true })
  const forged = { ...deposit, referenceId: '3', amountMinor: 1_200n, ...second }
  for (const { hash } of [second, { hash: { ...second.hash, hashCode: second.hash.hashCode.toLowerCase() } }]) {
    const two = await commands(store).create({ ...forged, hash }, context)
    t.match(two, { accepted: false, refusal: { rule: 'hash-reused' } })
  }
  t.strictSame(await logged(store, 'transfer-'), ['DepositCreated'])
  t.match(await commands(store).create({ ...deposit, referenceId: '23', amountMinor: 100n, ...first }, context), {
    accepted: true,
    changed: false,
  })
})

t.test('recognizes a repeat whose amount is written differently, although its hash differs', async (t) => {
  const store = await openTestStore(t)
  await commands(store).create({ ...deposit, ...hashed('100', deposit.referenceId) }, context)
  const again = await commands(store).create({ ...deposit, ...hashed('100.00', deposit.referenceId) }, context)
  t.match(again, { accepted: true, changed: false })
})

t.test(
  'appends one terminal event for 50 concurrent completions, cancellations and failures, and reports it to all',
  async (t) => {
    const store = await openTestStore(t)
    await commands(store).create(deposit, context)
    const ways = [
      () => commands(store).act(trackingId, { type: 'Complete' }, context),
      () => commands(store).act(trackingId, { type: 'Cancel', message: null }, context),
      () => commands(store).act(trackingId, { type: 'Fail', message: null }, context),
    ]
    const results = await Promise.all(Array.from({ length: 50 }, (_, index) => ways[index % 3]?.()))
    t.equal((await store.readStream(`transfer-${trackingId}`)).length, 2)
    t.equal(results.filter((result) => result?.accepted && result.changed).length, 1)
    const status = (await commands(store).find(trackingId))?.transfer.status
    for (const result of results) {
      if (result?.accepted) t.equal(result.transfer.status, status)
      else t.equal(result?.refusal.reason, 'conflict')
    }
  },
)

t.test('handles an amount mismatch according to the merchant’s settings', async (t) => {
  const store = await openTestStore(t)
  const completed = async (referenceId: string, changes: object) => {
    await commands(store).create({ ...deposit, referenceId }, context)
    const id = trackingIdOf(merchantId, 'deposit', referenceId)
    return commands(store, changes).act(
      id,
      { type: 'Complete', transactionAmountMinor: 9_950n, receiptUrl: 'r' },
      context,
    )
  }
  t.match(await completed('a', {}), { transfer: { status: 'Completed', hasAmountMismatch: true, receiptUrl: 'r' } })
  t.match(await completed('b', { mismatchToleranceMinor: 50n }), { transfer: { hasAmountMismatch: false } })
  t.match(await completed('c', { autoCancelMismatch: true }), {
    transfer: { status: 'Cancelled', hasAmountMismatch: true, transactionAmountMinor: 9_950n },
  })
})

t.test('decides a completion at the revision that is read after the settings', async (t) => {
  const store = await openTestStore(t)
  await commands(store).create(deposit, context)
  const slow = transferCommands(
    store,
    () => at,
    async () => {
      await commands(store).act(trackingId, { type: 'Cancel', message: 'cancelled first' }, context)
      return settings
    },
  )
  t.match(await slow.act(trackingId, { type: 'Complete' }, context), {
    accepted: false,
    refusal: { reason: 'conflict' },
  })
  t.match((await commands(store).find(trackingId))?.transfer, { status: 'Cancelled', message: 'cancelled first' })
})

t.test('refuses to change a missing transfer, and throws for a merchant without settings', async (t) => {
  const store = await openTestStore(t)
  const refused = { accepted: false, refusal: { reason: 'not-found' } }
  t.match(await commands(store).act(trackingId, { type: 'Complete' }, context), refused)
  t.match(await commands(store).act(trackingId, { type: 'Cancel', message: null }, context), refused)
  t.match(await commands(store).expire(trackingId, context), refused)
  t.equal(await commands(store).find(trackingId), undefined)
  await commands(store).create(deposit, context)
  const without = transferCommands(
    store,
    () => at,
    async () => undefined,
  )
  await t.rejects(without.act(trackingId, { type: 'Complete' }, context), /unknown merchant/)
})

t.test('never records a zero or negative amount, even if no caller checks it', async (t) => {
  const store = await openTestStore(t)
  await commands(store).create(deposit, context)
  for (const transactionAmountMinor of [0n, -1n, 10n ** 15n]) {
    const request = { transactionAmountMinor, confirmedAmountMinor: transactionAmountMinor }
    await t.rejects(commands(store).act(trackingId, { type: 'Complete', ...request }, context), {
      name: 'EventFormatError',
    })
  }
  await t.rejects(commands(store).create({ ...withdrawal, amountMinor: 0n }, context), {
    name: 'EventFormatError',
  })
  await commands(store).act(trackingId, { type: 'Cancel', message: null }, context)
  const received = { receivedAmountMinor: 10_000n, receiptUrl: null }
  await commands(store).receiveFunds(trackingId, 1, received, context)
  for (const amountMinor of [0n, -1n]) {
    const returned = { amountMinor, receiptUrl: 'https://bank.example/back' }
    await t.rejects(commands(store).act(trackingId, { type: 'ReturnFunds', ...returned }, context), {
      name: 'EventFormatError',
    })
  }
  t.strictSame(await logged(store, 'transfer-'), ['DepositCreated', 'TransferCancelled', 'LateFundsReceived'])
})

t.test('returns money once for concurrent requests, and never for a missing transfer', async (t) => {
  const store = await openTestStore(t)
  await commands(store).create(deposit, context)
  await commands(store).act(trackingId, { type: 'Cancel', message: null }, context)
  await commands(store).receiveFunds(trackingId, 1, { receivedAmountMinor: 9_500n, receiptUrl: null }, context)
  const returns = Array.from({ length: 20 }, (_, n) => {
    const receiptUrl = `https://bank.example/back/${n}`
    return commands(store).act(trackingId, { type: 'ReturnFunds', amountMinor: 5_000n, receiptUrl }, context)
  })
  t.equal((await Promise.all(returns)).filter((result) => result.accepted).length, 1)
  const again = { amountMinor: 4_500n, receiptUrl: 'https://bank.example/rest' }
  const repeated = Array.from({ length: 20 }, () =>
    commands(store).act(trackingId, { type: 'ReturnFunds', ...again }, context),
  )
  const results = await Promise.all(repeated)
  t.ok(results.every((result) => result.accepted))
  t.equal(results.filter((result) => result.accepted && result.changed).length, 1)
  t.equal((await logged(store, 'transfer-')).filter((type) => type === 'FundsReturned').length, 2)
  const unknown = '00000000-0000-4000-8000-000000000000'
  const refused = { accepted: false, refusal: { reason: 'not-found' } }
  t.match(await commands(store).act(unknown, { type: 'ReturnFunds', ...again }, context), refused)
  t.match(await commands(store).act(unknown, { type: 'ResolveAttention', reason: 'settled' }, context), refused)
})

t.test('expires a deposit once, at its time', async (t) => {
  const store = await openTestStore(t)
  const { clock, set } = settableClock(at)
  const timed = commands(store, {}, clock)
  await timed.create(deposit, context)
  t.match(await timed.expire(trackingId, context), { accepted: true, changed: false })
  set('2026-03-01T10:30:00.000Z')
  const results = await Promise.all(Array.from({ length: 10 }, () => timed.expire(trackingId, context)))
  t.equal(results.filter((result) => result.accepted && result.changed).length, 1)
  t.match((await timed.find(trackingId))?.transfer, { status: 'Cancelled', message: 'expired' })
})
