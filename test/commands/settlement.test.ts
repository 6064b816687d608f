import t, { type Test } from 'tap'
import { trackingIdOf } from '../../src/commands/ids.js'
import type { TransferResult } from '../../src/commands/transfer/transfer-requests.js'
import type { TransferCommands } from '../../src/commands/transfer/transfers.js'
import type { Change } from '../../src/domain/rule-values.js'
import type { EventStore } from '../../src/event-store/event-store.js'
import { addMs, minuteMs } from '../../src/kernel/time.js'
import { merchantId, settings } from '../domain/merchant-samples.js'
import { withdrawalRequest as withdrawal } from '../domain/transfer-samples.js'
import { context, openTestStore } from '../support/embedded-store.js'
import { transferCommands } from '../support/transfer-commands.js'

const at = '2026-03-01T10:00:00.000Z'
const trackingId = trackingIdOf(merchantId, 'withdrawal', withdrawal.referenceId)
const [ada, bob] = ['user:ada', 'user:bob'].map((actor) => ({ ...context, actor })) as [typeof context, typeof context]
const underClaim = true

async function withWithdrawal(t: Test) {
  const store = await openTestStore(t)
  const commands = commandsOn(store)
  await commands.create(withdrawal, context)
  return { store, commands }
}

function commandsOn(store: EventStore, clock = () => at) {
  return transferCommands(store, clock, async () => settings)
}

const typesOf = async (commands: TransferCommands) =>
  (await commands.history(trackingId)).map(({ event }) => event.type)
const changesIn = (result: TransferResult) =>
  result.accepted ? [] : (result.refusal.values.changes as readonly Change[]).map(({ type, by }) => [by, type])

t.test('rejects an action on an outdated revision and returns the events since', async (t) => {
  const { commands } = await withWithdrawal(t)
  await commands.act(trackingId, { type: 'Claim' }, ada, { revision: 0 })
  await commands.act(trackingId, { type: 'Release' }, ada, { revision: 1 })
  for (const result of [
    await commands.act(trackingId, { type: 'Claim' }, bob, { revision: 0 }),
    await commands.act(trackingId, { type: 'Complete' }, bob, { revision: 0 }),
    await commands.act(trackingId, { type: 'Cancel', message: 'no' }, bob, { revision: 0 }),
    await commands.act(trackingId, { type: 'Approve' }, bob, { revision: 0 }),
  ]) {
    t.match(result, { accepted: false, refusal: { rule: 'changed-meanwhile' } })
    t.strictSame(changesIn(result), [
      ['user:ada', 'WithdrawalClaimed'],
      ['user:ada', 'WithdrawalReleased'],
    ])
  }
  const ahead = await commands.act(trackingId, { type: 'Claim' }, bob, { revision: 7 })
  t.match(ahead, { accepted: false, refusal: { rule: 'changed-meanwhile', values: { changes: [] } } })
  t.equal((await typesOf(commands)).length, 3)
  t.match(await commands.act(trackingIdOf(merchantId, 'withdrawal', 'none'), { type: 'Claim' }, bob, { revision: 0 }), {
    refusal: { reason: 'not-found' },
  })
})

t.test('does not overwrite an event appended between the read and the write', async (t) => {
  const { store, commands } = await withWithdrawal(t)
  let first = true
  const overtaken = new Proxy<EventStore>(store, {
    get(target, property) {
      const value = Reflect.get(target, property)
      if (property !== 'appendInOrder') return typeof value === 'function' ? value.bind(target) : value
      return async (...appends: Parameters<EventStore['appendInOrder']>) => {
        if (first) {
          first = false
          await commands.act(trackingId, { type: 'Claim' }, ada, { revision: 0 })
        }
        return target.appendInOrder(...appends)
      }
    },
  })
  const result = await commandsOn(overtaken).act(trackingId, { type: 'Claim' }, bob, { revision: 0 })
  t.match(result, { accepted: false, refusal: { rule: 'changed-meanwhile' } })
  t.strictSame(changesIn(result), [['user:ada', 'WithdrawalClaimed']])
  t.strictSame(await typesOf(commands), ['WithdrawalCreated', 'WithdrawalClaimed'])
})

t.test('recognizes a repeated action of the same user on the same revision, even after later events', async (t) => {
  const { commands } = await withWithdrawal(t)
  t.match(await commands.act(trackingId, { type: 'Claim' }, ada, { revision: 0 }), {
    accepted: true,
    changed: true,
    revision: 1,
  })
  t.match(await commands.act(trackingId, { type: 'Claim' }, ada, { revision: 0 }), {
    accepted: true,
    changed: false,
    revision: 1,
  })
  const receipt = { receiptUrl: 'https://bank.example/1' }
  const acting = { revision: 1, underClaim }
  const all = await Promise.all(
    Array.from({ length: 20 }, () => commands.act(trackingId, { type: 'Complete', ...receipt }, ada, acting)),
  )
  for (const each of all) t.match(each, { accepted: true, transfer: { status: 'Completed' }, revision: 2 })
  t.match(await commands.act(trackingId, { type: 'Claim' }, ada, { revision: 0 }), {
    accepted: true,
    changed: false,
    revision: 2,
  })
  for (const other of [
    await commands.act(trackingId, { type: 'Complete', receiptUrl: 'https://bank.example/2' }, ada, acting),
    await commands.act(trackingId, { type: 'Complete', ...receipt }, bob, acting),
    await commands.act(trackingId, { type: 'Cancel', message: 'no' }, ada, acting),
  ]) {
    t.match(other, { accepted: false, refusal: { rule: 'changed-meanwhile' } }, 'a different request is not a repeat')
  }
  t.strictSame(await typesOf(commands), ['WithdrawalCreated', 'WithdrawalClaimed', 'TransferCompleted'])
})

t.test(
  'one of two concurrent completions by the holder and an operator succeeds after the claim has expired',
  async (t) => {
    const { store, commands } = await withWithdrawal(t)
    await commands.act(trackingId, { type: 'Claim' }, ada)
    t.match(await commands.act(trackingId, { type: 'Complete' }, context), {
      accepted: false,
      refusal: { rule: 'claimed-by-another', values: { by: 'user:ada', until: addMs(at, 15 * minuteMs) } },
    })
    const afterwards = commandsOn(store, () => addMs(at, 15 * minuteMs))
    const both = await Promise.all([
      afterwards.act(trackingId, { type: 'Complete' }, context),
      afterwards.act(trackingId, { type: 'Complete' }, ada, { underClaim }),
    ])
    t.equal(both.filter((each) => each.accepted && each.changed).length, 1)
    t.strictSame(await typesOf(commands), ['WithdrawalCreated', 'WithdrawalClaimed', 'TransferCompleted'])
  },
)
