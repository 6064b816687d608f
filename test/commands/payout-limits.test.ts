import { spawn } from 'node:child_process'
import { randomUUID } from 'node:crypto'
import { once } from 'node:events'
import { createInterface } from 'node:readline'
import { fileURLToPath } from 'node:url'
import { tempDirectory } from '@transferd/event-log/test/support/temp-directory'
import fc from 'fast-check'
import t, { type Test } from 'tap'
import type { TransferAction } from '../../src/commands/transfer/transfer-requests.js'
import type { TransferCommands } from '../../src/commands/transfer/transfers.js'
import type { PayoutEvent } from '../../src/domain/counted-payouts.js'
import type { MerchantSettings } from '../../src/domain/merchant/merchant-events.js'
import { payoutsStream } from '../../src/domain/streams.js'
import type { WithdrawalLimit } from '../../src/domain/withdrawal-limits.js'
import { encodeEvent } from '../../src/event-store/event-codec.js'
import { type EventStore, StoreUnavailableError } from '../../src/event-store/event-store.js'
import { readEvent } from '../../src/event-store/read-event.js'
import { addMs, dayMs, hourMs, minuteMs } from '../../src/kernel/time.js'
import { withdrawalRequest } from '../domain/transfer-samples.js'
import { settableClock } from '../support/embedded-store.js'
import { openTestEventStore } from '../support/event-store.js'
import { long } from '../support/long.js'
import { merchantSettings } from '../support/merchant-requests.js'
import { transferCommands } from '../support/transfer-commands.js'

const start = '2026-03-01T10:00:00.000Z'
const { merchantId } = withdrawalRequest
const perAccount = (count: number): WithdrawalLimit => ({ per: 'account', hours: 24, count, amountMinor: null })
const currency = { code: 'EUR', decimals: 2 } as const
const as = (actor: string) => ({ actor, $correlationId: 'c', $causationId: 'c' })

async function storeOf(t: Test): Promise<EventStore> {
  const store = await openTestEventStore(tempDirectory(t))
  t.teardown(() => store.close())
  return store
}

function worldOf(store: EventStore, changes: Partial<MerchantSettings> = {}) {
  const time = settableClock(start)
  let settings: MerchantSettings = { ...merchantSettings, ...changes }
  const node = () => transferCommands(store, time.clock, async () => settings)
  const transfers = node()
  let created = 0
  const create = async (request: Partial<typeof withdrawalRequest> = {}) => {
    const referenceId = `order-${created++}`
    const result = await transfers.create({ ...withdrawalRequest, referenceId, ...request }, as('merchant:m'))
    if (!result.accepted) throw new Error(result.refusal.rule)
    return result.transfer.trackingId
  }
  return {
    ...time,
    transfers,
    node,
    create,
    change: (next: Partial<MerchantSettings>) => {
      settings = { ...settings, ...next }
    },
    after: (ms: number) => time.set(addMs(time.clock(), ms)),
    act: (trackingId: string, type: 'Claim' | 'Complete' | 'Approve' | 'Release', by: string) =>
      outcome(transfers, trackingId, { type }, by),
    cancel: (trackingId: string, by = 'user:ada') =>
      outcome(transfers, trackingId, { type: 'Cancel', message: null }, by),
    file: async (trackingIds: readonly string[], by: string) => {
      const underClaim = by.startsWith('user:')
      const request = { format: 'csv', trackingIds, timeZone: 'UTC', underClaim } as const
      const file = await transfers.produceBankFile(request, currency, as(by))
      return file.accepted ? 'done' : file.problems.map(({ rule }) => rule).join(' ')
    },
    counts: () => countsIn(store),
  }
}

/** Users of the dashboard settle under their own claims. */
async function outcome(transfers: TransferCommands, trackingId: string, action: TransferAction, by: string) {
  const acting = { underClaim: by.startsWith('user:') }
  const result = await transfers.act(trackingId, action, as(by), acting)
  return result.accepted ? (result.changed ? 'done' : 'nothing') : result.refusal.rule
}

async function countsIn(store: EventStore): Promise<readonly PayoutEvent[]> {
  return (await store.readStream(payoutsStream(merchantId))).map((each) => readEvent(each) as PayoutEvent)
}

