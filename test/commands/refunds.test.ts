import { readFileSync } from 'node:fs'
import { tempDirectory } from '@transferd/event-log/test/support/temp-directory'
import t, { type Test } from 'tap'
import { validateXML } from 'xmllint-wasm'
import type { TransferAction } from '../../src/commands/transfer/transfer-requests.js'
import type { MerchantSettings } from '../../src/domain/merchant/merchant-events.js'
import { type Deposit, refundableMinor } from '../../src/domain/transfer/transfer.js'
import { type EventStore, StoreUnavailableError } from '../../src/event-store/event-store.js'
import { depositRequest, withdrawalRequest } from '../domain/transfer-samples.js'
import { openTestEventStore } from '../support/event-store.js'
import { merchantSettings } from '../support/merchant-requests.js'
import { transferCommands } from '../support/transfer-commands.js'

const context = { actor: 'cli:ada', $correlationId: 'c', $causationId: 'c' }
const grace = { ...context, actor: 'cli:grace' }
const refund = (amountMinor: bigint, referenceId = 'refund-1') =>
  ({
    type: 'RequestRefund',
    referenceId,
    amountMinor,
    to: 'account',
    accountNumber: 'TR330006100519786457841326',
  }) as const

async function parts(t: Test, settings: Partial<MerchantSettings> = {}, wrap = (store: EventStore) => store) {
  const store = await openTestEventStore(tempDirectory(t))
  t.teardown(() => store.close())
  const clock = () => new Date().toISOString()
  const settingsOf = async () => ({ ...merchantSettings, ...settings })
  const transfers = transferCommands(wrap(store), clock, settingsOf)
  const completed = async () => {
    const created = await transfers.create({ ...depositRequest, paymentMethod: 2 }, context)
    if (!created.accepted) throw new Error(created.refusal.rule)
    const { trackingId } = created.transfer
    await transfers.act(trackingId, { type: 'Complete' }, context)
    return trackingId
  }
  const depositOf = async (trackingId: string) => (await transfers.find(trackingId))!.transfer as Deposit
  return { store, transfers, completed, depositOf, other: transferCommands(store, clock, settingsOf) }
}

const typesOf = (history: readonly { readonly event: { readonly type: string } }[]) =>
  history.map(({ event }) => event.type)

t.test('a refund is a withdrawal whose completion returns the money', async (t) => {
  const { transfers, completed, depositOf } = await parts(t)
  const trackingId = await completed()
  const result = await transfers.act(trackingId, refund(30_00n), context)
  if (!result.accepted) throw new Error(result.refusal.rule)
  const { refundId } = (await depositOf(trackingId)).refunds[0]!
  const { transfer: withdrawal, revision } = (await transfers.find(refundId))!
  t.match(withdrawal, {
    ...{ kind: 'withdrawal', status: 'Pending', referenceId: 'refund-1', amountMinor: 30_00n, refundOf: trackingId },
    ...{ name: depositRequest.name, userId: depositRequest.userId, accountNumber: 'TR330006100519786457841326' },
  })
  t.equal(revision, 0)
  const repeated = await transfers.act(trackingId, refund(30_00n), context, { revision: 0 })
  t.match(
    repeated,
    { accepted: true, changed: false },
    'a repeat succeeds, regardless of the revision that its caller saw',
  )
  t.match(await transfers.act(trackingId, refund(31_00n), context), { refusal: { rule: 'reference-reused' } })
  t.match(await transfers.act(refundId, { type: 'Complete', transactionAmountMinor: 29_00n }, context), {
    refusal: { rule: 'linked-amount-fixed' },
  })
  await transfers.act(refundId, { type: 'Claim' }, context)
  t.match(await transfers.act(refundId, { type: 'Complete' }, context), { accepted: true })
  const deposit = await depositOf(trackingId)
  t.match(deposit, { status: 'Completed', transactionAmountMinor: 100_00n, refunds: [{ state: 'returned' }] })
  t.equal(refundableMinor(deposit), 70_00n)
  t.strictSame(typesOf(await transfers.history(trackingId)), [
    ...['DepositCreated', 'TransferCompleted', 'RefundRequested', 'FundsReturned'],
  ])
  t.match(await transfers.act(trackingId, refund(70_01n, 'refund-2'), context), {
    refusal: { rule: 'refund-too-large', values: { left: 70_00n } },
  })
})

