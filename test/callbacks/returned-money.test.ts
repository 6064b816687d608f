import t, { type Test } from 'tap'
import type { TransferAction } from '../../src/commands/transfer/transfer-requests.js'
import { withdrawalRequest } from '../domain/transfer-samples.js'
import { until } from '../support/until.js'
import { startReceiver } from './receiver.js'
import { context, openWorld } from './world.js'

const back = (reference: string): TransferAction => ({
  ...{ type: 'ReturnPayout', returnedAmountMinor: 40_00n, reasonCode: 'AC04', reference },
})

async function paidWithdrawal(t: Test, settings: object) {
  const world = await openWorld(t)
  const receiver = await startReceiver(t)
  const { id } = await world.merchant(receiver.url, settings)
  const created = await world.transfers.create({ ...withdrawalRequest, merchantId: id }, context)
  if (!created.accepted) throw new Error(created.refusal.rule)
  const { trackingId } = created.transfer
  await world.transfers.act(trackingId, { type: 'Complete', message: 'paid today' }, context)
  return { world, receiver, id, trackingId }
}

t.test(
  'a payout that comes back sends a callback with the same status, in the lane after the completion',
  async (t) => {
    const { world, receiver, trackingId } = await paidWithdrawal(t, { callbackOnMoney: true })
    await world.transfers.act(trackingId, back('RT1'), context)
    await world.transfers.act(trackingId, back('RT1'), context)
    await world.transfers.act(trackingId, back('RT2'), context)
    const running = world.start()
    t.teardown(() => running.stop())
    await until(() => receiver.received.length === 3)
    await world.dueChecks()
    const paid = { Status: 2, StatusDescription: 'Completed', Amount: 100, TransactionAmount: 100, ReceiptUrl: '' }
    t.match(
      receiver.received.map(({ body }) => body),
      [
        { ...paid, Message: 'paid today' },
        { ...paid, Message: 'payout returned' },
        { ...paid, Message: 'payout returned' },
      ],
    )
    t.equal(new Set(receiver.received.map(({ webhookId }) => webhookId)).size, 3)
    const fields = receiver.received.map(({ body }) => Object.keys(body))
    t.strictSame(fields[1], fields[0], 'the fields are those of every callback')
  },
)

t.test('without the setting it sends none, and enabling it later sends none for earlier returns', async (t) => {
  const { world, receiver, id, trackingId } = await paidWithdrawal(t, {})
  await world.transfers.act(trackingId, back('RT1'), context)
  const running = world.start()
  t.teardown(() => running.stop())
  await until(() => receiver.received.length === 1)
  await world.merchants.execute(id, { type: 'ChangeSettings', changes: { callbackOnMoney: true } }, context)
  await until(() => world.directory.byId(id)!.settings.callbackOnMoney)
  await world.transfers.act(trackingId, back('RT2'), context)
  await until(() => receiver.received.length === 2)
  await world.dueChecks()
  t.match(
    receiver.received.map(({ body }) => body.Message),
    ['paid today', 'payout returned'],
  )
})

t.test('money that is returned to the customer of a deposit sends one with the amount that is left', async (t) => {
  const world = await openWorld(t)
  const receiver = await startReceiver(t)
  const { id } = await world.merchant(receiver.url, { callbackOnMoney: true })
  const trackingId = await world.deposit(id)
  await world.transfers.act(trackingId, { type: 'Cancel', message: 'paid twice' }, context)
  await world.transfers.receiveFunds(trackingId, 1, { receivedAmountMinor: 100_00n, receiptUrl: null }, context)
  const receiptUrl = 'https://bank.example/back/1'
  await world.transfers.act(trackingId, { type: 'ReturnFunds', amountMinor: 60_00n, receiptUrl }, context)
  const running = world.start()
  t.teardown(() => running.stop())
  await until(() => receiver.received.length === 2)
  await world.dueChecks()
  t.match(
    receiver.received.map(({ body }) => body),
    [
      { Status: 4, TransactionAmount: 0, Message: 'paid twice' },
      { Status: 4, TransactionAmount: 40, Message: 'money returned' },
    ],
  )
})