t.test('a withdrawal beyond a limit is paid once a second person has approved it', async (t) => {
  const world = worldOf(await storeOf(t), { withdrawalLimits: [perAccount(1)] })
  const [first, second] = [await world.create(), await world.create()]
  t.equal(await world.act(first, 'Claim', 'user:ada'), 'done')
  t.equal(await world.act(first, 'Complete', 'user:ada'), 'done')
  t.equal(await world.act(second, 'Claim', 'user:ada'), 'done')
  const refused = await world.transfers.act(second, { type: 'Complete' }, as('user:ada'), { underClaim: true })
  const exceeded = [{ ...perAccount(1), actualCount: 2, actualMinor: 200_00n }]
  t.match(refused, { refusal: { rule: 'limit-exceeded', values: { amount: 100_00n, exceeded } } })
  t.equal(await world.act(second, 'Approve', 'user:ada'), 'four-eyes')
  t.equal(await world.act(second, 'Approve', 'user:bob'), 'done')
  t.equal(await world.act(second, 'Complete', 'user:bob'), 'claimed-by-another')
  t.equal(await world.act(second, 'Complete', 'user:ada'), 'done')
  t.match(await world.counts(), [
    { type: 'PayoutCounted', data: { trackingId: first, exceeded: [] } },
    { type: 'PayoutCounted', data: { trackingId: second, exceeded } },
  ])
  t.equal((await world.counts()).length, 2, 'a completion under the counted claim is not counted again')
  const log = JSON.stringify(await world.counts(), (_, value) => (typeof value === 'bigint' ? `${value}` : value))
  t.notMatch(log, withdrawalRequest.accountNumber)
  t.notMatch(log, withdrawalRequest.userId)
})

t.test('an approval before the claim holds, and its user cannot pay', async (t) => {
  const world = worldOf(await storeOf(t), { withdrawalLimits: [perAccount(1)] })
  const [first, second] = [await world.create(), await world.create()]
  t.equal(await world.act(second, 'Approve', 'user:bob'), 'approval-not-needed')
  t.equal(await world.act(first, 'Complete', 'cli:root'), 'done')
  t.equal(await world.act(second, 'Approve', 'user:bob'), 'done')
  t.equal(await world.act(second, 'Claim', 'user:bob'), 'four-eyes')
  t.equal(await world.act(second, 'Claim', 'user:ada'), 'done')
  t.equal(await world.act(second, 'Complete', 'user:ada'), 'done')
  t.equal((await world.counts()).length, 2, 'a refused claim is not counted')
})

t.test('accounts are compared in their plain form, and customers by their userId', async (t) => {
  const perCustomer = { ...perAccount(1), per: 'customer' } as const
  const world = worldOf(await storeOf(t), { withdrawalLimits: [perAccount(1)] })
  const spaced = withdrawalRequest.accountNumber.replace(/(.{4})/g, '$1 ').toLowerCase()
  const [first, second] = [await world.create(), await world.create({ accountNumber: spaced, userId: 'other' })]
  t.equal(await world.act(first, 'Complete', 'cli:root'), 'done')
  t.equal(await world.act(second, 'Complete', 'cli:root'), 'limit-exceeded')
  world.change({ withdrawalLimits: [perCustomer] })
  t.equal(await world.act(second, 'Complete', 'cli:root'), 'done')
  const third = await world.create({ accountNumber: 'TR320010009999901234567890' })
  t.equal(await world.act(third, 'Complete', 'cli:root'), 'limit-exceeded')
})

t.test(
  'every withdrawal of a bank file is counted, and a file with one beyond a limit is refused as a whole',
  async (t) => {
    const world = worldOf(await storeOf(t), { withdrawalLimits: [perAccount(2)] })
    const ids = [await world.create(), await world.create(), await world.create()]
    t.equal(await world.file(ids, 'cli:ada'), 'limit-exceeded')
    t.same(await world.counts(), [], 'a refused file counts nothing')
    t.equal(await world.file(ids.slice(0, 2), 'cli:ada'), 'done')
    t.equal(await world.act(ids[2]!, 'Approve', 'user:bob'), 'done')
    t.equal(await world.file(ids.slice(2), 'cli:ada'), 'done')
    for (const id of ids) t.equal(await world.act(id, 'Complete', 'cli:ada'), 'done')
    t.equal((await world.counts()).length, 3)
  },
)

