import { depositRequest, withdrawalRequest } from '../domain/transfer-samples.js'
import { openTestEventStore } from '../support/event-store.js'
import { merchantSettings } from '../support/merchant-requests.js'
import { transferCommands } from '../support/transfer-commands.js'

/**
 * Does the same random actions on the same deposits and withdrawals in every run, and prints each one that the log has accepted: the program of
 * received-once.test.ts, which kills it and starts it again.
 */

const [directory = '', seed = '', actor = ''] = process.argv.slice(2)
const deposits = 4
const withdrawals = 2
const steps = 90

/** Returns the same numbers for a seed (mulberry32). */
function numbersOf(start: number): (below: number) => number {
  let state = start
  return (below) => {
    state = (state + 0x6d2b79f5) | 0
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state)
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed
    return ((mixed ^ (mixed >>> 14)) >>> 0) % below
  }
}

const number = numbersOf(Number(seed))
const store = await openTestEventStore(directory)
const settings = { ...merchantSettings, approvalAboveMinor: 150_00n }
const transfers = transferCommands(
  store,
  () => new Date().toISOString(),
  async () => settings,
)
const context = { actor, $correlationId: 'c', $causationId: 'c' }
const ids: string[] = []
for (let n = 0; n < deposits; n++) {
  const created = await transfers.create({ ...depositRequest, referenceId: `${seed}-${n}`, paymentMethod: 2 }, context)
  if (!created.accepted) throw new Error(created.refusal.rule)
  ids.push(created.transfer.trackingId)
}
const paidIds: string[] = []
for (let n = 0; n < withdrawals; n++) {
  const created = await transfers.create({ ...withdrawalRequest, referenceId: `${seed}-out-${n}` }, context)
  if (!created.accepted) throw new Error(created.refusal.rule)
  await transfers.act(created.transfer.trackingId, { type: 'Complete' }, context)
  paidIds.push(created.transfer.trackingId)
}

type Action = Parameters<typeof transfers.act>[1]
const amounts = [20_00n, 30_00n, 40_00n, 60_00n, 100_00n, 160_00n]

function actionOf(step: number): Action {
  const amountMinor = amounts[number(amounts.length)]!
  const chosen = number(16)
  const confirmed = { confirmedAmountMinor: amountMinor }
  if (chosen < 6)
    return { type: 'ReceivePart', receivedAmountMinor: amountMinor, ...confirmed, reference: `FT-${step}` }
  if (chosen < 8) return { type: 'Correct', amountMinor, ...confirmed, reason: 'mistyped', reference: `CASE-${step}` }
  if (chosen === 8) return { type: 'ApproveCorrection', amountMinor }
  if (chosen === 9) return { type: 'Complete', transactionAmountMinor: amountMinor, ...confirmed, reason: 'as agreed' }
  if (chosen > 11) {
    const refund = { referenceId: `${seed}-refund-${step}`, amountMinor: BigInt(1 + number(25_00)) }
    return { type: 'RequestRefund', ...refund, to: 'account', accountNumber: 'TR330006100519786457841326' }
  }
  const receiptUrl = `https://bank.example/${step}`
  return chosen === 10 ? { type: 'ReturnFunds', amountMinor, receiptUrl } : { type: 'Cancel', message: null }
}

function actionOnPaid(step: number): Action {
  const amountMinor = amounts[number(amounts.length)]!
  const chosen = number(8)
  const reasonCode = 'AC04' as const
  if (chosen < 5) return { type: 'ReturnPayout', returnedAmountMinor: amountMinor, reasonCode, reference: `RT-${step}` }
  if (chosen === 5) return { type: 'ResolveAttention', reason: 'paid in cash' }
  const confirmed = { confirmedAmountMinor: amountMinor }
  return { type: 'Correct', amountMinor, ...confirmed, reason: 'mistyped', reference: `CASE-${step}` }
}

/** Completes, cancels or fails the withdrawal of the deposit's latest refund, or leaves it open. */
async function settleRefund(trackingId: string, chosen: number): Promise<void> {
  const { transfer } = (await transfers.find(trackingId))!
  const refund = transfer.kind === 'deposit' ? transfer.refunds.findLast(({ to }) => to === 'account') : undefined
  if (!refund || chosen === 3) return
  const action = chosen < 2 ? ({ type: 'Complete' } as const) : ({ type: 'Cancel', message: null } as const)
  await transfers.act(refund.refundId, action, context)
}

for (let step = 0; step < steps; step++) {
  const isPaid = number(3) === 0
  const all = isPaid ? paidIds : ids
  const trackingId = all[number(all.length)]!
  const action = isPaid ? actionOnPaid(step) : actionOf(step)
  const result = await transfers.act(trackingId, action, context)
  if (step % 3 === 0) await settleRefund(trackingId, number(4))
  const reference = 'reference' in action ? action.reference : null
  const isCounted = result.accepted && (action.type === 'ReceivePart' || action.type === 'ReturnPayout')
  process.stdout.write(`${JSON.stringify({ trackingId, payment: isCounted ? reference : null })}\n`)
}
await store.close()
process.stdout.write(`${JSON.stringify({ done: [...ids, ...paidIds] })}\n`)