t.test('the end of the withdrawal frees the money', async (t) => {
  const { transfers, completed, depositOf } = await parts(t)
  const trackingId = await completed()
  for (const [n, type] of (['Cancel', 'Fail'] as const).entries()) {
    await transfers.act(trackingId, refund(100_00n, `refund-${n}`), context)
    t.match(await transfers.act(trackingId, refund(1n, 'other'), context), { refusal: { rule: 'refund-too-large' } })
    const { refundId } = (await depositOf(trackingId)).refunds.at(-1)!
    await transfers.act(refundId, { type, message: null }, context)
    t.match((await depositOf(trackingId)).refunds.at(-1), { state: type === 'Cancel' ? 'cancelled' : 'failed' })
  }
  t.equal(refundableMinor(await depositOf(trackingId)), 100_00n)
})

t.test('a referenceId of another withdrawal', async (t) => {
  const { transfers, completed, depositOf } = await parts(t)
  const trackingId = await completed()
  await transfers.create({ ...withdrawalRequest, paymentMethod: 2, referenceId: 'refund-1' }, context)
  t.match(await transfers.act(trackingId, refund(30_00n), context), { refusal: { rule: 'reference-reused' } })
  t.same((await depositOf(trackingId)).refunds, [], 'nothing is reserved')
  // The hash of 1 with reference 23 is that of 12 with 3.
  await transfers.create({ ...withdrawalRequest, paymentMethod: 2, amountMinor: 12_00n, referenceId: '3' }, context)
  const clash = refund(1_00n, '23')
  t.match(await transfers.act(trackingId, clash, context), { refusal: { rule: 'refund-refused' } })
  t.match(await transfers.act(trackingId, clash, context), { refusal: { rule: 'refund-refused' } }, 'the same again')
  const deposit = await depositOf(trackingId)
  t.match(deposit.refunds, [{ state: 'refused' }])
  t.equal(refundableMinor(deposit), 100_00n)
})

t.test('a create with the referenceId of a refund is another request', async (t) => {
  const { transfers, completed } = await parts(t)
  const trackingId = await completed()
  await transfers.act(trackingId, refund(30_00n), context)
  const same = { ...withdrawalRequest, paymentMethod: 2, amountMinor: 30_00n, referenceId: 'refund-1' }
  t.match(await transfers.create(same, context), { refusal: { rule: 'reference-reused' } })
})

t.test('a SEPA file with a refund is valid', async (t) => {
  const { transfers, completed, depositOf } = await parts(t)
  const trackingId = await completed()
  const iban = 'DE89370400440532013000'
  await transfers.act(trackingId, { ...refund(30_00n), accountNumber: iban }, context)
  const [{ refundId = '' } = {}] = (await depositOf(trackingId)).refunds
  const debtor = { name: 'Shop', iban }
  const request = { format: 'pain.001', trackingIds: [refundId], debtor, timeZone: 'UTC', underClaim: false } as const
  const file = await transfers.produceBankFile(request, { code: 'EUR', decimals: 2 }, context)
  if (!file.accepted) throw new Error(JSON.stringify(file.problems))
  t.match(file.text, `<IBAN>${iban}</IBAN>`)
  t.match(file.text, '<InstdAmt Ccy="EUR">30.00</InstdAmt>')
  const schema = readFileSync('test/fixtures/bank-file.xsd', 'utf8')
  const { errors } = await validateXML({ xml: [{ fileName: '1.xml', contents: file.text }], schema })
  t.same(errors, [])
  t.match(await transfers.act(refundId, { type: 'Complete' }, context), { accepted: true })
  t.match(await depositOf(trackingId), { refunds: [{ state: 'returned' }] })
})

t.test('the payment method', async (t) => {
  const { transfers, completed } = await parts(t)
  const trackingId = await completed()
  t.match(await transfers.act(trackingId, { ...refund(1_00n), paymentMethod: 9 }, context), {
    refusal: { rule: 'method-unavailable', field: 'paymentMethod' },
  })
  t.match(await transfers.act(trackingId, { ...refund(1_00n), to: 'wallet' }, context), {
    refusal: { rule: 'wallet-cannot-refund' },
  })
})