t.test('claimed withdrawals are in a bank file as they were counted', async (t) => {
  const world = worldOf(await storeOf(t), { withdrawalLimits: [perAccount(2)] })
  const ids = [await world.create(), await world.create(), await world.create()]
  for (const id of ids) t.equal(await world.act(id, 'Claim', 'user:ada'), 'done')
  t.equal(await world.file(ids, 'user:ada'), 'limit-exceeded')
  t.equal(await world.file(ids.slice(0, 2), 'user:ada'), 'done')
  t.equal(await world.act(ids[2]!, 'Approve', 'user:bob'), 'done')
  t.equal(await world.file(ids.slice(2), 'user:ada'), 'done')
  t.equal((await world.counts()).length, 3)
  for (const id of ids) t.equal(await world.act(id, 'Complete', 'user:ada'), 'done')
  t.equal((await world.counts()).length, 3)
})

t.test('each new claim is counted at its time, and a renewed one is not', async (t) => {
  const world = worldOf(await storeOf(t), { withdrawalLimits: [perAccount(1)] })
  const [first, second] = [await world.create(), await world.create()]
  t.equal(await world.act(first, 'Claim', 'user:ada'), 'done')
  world.after(12 * minuteMs)
  t.equal(await world.act(first, 'Claim', 'user:ada'), 'done')
  t.equal((await world.counts()).length, 1, 'a renewal')
  // Another payout starts while the first is running.
  t.equal(await world.act(second, 'Claim', 'user:bob'), 'done')
  t.equal(await world.act(first, 'Complete', 'user:bob'), 'claimed-by-another')
  world.after(20 * minuteMs)
  // The first claim was within the limit. It has ended, and with the second payout the next one is not.
  t.equal(await world.act(first, 'Complete', 'user:ada'), 'claim-expired')
  t.equal(await world.act(first, 'Claim', 'user:ada'), 'done')
  t.equal(await world.act(first, 'Complete', 'user:ada'), 'limit-exceeded')
  world.after(dayMs)
  t.equal(await world.act(first, 'Claim', 'user:ada'), 'done')
  t.equal(await world.act(first, 'Complete', 'user:ada'), 'done')
})

t.test('a payment of more than was counted is counted again', async (t) => {
  const world = worldOf(await storeOf(t), { withdrawalLimits: [{ ...perAccount(9), amountMinor: 150_00n }] })
  const id = await world.create()
  t.equal(await world.act(id, 'Claim', 'user:ada'), 'done')
  const pay = (amountMinor: bigint) => {
    const amounts = { transactionAmountMinor: amountMinor, confirmedAmountMinor: amountMinor }
    return outcome(world.transfers, id, { type: 'Complete', ...amounts }, 'user:ada')
  }
  t.equal(await pay(150_01n), 'limit-exceeded')
  t.equal(await pay(150_00n), 'done')
  t.match(
    (await world.counts()).map(({ data }) => data),
    [{ amountMinor: 100_00n }, { amountMinor: 150_00n }],
  )
})

t.test('a withdrawal that is cancelled no longer counts, and one that was never paid never did', async (t) => {
  const world = worldOf(await storeOf(t), { withdrawalLimits: [perAccount(1)] })
  const [first, second, third] = [await world.create(), await world.create(), await world.create()]
  t.equal(await world.cancel(third!), 'claim-needed')
  t.equal(await world.cancel(third!, 'cli:root'), 'done')
  t.equal(await world.act(first!, 'Claim', 'user:ada'), 'done')
  t.equal(await world.cancel(first!), 'done')
  t.match(await world.counts(), [{ type: 'PayoutCounted' }, { type: 'PayoutUncounted', data: { trackingId: first } }])
  t.equal(await world.act(second!, 'Claim', 'user:ada'), 'done')
  t.equal(await world.act(second!, 'Complete', 'user:ada'), 'done')
})

