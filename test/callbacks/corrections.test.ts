import t from 'tap'
import type { FoundTransfer } from '../../src/commands/transfer/transfer-requests.js'
import { depositRequest } from '../domain/transfer-samples.js'
import { until } from '../support/until.js'
import { startReceiver } from './receiver.js'
import { context, openWorld } from './world.js'

t.test('a correction sends a callback with the new amount, in the lane after the completion', async (t) => {
  const world = await openWorld(t)
  const answers = [500, 200, 200]
  const receiver = await startReceiver(
    t,
    (_received, response) => void response.writeHead(answers.shift() ?? 200).end(),
  )
  const { id } = await world.merchant(receiver.url)
  const trackingId = await world.deposit(id)
  const amount = { transactionAmountMinor: 195_00n, confirmedAmountMinor: 195_00n }
  await world.transfers.act(trackingId, { type: 'Complete', ...amount }, context)
  const correction = { amountMinor: 100_00n, reason: 'The amount was mistyped.' }
  await world.transfers.act(trackingId, { type: 'Correct', ...correction }, context)
  const running = world.start()
  t.teardown(() => running.stop())
  await until(() => receiver.received.length === 1)
  await world.dueChecks()
  t.equal(receiver.received.length, 1, 'the correction waits for the completion')
  world.clock.forward(10_000)
  await until(() => receiver.received.length === 3)
  const bodies = receiver.received.map(({ body }) => body)
  t.match(bodies, [
    { Status: 2, TransactionAmount: 195, HasAmountMismatch: true, Message: null },
    { Status: 2, TransactionAmount: 195, HasAmountMismatch: true, Message: null },
    {
      ...{ Status: 2, StatusDescription: 'Completed', Amount: 100, TransactionAmount: 100 },
      ...{ HasAmountMismatch: false, Message: 'amount corrected' },
    },
  ])
  const ids = receiver.received.map(({ webhookId }) => webhookId)
  t.equal(ids[0], ids[1])
  t.not(ids[1], ids[2], 'the correction has its own webhook-id')
})

t.test('parts send no callback until they complete the deposit, and a proposal sends none', async (t) => {
  const world = await openWorld(t)
  const receiver = await startReceiver(t)
  const { id } = await world.merchant(receiver.url, { approvalAboveMinor: 1_00n })
  const request = { ...depositRequest, merchantId: id, paymentMethod: 2 }
  const created = await world.transfers.create(request, context)
  const { trackingId } = (created as FoundTransfer).transfer
  const part = { type: 'ReceivePart', receivedAmountMinor: 50_00n } as const
  await world.transfers.act(trackingId, { ...part, reference: 'FT-1' }, context)
  await world.transfers.act(trackingId, { ...part, reference: 'FT-2' }, context)
  await world.transfers.act(trackingId, { type: 'Correct', amountMinor: 90_00n, reason: 'mistyped' }, context)
  const running = world.start()
  t.teardown(() => running.stop())
  await until(() => receiver.received.length === 1)
  await world.dueChecks()
  t.match(
    receiver.received.map(({ body }) => body),
    [{ Status: 2, TransactionAmount: 100 }],
  )
  const approval = { type: 'ApproveCorrection', amountMinor: 90_00n } as const
  await world.transfers.act(trackingId, approval, { ...context, actor: 'user:grace' })
  await until(() => receiver.received.length === 2)
  t.match(receiver.received[1]!.body, { Status: 2, TransactionAmount: 90, Message: 'amount corrected' })
})