t.test('a return without the service above the threshold waits for a second person', async (t) => {
  const { transfers, depositOf } = await parts(t, { approvalAboveMinor: 20_00n })
  const created = await transfers.create({ ...depositRequest, paymentMethod: 2 }, context)
  if (!created.accepted) throw new Error(created.refusal.rule)
  const { trackingId } = created.transfer
  await transfers.act(trackingId, { type: 'Cancel', message: null }, context)
  await transfers.act(trackingId, { type: 'ReceivePart', receivedAmountMinor: 40_00n, reference: 'FT-1' }, context)
  const back: TransferAction = { type: 'ReturnFunds', amountMinor: 40_00n, receiptUrl: 'https://bank.example/1' }
  t.match(await transfers.act(trackingId, back, context), { accepted: true, changed: true })
  t.match(await transfers.act(trackingId, back, context), { accepted: true, changed: false })
  const [{ refundId = '' } = {}] = (await depositOf(trackingId)).refunds
  const approval: TransferAction = { type: 'ApproveRefund', refundId }
  t.match(await transfers.act(trackingId, approval, context), { refusal: { rule: 'refund-four-eyes' } })
  t.match(await transfers.act(trackingId, { type: 'RejectRefund', refundId }, grace), { accepted: true })
  t.match(await transfers.act(trackingId, back, context), { accepted: true, changed: true }, 'proposed again')
  const again = (await depositOf(trackingId)).refunds.at(-1)!
  t.not(again.refundId, refundId)
  t.match(await transfers.act(trackingId, { type: 'ApproveRefund', refundId: again.refundId }, grace), {
    accepted: true,
  })
  t.match(await depositOf(trackingId), {
    refunds: [{ state: 'rejected' }, { state: 'returned', approvedBy: 'cli:grace' }],
    funds: { returns: [{ amountMinor: 40_00n, receiptUrl: 'https://bank.example/1' }] },
  })
})

t.test('a hundred simultaneous refunds never exceed what is there', async (t) => {
  const { transfers, other, completed, depositOf } = await parts(t)
  const trackingId = await completed()
  const send = async (n: number) => {
    const commands = n % 2 === 0 ? transfers : other
    for (;;) {
      const result = await commands.act(trackingId, refund(7_00n, `refund-${n % 50}`), context).catch(() => undefined)
      // Too many conflicts: the caller repeats the request.
      if (result) return result
    }
  }
  const results = await Promise.all(Array.from({ length: 100 }, (_, n) => send(n)))
  const { refunds } = await depositOf(trackingId)
  t.equal(refunds.length, 14, 'fourteen times 7.00 fit into 100.00')
  t.equal(new Set(refunds.map(({ referenceId }) => referenceId)).size, 14)
  t.equal(results.filter(({ accepted }) => accepted).length, 28, 'each with its repeat')
  for (const { refundId } of refunds) {
    t.match((await transfers.find(refundId))?.transfer, { amountMinor: 7_00n, refundOf: trackingId })
    await transfers.act(refundId, { type: 'Complete' }, context)
  }
  t.equal(refundableMinor(await depositOf(trackingId)), 2_00n)
})