t.test('a repeated cancellation ends the count that the first one could not end', async (t) => {
  const store = await storeOf(t)
  let isAvailable = false
  const world = worldOf(
    {
      ...store,
      appendInOrder: async (appends) => {
        const types = appends.flatMap(({ events }) => events.map(({ type }) => type))
        if (types.includes('PayoutUncounted') && !isAvailable) throw new StoreUnavailableError('no response')
        return store.appendInOrder(appends)
      },
    },
    { withdrawalLimits: [perAccount(1)] },
  )
  const id = await world.create()
  t.equal(await world.act(id, 'Claim', 'user:ada'), 'done')
  t.equal(await world.cancel(id), 'done', 'the cancellation is in the log')
  t.match(await world.counts(), [{ type: 'PayoutCounted' }])
  isAvailable = true
  t.equal(await world.cancel(id), 'nothing')
  t.match(await world.counts(), [{ type: 'PayoutCounted' }, { type: 'PayoutUncounted' }])
})

t.test('the threshold over a day is a limit, next to the one of a single withdrawal', async (t) => {
  const world = worldOf(await storeOf(t), { approvalAboveMinor: 250_00n, approvalOverDay: true })
  const ids = [await world.create(), await world.create(), await world.create({ amountMinor: 50_01n })]
  for (const id of ids.slice(0, 2)) t.equal(await world.act(id, 'Complete', 'cli:root'), 'done')
  t.equal(await world.act(ids[2]!, 'Complete', 'cli:root'), 'limit-exceeded')
  world.change({ approvalOverDay: false })
  t.equal(await world.act(ids[2]!, 'Complete', 'cli:root'), 'done')
})

t.test('limits that are set during a claim apply to its payment, and removed ones to none', async (t) => {
  const world = worldOf(await storeOf(t))
  const ids = [await world.create(), await world.create(), await world.create()]
  for (const id of ids) t.equal(await world.act(id, 'Claim', 'user:ada'), 'done')
  world.change({ withdrawalLimits: [perAccount(1)] })
  t.equal(await world.act(ids[0]!, 'Complete', 'user:ada'), 'done')
  t.equal(await world.act(ids[1]!, 'Complete', 'user:ada'), 'limit-exceeded')
  world.change({ withdrawalLimits: [] })
  t.equal(await world.act(ids[1]!, 'Complete', 'user:ada'), 'done')
  world.change({ withdrawalLimits: [perAccount(1)] })
  t.equal(await world.act(ids[2]!, 'Complete', 'user:ada'), 'limit-exceeded', 'the log has the count')
})

t.test('a node that starts decides the same, and reads only the last 30 days', async (t) => {
  const store = await storeOf(t)
  const world = worldOf(store, { withdrawalLimits: [perAccount(1), { ...perAccount(601), hours: 720 }] })
  const first = await world.create()
  t.equal(await world.act(first, 'Complete', 'cli:root'), 'done')
  world.after(31 * dayMs)
  const second = await world.create()
  t.equal(await world.act(second, 'Claim', 'cli:root'), 'done')
  const counted = (await world.counts()).at(-1)
  if (counted?.type !== 'PayoutCounted') throw new Error('no count')
  const counts = Array.from({ length: 1200 }, () => {
    world.after(hourMs)
    return encodeEvent({ type: 'PayoutCounted', data: { ...counted.data, at: world.clock() } }, as('cli:root'))
  })
  await store.append(payoutsStream(merchantId), 1, counts)

  const reads: number[] = []
  const counting: EventStore = {
    ...store,
    async readStream(stream, options) {
      const events = await store.readStream(stream, options)
      if (stream === payoutsStream(merchantId)) reads.push(events.length)
      return events
    },
  }
  const cold = transferCommands(counting, world.clock, async () => ({
    ...merchantSettings,
    withdrawalLimits: [perAccount(1)],
  }))
  const third = await world.create()
  t.equal(await outcome(cold, third, { type: 'Complete' }, 'cli:root'), 'limit-exceeded')
  t.strictSame(reads, [500, 500], 'two pages cover the 720 hours')
  t.equal(await outcome(cold, third, { type: 'Complete' }, 'cli:root'), 'limit-exceeded')
  t.strictSame(reads, [500, 500, 0], 'then only newer events')
  t.equal(await world.act(third, 'Complete', 'cli:root'), 'limit-exceeded')
})

