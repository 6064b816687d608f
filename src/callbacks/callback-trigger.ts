import type { Transfer, TransferState } from '../domain/transfer/transfer.js'
import type { TransferEvent } from '../domain/transfer/transfer-events.js'
import type { RecordedEvent } from '../event-store/event-store.js'

type Trigger = 'as-recorded' | 'status-change' | 'always' | 'on-money' | 'never'

const triggers: { readonly [Type in TransferEvent['type']]: Trigger } = {
  DepositCreated: 'as-recorded',
  WithdrawalCreated: 'as-recorded',
  TransferCompleted: 'status-change',
  TransferSentToManualControl: 'status-change',
  TransferCancelled: 'status-change',
  TransferFailed: 'status-change',
  TransferReopened: 'status-change',
  TransferCorrected: 'always',
  LateFundsReceived: 'never',
  FundsReceived: 'never',
  FundsReturned: 'on-money',
  RefundRequested: 'never',
  RefundApproved: 'never',
  RefundEnded: 'never',
  RepaymentRequested: 'never',
  RepaymentEnded: 'never',
  AttentionResolved: 'never',
  CorrectionProposed: 'never',
  WithdrawalClaimed: 'never',
  WithdrawalReleased: 'never',
  WithdrawalAddedToBankFile: 'never',
  WithdrawalApproved: 'never',
  WithdrawalReturned: 'on-money',
  BankPaymentMatched: 'never',
  PersonalDataErased: 'never',
}

/** Merchants recognize returned money by this message of the callback, because the status and the amounts can be those of the previous one. */
const messages: { readonly [type: string]: string } = {
  FundsReturned: 'money returned',
  WithdrawalReturned: 'payout returned',
}

/** Returns the message of the callback of an event. */
export function messageOf(type: string, { message }: Transfer): string | null {
  return messages[type] ?? message
}

/**
 * Returns false for an event of a transfer that certainly triggers no callback, by its type, or for a creation by `callbackOnCreate` and for returned
 * money by `callbackOnMoney`. By the current settings instead, a merchant that enables these callbacks would receive old ones. An event of an
 * unknown type may trigger one.
 */
export function mayTriggerCallback({ type, data }: Pick<RecordedEvent, 'type' | 'data'>): boolean {
  const trigger = Object.hasOwn(triggers, type) ? triggers[type as TransferEvent['type']] : 'status-change'
  if (trigger === 'on-money') return data.callbackOnMoney === true
  return trigger === 'as-recorded' ? data.callbackOnCreate === true : trigger !== 'never'
}

/** Returns whether the event is a creation that triggers no callback. */
export function isSilentCreation(event: Pick<RecordedEvent, 'type' | 'data'>): boolean {
  return triggers[event.type as TransferEvent['type']] === 'as-recorded' && !mayTriggerCallback(event)
}

/** Returns whether an event of a transfer triggers a callback, with the states before and after it. */
export function triggersCallback(recorded: RecordedEvent, before: TransferState, after: Transfer): boolean {
  const isChange = before.kind === 'none' || before.status !== after.status
  const trigger = triggers[recorded.type as TransferEvent['type']]
  return mayTriggerCallback(recorded) && (isChange || trigger === 'always' || trigger === 'on-money')
}