t.test('what an interrupted request left is finished by a repeat, or by the process', async (t) => {
  let failing: string | undefined
  const { transfers, other, completed, depositOf } = await parts(t, {}, (store) => ({
    ...store,
    appendInOrder: async (appends) => {
      const types = appends.flatMap(({ events }) => events.map(({ type }) => type))
      if (failing !== undefined && types.includes(failing)) throw new StoreUnavailableError('killed')
      return store.appendInOrder(appends)
    },
  }))
  const system = { ...context, actor: 'system:refunds' }
  const trackingId = await completed()
  failing = 'WithdrawalCreated'
  await t.rejects(transfers.act(trackingId, refund(30_00n), context))
  const [{ refundId = '' } = {}] = (await depositOf(trackingId)).refunds
  t.equal(await other.find(refundId), undefined)
  failing = undefined
  t.match(await transfers.act(trackingId, refund(30_00n), context), { accepted: true, changed: false })
  t.match((await other.find(refundId))?.transfer, { status: 'Pending' }, 'the repeat created it')
  failing = 'FundsReturned'
  await t.rejects(transfers.act(refundId, { type: 'Complete' }, context))
  t.match(await depositOf(trackingId), { refunds: [{ state: 'open' }] }, 'the money stays reserved')
  t.match((await transfers.act(trackingId, refund(70_01n, 'refund-2'), context)).accepted, false)
  await other.continuePayouts(trackingId, system)
  t.match(await depositOf(trackingId), { refunds: [{ state: 'returned' }], funds: { refundedMinor: 30_00n } })
  const { length } = await transfers.history(trackingId)
  await Promise.all([other.continuePayouts(trackingId, system), transfers.continuePayouts(trackingId, system)])
  t.equal((await transfers.history(trackingId)).length, length, 'and nothing more')
  failing = 'WithdrawalCreated'
  await t.rejects(transfers.act(trackingId, refund(70_00n, 'refund-2'), context))
  await other.continuePayouts(trackingId, system)
  const last = (await depositOf(trackingId)).refunds.at(-1)!
  t.match((await other.find(last.refundId))?.transfer, { status: 'Pending', refundOf: trackingId })
})

t.test('money that came back is paid again by a withdrawal, whose end settles it', async (t) => {
  const { transfers, other } = await parts(t)
  const created = await transfers.create({ ...withdrawalRequest, paymentMethod: 2 }, context)
  if (!created.accepted) throw new Error(created.refusal.rule)
  const { trackingId } = created.transfer
  const withdrawalOf = async (id: string) => {
    const { transfer } = (await other.find(id))!
    if (transfer.kind !== 'withdrawal') throw new Error('not a withdrawal')
    return transfer
  }
  await transfers.act(trackingId, { type: 'Complete' }, context)
  const back = { type: 'ReturnPayout', returnedAmountMinor: 100_00n, reasonCode: 'AC04', reference: 'RT-1' } as const
  await transfers.act(trackingId, back, context)
  const account = { accountNumber: 'TR940006100519786457009931' }
  const again = { type: 'RequestRepayment', referenceId: 'again-1', amountMinor: 100_00n, ...account } as const
  t.match(await transfers.act(trackingId, again, context), { accepted: true, changed: true })
  t.match(await transfers.act(trackingId, again, context, { revision: 0 }), { accepted: true, changed: false })
  const [{ repaymentId = '' } = {}] = (await withdrawalOf(trackingId)).repayments
  t.match(await withdrawalOf(repaymentId), { status: 'Pending', repaymentOf: trackingId, refundOf: null, ...account })
  t.match(await transfers.act(repaymentId, { type: 'Cancel', message: null }, context), { accepted: true })
  t.match(await withdrawalOf(trackingId), { repayments: [{ state: 'cancelled' }], resolvedMinor: 0n })
  await transfers.act(trackingId, { ...again, referenceId: 'again-2' }, context)
  const second = (await withdrawalOf(trackingId)).repayments[1]!
  await transfers.act(second.repaymentId, { type: 'Complete' }, context)
  t.match(await withdrawalOf(trackingId), { repayments: [{}, { state: 'paid' }], resolvedMinor: 100_00n })
  t.match(await transfers.act(trackingId, { ...again, referenceId: 'again-3' }, context), {
    refusal: { rule: 'repayment-too-large' },
  })
})

t.test('the return by a refund triggers a callback if the merchant wants it', async (t) => {
  for (const callbackOnMoney of [true, false]) {
    const { transfers, completed, depositOf } = await parts(t, { callbackOnMoney })
    const trackingId = await completed()
    await transfers.act(trackingId, refund(30_00n), context)
    await transfers.act((await depositOf(trackingId)).refunds[0]!.refundId, { type: 'Complete' }, context)
    const { event } = (await transfers.history(trackingId)).at(-1)!
    t.match(event, { type: 'FundsReturned', data: { returnedAmountMinor: 30_00n, callbackOnMoney } })
  }
})
