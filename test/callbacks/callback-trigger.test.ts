import t from 'tap'
import { mayTriggerCallback, triggersCallback } from '../../src/callbacks/callback-trigger.js'
import type { Transfer, TransferState } from '../../src/domain/transfer/transfer.js'
import { transferDecider } from '../../src/domain/transfer/transfer-decider.js'
import { type TransferEvent, transferEvents } from '../../src/domain/transfer/transfer-events.js'
import { decodeEvent } from '../../src/event-store/event-codec.js'
import { created } from '../domain/transfer-samples.js'
import { goldenEvents, recorded } from '../event-store/codec/golden-events.js'

const { evolve, initialState } = transferDecider
const stored = [...goldenEvents.values()].filter(({ type }) => Object.hasOwn(transferEvents, type)).map(recorded)
const pending = [created.deposit, created.withdrawal].map((event) => evolve(initialState, event) as Transfer)
const cancelled = pending.map((transfer): Transfer => ({ ...transfer, status: 'Cancelled' }))

t.test(
  'an event after the creation may trigger a callback exactly if it can change the status, corrects, or returns money as recorded',
  async (t) => {
    for (const each of stored) {
      if (each.type.endsWith('Created')) continue
      const event = decodeEvent(each) as TransferEvent
      const states = [...pending, ...cancelled].filter(({ kind }) => kind === event.data.kind)
      const changed = states.filter((before) => statusOf(evolve(before, event)) !== before.status)
      const corrects = each.type === 'TransferCorrected' || each.data.callbackOnMoney === true
      t.equal(mayTriggerCallback(each), changed.length > 0 || corrects, each.type)
      for (const before of states) {
        const after = evolve(before, event) as Transfer
        t.equal(triggersCallback(each, before, after), before.status !== after.status || corrects, each.type)
      }
    }
  },
)

t.test('a creation triggers a callback as it was recorded', async (t) => {
  for (const each of stored) {
    if (!each.type.endsWith('Created')) continue
    for (const callbackOnCreate of [true, false]) {
      const event = { ...each, data: { ...each.data, callbackOnCreate } }
      t.equal(mayTriggerCallback(event), callbackOnCreate, each.type)
      t.equal(triggersCallback(event, initialState, pending[0]!), callbackOnCreate, each.type)
    }
  }
})

t.test('returned money triggers a callback as it was recorded, and not if it was not recorded', async (t) => {
  const version1 = stored.find(({ type, metadata }) => type === 'FundsReturned' && metadata.schemaVersion === 1)!
  t.equal(mayTriggerCallback(version1), false)
  for (const each of stored) {
    if (each.type !== 'WithdrawalReturned' && each.type !== 'FundsReturned') continue
    for (const callbackOnMoney of [true, false, null]) {
      const event = { ...each, data: { ...each.data, callbackOnMoney } }
      t.equal(mayTriggerCallback(event), callbackOnMoney === true, each.type)
    }
  }
})

t.test('an event of an unknown type may trigger a callback, so that it is reported and parked', async (t) => {
  for (const type of ['TransferRefunded', 'constructor']) t.equal(mayTriggerCallback({ type, data: {} }), true)
})

function statusOf(state: TransferState) {
  return state.kind === 'none' ? undefined : state.status
}
