import { accept, type Decision, type Refused, refuse } from '../decider.js'
import { commonFields, keptMinor, returnedMinor, type Transfer } from './transfer.js'
import type { ReturnPayout } from './transfer-commands.js'
import type { TransferEvent } from './transfer-events.js'

// Money of a completed withdrawal that the bank sends back. The status stays, because the payout did happen.

/** The number of returns of one withdrawal. Each is kept in its state. */
const maxReturns = 100

export function returnPayout(command: ReturnPayout, state: Transfer): Decision<TransferEvent> {
  if (state.kind !== 'withdrawal') return refuse('conflict', 'withdrawal-required')
  const { returnedAmountMinor, reasonCode, reference, receiptUrl, by, callbackOnMoney, at } = command
  const earlier = state.returns.find((each) => each.reference === reference)
  if (earlier) {
    const { amountMinor: returned, reasonCode: code } = earlier
    if (returned === returnedAmountMinor && code === reasonCode) return accept()
    return refuse('conflict', 'payout-return-recorded', { reference, returned, code })
  }
  if (state.status !== 'Completed') return refuse('conflict', 'payout-not-completed', { status: state.status })
  if (state.returns.length >= maxReturns) return refuse('conflict', 'too-many-refunds', { most: maxReturns })
  const left = keptMinor(state)
  if (returnedAmountMinor > left) return refuse('conflict', 'payout-return-too-large', { left })
  const data = { ...commonFields(state, at), by, returnedAmountMinor, reasonCode, reference, receiptUrl }
  return accept({ type: 'WithdrawalReturned', data: { ...data, callbackOnMoney } })
}

/** Rejects a correction of a withdrawal to less than has come back. */
export function belowReturnedRefusal(amountMinor: bigint, state: Transfer): Refused | undefined {
  if (state.kind === 'deposit') return undefined
  const returned = returnedMinor(state)
  return amountMinor < returned ? refuse('conflict', 'correction-below-refunds', { lowest: returned }) : undefined
}
