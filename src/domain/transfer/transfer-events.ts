import type { EventsOf } from '../event.js'

export type TransferKind = 'deposit' | 'withdrawal'
export type DepositChannel = 'hosted' | 'native'

/** On every event, so that a reader of one event needs no other. */
interface Common {
  readonly trackingId: string
  readonly merchantId: string
  readonly kind: TransferKind
  readonly referenceId: string
  /** Requested amount, minor units. */
  readonly amountMinor: bigint
  /** ISO 8601, by the service's clock. */
  readonly at: string
}

interface Creation extends Common {
  readonly userId: string
  readonly name: string
  readonly username: string
  readonly paymentMethod: number
  /** The merchant gets a callback of the creation: as it wanted then, whatever it wants later. */
  readonly told: boolean
  /** Names the hashCode that it was accepted with, where no claim does; null where there was none. */
  readonly hashId: string | null
}

interface WithMessage extends Common {
  readonly message: string | null
}

/** `requested`: by the merchant or an operator. */
export type CancelReason = 'requested' | 'expired' | 'amount-mismatch'

interface TransferData {
  DepositCreated: Creation & { channel: DepositChannel; expiresAt: string }
  WithdrawalCreated: Creation & { accountNumber: string; identityNumber: string | null }
  TransferCompleted: WithMessage & {
    transactionAmountMinor: bigint
    hasAmountMismatch: boolean
    receiptUrl: string | null
    /** Why another amount than had been received; null when it was that, or nothing had been. */
    reason: string | null
  }
  TransferSentToManualControl: WithMessage
  TransferCancelled: WithMessage & {
    reason: CancelReason
    /** Money that was received all the same and not returned, minor units; 0 when none. */
    transactionAmountMinor: bigint
    hasAmountMismatch: boolean
    receiptUrl: string | null
    /** The amount for which it was cancelled automatically, minor units; null when it was not. */
    autoCancelledAmountMinor: bigint | null
  }
  TransferFailed: WithMessage
  /** Money was taken that the transfer's status does not show: it was final already, or a person has to look at it first. */
  LateFundsReceived: Common & {
    /** Minor units. */
    receivedAmountMinor: bigint
    receiptUrl: string | null
    /** What is there now is another amount than requested, by the merchant's tolerance at that time. */
    hasAmountMismatch: boolean
  }
  /** Money of a deposit was given back. */
  FundsReturned: Common & {
    /** Minor units. */
    returnedAmountMinor: bigint
    /** Of the return; no two returns of a deposit have the same. */
    receiptUrl: string
    /** As in `LateFundsReceived`, of what is left. */
    hasAmountMismatch: boolean
  }
  /** A person said that nothing more has to be done about a deposit's money. */
  AttentionResolved: Common & {
    /** What was neither booked nor returned, minor units; 0 when a completion's word alone was in doubt. */
    resolvedAmountMinor: bigint
    reason: string
  }
  /** Somebody pays this withdrawal, and until then nobody else. */
  WithdrawalClaimed: Common & { by: string; until: string }
  /** They do not, after all. That a claim's time is over is no event. */
  WithdrawalReleased: Common & { by: string }
  /** Another person agreed that so much is paid to this account. */
  WithdrawalApproved: Common & {
    by: string
    accountNumber: string
    /** Minor units. */
    approvedAmountMinor: bigint
  }
  /** A cancelled or failed deposit is in ManualControl again. */
  TransferReopened: Common & { reason: string }
  /** Nothing is known any more of who the customer was. What the transfer is found by is repeated, as its creation cannot be read. */
  PersonalDataErased: Common & { paymentMethod: number; createdAt: string }
}

export type TransferEvent = EventsOf<TransferData>
export type TransferCreated = Extract<TransferEvent, { type: 'DepositCreated' | 'WithdrawalCreated' }>
