import { formatTwoDecimals } from './money.js'
import { ruleTexts } from './rule-texts.js'
import { type Change, kindOf, type RuleValue, type ValueKind } from './rule-values.js'
import type { Violation } from './rules.js'
import type { TransferEvent } from './transfer/transfer-events.js'
import type { ExceededLimit } from './withdrawal-limits.js'
import { isAmountExceeded, isCountExceeded } from './withdrawal-limits.js'

/** The text of a change of a transfer, by the type of the event. */
export const changeTexts: { readonly [type: string]: string } & { readonly [type in TransferEvent['type']]: string } = {
  DepositCreated: 'created it',
  WithdrawalCreated: 'created it',
  TransferCompleted: 'completed it',
  TransferSentToManualControl: 'sent it to manual control',
  TransferCancelled: 'cancelled it',
  TransferFailed: 'marked it as failed',
  LateFundsReceived: 'recorded received money',
  FundsReceived: 'recorded a payment',
  FundsReturned: 'recorded a return',
  RefundRequested: 'requested a refund',
  RefundApproved: 'approved a refund',
  RefundEnded: 'ended a refund',
  RepaymentRequested: 'requested to pay it again',
  RepaymentEnded: 'ended a repayment',
  AttentionResolved: 'resolved it',
  TransferReopened: 'reopened it',
  CorrectionProposed: 'proposed a correction',
  TransferCorrected: 'corrected it',
  WithdrawalClaimed: 'claimed it',
  WithdrawalReleased: 'released it',
  WithdrawalAddedToBankFile: 'put it into a bank file',
  WithdrawalApproved: 'approved it',
  WithdrawalReturned: 'recorded money that came back',
  BankPaymentMatched: "matched a payment of the bank's statement",
  PersonalDataErased: "erased its customer's data",
}

/** Returns the text of a violated rule in English. `field` is the name under which the reader knows the field. */
export function refusalText({ rule, values }: Violation, field = 'It'): string {
  return ruleTexts[rule].replaceAll(/\{(\w+)\}/g, (_, name: string) => {
    return name === 'field' ? field : valueText(kindOf(name), values[name]!)
  })
}

function valueText(kind: ValueKind, value: RuleValue): string {
  if (kind === 'amount') return formatTwoDecimals(value as bigint)
  if (kind === 'limits') return exceededText(value as readonly ExceededLimit[])
  return kind === 'changes' ? changesText(value as readonly Change[]) : String(value)
}

const limitTexts = { merchant: 'of this merchant', account: 'to this account', customer: 'of this customer' }

/** Returns the limits that a payout is beyond, such as `5 withdrawals to this account in 24 hours, limit 4`. */
export function exceededText(exceeded: readonly ExceededLimit[]): string {
  const texts = exceeded.flatMap((limit) => {
    const { per, hours, count, amountMinor, actualCount, actualMinor } = limit
    const whose = `${limitTexts[per]} in ${hours === 24 ? '24 hours' : '30 days'}`
    const withdrawals = actualCount === 1 ? '1 withdrawal' : `${actualCount} withdrawals`
    return [
      ...(isCountExceeded(limit) ? [`${withdrawals} ${whose}, limit ${count}`] : []),
      ...(isAmountExceeded(limit)
        ? [`${formatTwoDecimals(actualMinor)} in ${withdrawals} ${whose}, limit ${formatTwoDecimals(amountMinor!)}`]
        : []),
    ]
  })
  return texts.join('; ')
}

function changesText(changes: readonly Change[]): string {
  if (changes.length === 0) return 'The given revision does not exist yet.'
  return changes.map(({ type, by, at }) => `${by} ${changeTexts[type] ?? 'changed it'} at ${at}.`).join(' ')
}
