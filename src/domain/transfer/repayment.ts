import { accept, type Decision, refuse } from '../decider.js'
import { commonFields, isErased, type Repayment, type Transfer, undecidedMinor, type Withdrawal } from './transfer.js'
import type { EndRepayment, RequestRepayment } from './transfer-commands.js'
import type { TransferEvent } from './transfer-events.js'

// Money of a withdrawal that came back and is paid again, by another withdrawal to a corrected account.

/** The number of repayments of one withdrawal. Each is kept in its state. */
const maxRepayments = 100

export function requestRepayment(command: RequestRepayment, state: Transfer): Decision<TransferEvent> {
  if (state.kind !== 'withdrawal') return refuse('conflict', 'withdrawal-required')
  const { repaymentId, referenceId, amountMinor, repaymentMethod, accountNumber, identityNumber, by, at } = command
  const earlier = state.repayments.find((each) => each.repaymentId === repaymentId)
  if (earlier?.state === 'refused') return refuse('conflict', 'refund-refused')
  if (earlier) return isSameRepayment(command, earlier, state) ? accept() : refuse('conflict', 'reference-reused')
  if (isErased(state)) return refuse('conflict', 'customer-erased')
  if (state.repayments.length >= maxRepayments) return refuse('conflict', 'too-many-refunds', { most: maxRepayments })
  const left = undecidedMinor(state)
  if (amountMinor > left) return refuse('conflict', 'repayment-too-large', { left })
  const payment = { repaymentId, repaymentReferenceId: referenceId, repaymentAmountMinor: amountMinor, repaymentMethod }
  const data = { ...commonFields(state, at), by, ...payment, accountNumber, identityNumber }
  return accept({ type: 'RepaymentRequested', data })
}

export function endRepayment(command: EndRepayment, state: Transfer): Decision<TransferEvent> {
  if (state.kind !== 'withdrawal') return refuse('conflict', 'withdrawal-required')
  const { by, repaymentId, outcome, at } = command
  const repayment = state.repayments.find((each) => each.repaymentId === repaymentId)
  if (repayment?.state === outcome) return accept()
  if (repayment?.state !== 'open') return refuse('conflict', 'refund-not-open')
  const resolvedAmountMinor = outcome === 'paid' ? repayment.amountMinor : 0n
  const data = { ...commonFields(state, at), by, repaymentId, outcome, resolvedAmountMinor }
  return accept({ type: 'RepaymentEnded', data })
}

/** After an erasure the accounts cannot be compared. */
function isSameRepayment(command: RequestRepayment, earlier: Repayment, state: Withdrawal): boolean {
  const { amountMinor, repaymentMethod, accountNumber, identityNumber } = command
  if (amountMinor !== earlier.amountMinor || repaymentMethod !== earlier.repaymentMethod) return false
  const isSameAccount = accountNumber === earlier.accountNumber && identityNumber === earlier.identityNumber
  return isErased(state) || isSameAccount
}