t.test('without limits, nothing is appended or read in addition', async (t) => {
  const store = await storeOf(t)
  const calls: string[] = []
  const noted = (call: string, stream: string) => calls.push(`${call} ${stream.slice(0, stream.indexOf('-'))}`)
  const noting: EventStore = {
    ...store,
    append(stream, revision, events) {
      noted('append', stream)
      return store.append(stream, revision, events)
    },
    appendInOrder(appends, options) {
      for (const { stream } of appends) noted('append', stream)
      return store.appendInOrder(appends, options)
    },
    readStream(stream, options) {
      noted('read', stream)
      return store.readStream(stream, options)
    },
  }
  const callsOf = async (task: () => Promise<unknown>) => {
    calls.length = 0
    await task()
    return [...calls]
  }
  const world = worldOf(noting)
  let id = ''
  const create = async () => {
    id = await world.create()
  }
  const created = await callsOf(create)
  t.strictSame(created, ['append transfer'])
  t.strictSame(await callsOf(() => world.act(id, 'Claim', 'user:ada')), [
    'read integrity',
    'read transfer',
    'append transfer',
  ])
  t.strictSame(await callsOf(() => world.act(id, 'Complete', 'user:ada')), [
    'read integrity',
    'read transfer',
    'append transfer',
  ])
  world.change({ withdrawalLimits: [perAccount(1)] })
  t.strictSame(await callsOf(create), created, 'a create costs the same with limits')
})

t.test(
  'of a hundred simultaneous claims on two nodes, exactly those within the limit can be paid by one person',
  async (t) => {
    const world = worldOf(await storeOf(t), { withdrawalLimits: [perAccount(40)] })
    const nodes = [world.node(), world.node()]
    const ids: string[] = []
    for (let n = 0; n < 100; n++) ids.push(await world.create())
    const claim = async (id: string, n: number): Promise<void> => {
      // Too many conflicts: the caller repeats the request.
      const done = await outcome(nodes[n % 2]!, id, { type: 'Claim' }, 'user:ada').catch(() => undefined)
      if (done === undefined) await claim(id, n)
    }
    await Promise.all(ids.map(claim))
    const outcomes = await Promise.all(ids.map((id) => world.act(id, 'Complete', 'user:ada')))
    t.equal(outcomes.filter((each) => each === 'done').length, 40)
    t.equal(outcomes.filter((each) => each === 'limit-exceeded').length, 60)
  },
)

const program = fileURLToPath(new URL('./payout-process.js', import.meta.url))

