import { validApproval } from './payout.js'
import { refundableMinor, type Transfer, undecidedMinor } from './transfer.js'
import type { ApprovalRules, Complete, TransferCommand } from './transfer-commands.js'
import { decide } from './transfer-decider.js'

/** The actor who views a transfer and settles withdrawals under their own claims. */
export interface Actor extends ApprovalRules {
  readonly by: string
  readonly payoutsStopped?: boolean
  /** Whether the transfer's payment method is manual. */
  readonly isManual: boolean
  readonly correctionDays: number
  readonly at: string
}

type Trial = (transfer: Transfer, actor: Actor) => TransferCommand
const mismatchPolicy = { toleranceMinor: 0n, autoCancel: false }

/** Each action as a command whose texts and amounts are acceptable. */
const trials = {
  claim: (_, { by, payoutsStopped = false, at }) => ({ type: 'Claim', by, payoutsStopped, at }),
  release: (_, { by, at }) => ({ type: 'Release', by, underClaim: true, at }),
  approve: (_, actor) => ({ type: 'Approve', ...actor }),
  complete: (transfer, actor) => completion(likelyMinor(transfer), actor),
  cancel: (_, { by, at }) => ({ type: 'Cancel', message: null, by, underClaim: true, at }),
  'manual-control': (_, { by, at }) => ({ type: 'SendToManualControl', message: null, by, underClaim: false, at }),
  receive: (_, { isManual, at }) => {
    const money = { receivedAmountMinor: 1n, receiptUrl: null, toleranceMinor: 0n, manualControlAboveMinor: null }
    return { type: 'ReceivePart', ...money, reference: '', guardFactor: 1, isManual, at }
  },
  correct: (transfer, { by, approvalAboveMinor, correctionDays, at }) => {
    const amountMinor = transfer.transactionAmountMinor + 1n
    const amount = {
      amountMinor,
      confirmedAmountMinor: amountMinor,
      guardFactor: 1,
      toleranceMinor: 0n,
      collectedMinor: 0n,
    }
    return { type: 'Correct', ...amount, reason: '', reference: null, approvalAboveMinor, correctionDays, by, at }
  },
  'approve-correction': (transfer, { by, correctionDays, at }) => {
    const amountMinor = transfer.proposedCorrection?.amountMinor ?? 0n
    return { type: 'ApproveCorrection', amountMinor, toleranceMinor: 0n, collectedMinor: 0n, correctionDays, by, at }
  },
  return: (transfer, { by, approvalAboveMinor, at }) => {
    const money = { amountMinor: undecidedMinor(transfer), receiptUrl: '', refundId: '', toleranceMinor: 0n }
    return { type: 'ReturnFunds', ...money, callbackOnMoney: false, approvalAboveMinor, by, at }
  },
  refund: (_, { by, approvalAboveMinor, at }) => {
    const account = { refundMethod: 1, accountNumber: '', identityNumber: null, paidFrom: null, walletRefunds: false }
    const refund = { refundId: '', referenceId: '', amountMinor: 1n, to: 'account', ...account } as const
    return { type: 'RequestRefund', ...refund, approvalAboveMinor, by, at }
  },
  'approve-refund': (transfer, { by, at }) => {
    const rules = { toleranceMinor: 0n, callbackOnMoney: false }
    return { type: 'ApproveRefund', refundId: proposedRefundId(transfer, by), ...rules, by, at }
  },
  'reject-refund': (transfer, { by, at }) => {
    return { type: 'EndRefund', refundId: proposedRefundId(transfer), outcome: 'rejected', by, at }
  },
  'payout-returned': (_, { by, at }) => {
    const money = { returnedAmountMinor: 1n, reasonCode: 'NARR', reference: '', receiptUrl: null } as const
    return { type: 'ReturnPayout', ...money, callbackOnMoney: false, by, at }
  },
  'pay-again': (_, { by, at }) => {
    const account = { repaymentMethod: 1, accountNumber: '', identityNumber: null }
    return { type: 'RequestRepayment', repaymentId: '', referenceId: '', amountMinor: 1n, ...account, by, at }
  },
  resolve: (_, { at }) => ({ type: 'ResolveAttention', reason: '', at }),
  reopen: (_, { at }) => ({ type: 'Reopen', reason: '', at }),
} as const satisfies { readonly [action: string]: Trial }

type AllowedAction = keyof typeof trials

/** Returns the actions that would change the transfer now. It asks the decider, so no rule is written twice. */
export function possibleActions(transfer: Transfer, actor: Actor): readonly AllowedAction[] {
  return (Object.keys(trials) as AllowedAction[]).filter((action) => isPossible(action, transfer, actor))
}

/** Returns whether the action would change the transfer now. */
export function isPossible(action: AllowedAction, transfer: Transfer, actor: Actor): boolean {
  const decision = decide(trials[action](transfer, actor), transfer)
  return decision.accepted && decision.events.length > 0
}

function completion(amountMinor: bigint, actor: Actor): Complete {
  const { by, approvalAboveMinor, exceeded = [], payoutsStopped = false, at } = actor
  const amounts = { transactionAmountMinor: amountMinor, confirmedAmountMinor: amountMinor, guardFactor: 1 }
  const texts = { receiptUrl: null, message: null, reason: '' }
  const settler = { by, underClaim: true, payoutsStopped, at }
  return { type: 'Complete', ...amounts, ...texts, mismatchPolicy, approvalAboveMinor, exceeded, ...settler }
}

function likelyMinor(transfer: Transfer): bigint {
  if (transfer.kind === 'deposit') return refundableMinor(transfer) || transfer.amountMinor
  const { approval } = transfer.payout
  return approval && validApproval(transfer, approval.amountMinor) ? approval.amountMinor : transfer.amountMinor
}

/** Returns a proposed refund that this actor did not request, or of any actor. */
function proposedRefundId(transfer: Transfer, notBy?: string): string {
  const refunds = transfer.kind === 'deposit' ? transfer.refunds : []
  return refunds.find(({ state, by }) => state === 'proposed' && by !== notBy)?.refundId ?? ''
}
