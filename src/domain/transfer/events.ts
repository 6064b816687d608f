/** What happens to a transfer. Names and fields are a storage format: they only ever grow (docs/reference/events.md). */

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

interface Customer {
  readonly userId: string
  readonly name: string
  readonly username: string
  readonly paymentMethod: number
  /** The merchant gets a callback of the creation: as it wanted then, whatever it wants later. */
  readonly told: boolean
}

export interface DepositCreated {
  readonly type: 'DepositCreated'
  readonly data: Common & Customer & { readonly channel: DepositChannel; readonly expiresAt: string }
}

export interface WithdrawalCreated {
  readonly type: 'WithdrawalCreated'
  readonly data: Common & Customer & { readonly accountNumber: string; readonly identityNumber: string | null }
}

export interface TransferCompleted {
  readonly type: 'TransferCompleted'
  readonly data: Common & {
    readonly transactionAmountMinor: bigint
    readonly hasAmountMismatch: boolean
    readonly receiptUrl: string | null
    readonly message: string | null
    /** Why another amount than had been received; null when it was that, or nothing had been. */
    readonly reason: string | null
  }
}

export interface TransferSentToManualControl {
  readonly type: 'TransferSentToManualControl'
  readonly data: Common & { readonly message: string | null }
}

export interface TransferCancelled {
  readonly type: 'TransferCancelled'
  readonly data: Common & {
    readonly message: string | null
    /** Money that was received all the same and not returned, minor units; 0 when none. */
    readonly transactionAmountMinor: bigint
    readonly hasAmountMismatch: boolean
    readonly receiptUrl: string | null
    /** The amount for which it was cancelled automatically, minor units; null when it was not. */
    readonly autoCancelledAmountMinor: bigint | null
  }
}

export interface TransferFailed {
  readonly type: 'TransferFailed'
  readonly data: Common & { readonly message: string | null }
}

/** Money was taken that the transfer's status does not show: it was final already, or a person has to look at it first. */
export interface LateFundsReceived {
  readonly type: 'LateFundsReceived'
  readonly data: Common & {
    /** Minor units. */
    readonly receivedAmountMinor: bigint
    readonly receiptUrl: string | null
    /** What is there now is another amount than requested, by the merchant's tolerance at that time. */
    readonly hasAmountMismatch: boolean
  }
}

/** Money of a deposit was given back. */
export interface FundsReturned {
  readonly type: 'FundsReturned'
  readonly data: Common & {
    /** Minor units. */
    readonly returnedAmountMinor: bigint
    /** Of the return; no two returns of a deposit have the same. */
    readonly receiptUrl: string
    /** As in {@link LateFundsReceived}, of what is left. */
    readonly hasAmountMismatch: boolean
  }
}

/** A person said that nothing more has to be done about a deposit's money. */
export interface AttentionResolved {
  readonly type: 'AttentionResolved'
  readonly data: Common & {
    /** What was neither booked nor returned, minor units; 0 when a completion's word alone was in doubt. */
    readonly resolvedAmountMinor: bigint
    readonly reason: string
  }
}

/** A cancelled or failed deposit is in ManualControl again. */
export interface TransferReopened {
  readonly type: 'TransferReopened'
  readonly data: Common & { readonly reason: string }
}

export type TransferCreated = DepositCreated | WithdrawalCreated
export type TransferEvent =
  | TransferCreated
  | TransferCompleted
  | TransferSentToManualControl
  | TransferCancelled
  | TransferFailed
  | LateFundsReceived
  | TransferReopened
  | FundsReturned
  | AttentionResolved