async function run(directory: string, actor: string, stop: 'stop' | 'on', ids: readonly string[]) {
  const child = spawn(process.execPath, [program, directory, actor, stop, ...ids], {
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  const ended = once(child, 'exit')
  const lines: { readonly trackingId: string; readonly isPaid: boolean }[] = []
  for await (const text of createInterface({ input: child.stdout })) lines.push(JSON.parse(text))
  const [, signal] = await ended
  return { lines, signal }
}

t.test(
  'a process that is killed between the count and the claim leaves the count, and no payout beyond the limit',
  async (t) => {
    const directory = tempDirectory(t)
    const store = await openTestEventStore(directory)
    t.teardown(() => store.close())
    const world = worldOf(store, { withdrawalLimits: [perAccount(3)] })
    world.set(new Date().toISOString())
    const ids = [await world.create(), await world.create(), await world.create(), await world.create()]
    t.match(await run(directory, 'user:ada', 'stop', ids.slice(0, 1)), { signal: 'SIGKILL' })
    t.match(await world.counts(), [{ type: 'PayoutCounted', data: { trackingId: ids[0] } }])
    t.match(
      (await world.transfers.history(ids[0]!)).map(({ event }) => event.type),
      ['WithdrawalCreated'],
    )
    const paid = async (from: readonly string[]) =>
      (await run(directory, 'user:ada', 'on', from)).lines
        .filter(({ isPaid }) => isPaid)
        .map(({ trackingId }) => trackingId)
    t.strictSame(await paid([ids[1]!, ids[0]!]), [ids[1], ids[0]])
    t.strictSame(await paid(ids.slice(2)), ids.slice(2, 3), 'the payout that started again counts once')
  },
)

const users = ['user:ada', 'user:bob', 'cli:root'] as const
const step = fc.record({
  withdrawal: fc.integer({ min: 0, max: 5 }),
  by: fc.constantFrom(...users),
  does: fc.constantFrom(
    'Claim',
    'Claim',
    'Complete',
    'Complete',
    'Approve',
    'Release',
    'Cancel',
    'file',
    'loosen',
    'tighten',
  ),
  afterMs: fc.constantFrom(0, minuteMs, 20 * minuteMs, 7 * hourMs),
})

t.test('whatever happens, a payment by one person alone was within every limit when its payout started', async (t) => {
  const store = await storeOf(t)
  const property = fc.asyncProperty(fc.array(step, { minLength: 5, maxLength: 30 }), async (steps) => {
    const ofRun = randomUUID()
    const limits: WithdrawalLimit[] = [
      { per: 'merchant', hours: 24, count: 3, amountMinor: null },
      { per: 'account', hours: 24, count: null, amountMinor: 250_00n },
    ]
    const world = worldOf(store, { withdrawalLimits: limits })
    const accounts = ['TR330006100519786457841326', 'TR32 0010 0099 9990 1234 5678 90']
    const ids: string[] = []
    for (let each = 0; each < 6; each++)
      ids.push(await world.create({ merchantId: ofRun, accountNumber: accounts[each % 2]! }))
    let areLoose = false
    /** The start of the latest payout of each withdrawal, as the world saw it. */
    const started = new Map<string, { readonly at: string; readonly n: number; readonly isLoose: boolean }>()
    for (const [index, { withdrawal, by, does, afterMs }] of steps.entries()) {
      world.after(afterMs)
      const id = ids[withdrawal]!
      if (does === 'loosen' || does === 'tighten') {
        areLoose = does === 'loosen'
        world.change({ withdrawalLimits: areLoose ? [] : limits })
        continue
      }
      const before = await world.transfers.find(id)
      const result =
        does === 'file'
          ? await world.file([id], by)
          : does === 'Cancel'
            ? await world.cancel(id, by)
            : await world.act(id, does, by)
      const { transfer } = (await world.transfers.find(id))!
      if (before?.transfer.kind !== 'withdrawal' || transfer.kind !== 'withdrawal') throw new Error('not a withdrawal')
      const wasHeld = isHeld(before.transfer.payout, world.clock())
      const starts =
        result === 'done' &&
        ((does === 'file' && !wasHeld) || (does === 'Claim' && !wasHeld) || (does === 'Complete' && !wasHeld))
      if (starts) started.set(id, { at: world.clock(), n: index, isLoose: areLoose })
      if (result === 'done' && does === 'Cancel') started.delete(id)
      if (result !== 'done' || does !== 'Complete') continue
      const own = started.get(id)!
      if (own.isLoose || areLoose) continue
      const earlier = [...started].filter(([other, { at, n }]) => {
        return other !== id && n < own.n && Date.parse(own.at) - Date.parse(at) < 24 * hourMs
      })
      const counted = earlier.filter(([, { isLoose }]) => !isLoose)
      const sameAccount = counted.filter(([other]) => ids.indexOf(other) % 2 === withdrawal % 2)
      const isBeyond = counted.length + 1 > 3 || sameAccount.length + 1 > 2
      const { approval } = transfer.payout
      if (isBeyond && (approval === null || approval.by === by))
        throw new Error(`${by} paid withdrawal ${withdrawal} alone at step ${index}`)
    }
  })
  await fc.assert(property, { seed: 20_261, numRuns: long ? 500 : 60 })
  t.pass()
})

function isHeld(
  { claim, files }: { readonly claim: { readonly until: string } | null; readonly files: readonly unknown[] },
  at: string,
): boolean {
  return claim !== null && (files.length > 0 || at < claim.until)
}
