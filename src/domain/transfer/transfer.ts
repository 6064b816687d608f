import type { DepositChannel, TransferCreated, TransferEvent, TransferKind } from './events.js'

/** The specification's status values and names (Resources, "Status values of a transfer"). */
export const statusCodes = { Pending: 1, Completed: 2, ManualControl: 3, Cancelled: 4, Failed: 5 } as const
export type Status = keyof typeof statusCodes

interface Existing {
  readonly trackingId: string
  readonly merchantId: string
  readonly referenceId: string
  readonly status: Status
  readonly amountMinor: bigint
  /** What was really transferred so far, minor units. */
  readonly transactionAmountMinor: bigint
  readonly hasAmountMismatch: boolean
  /**
   * Money that was received and that no completion counts (minor units): it needs attention. Absent when there is none. A
   * cancellation leaves it, for then it is still to be given back.
   */
  readonly lateFundsMinor?: bigint
  readonly receiptUrl: string | null
  readonly message: string | null
  readonly userId: string
  readonly name: string
  readonly username: string
  readonly paymentMethod: number
  readonly createdAt: string
  readonly updatedAt: string
}

export interface Deposit extends Existing {
  readonly kind: 'deposit'
  readonly channel: DepositChannel
  readonly expiresAt: string
}

export interface Withdrawal extends Existing {
  readonly kind: 'withdrawal'
  readonly accountNumber: string
  readonly identityNumber: string | null
}

export type Transfer = Deposit | Withdrawal
export type TransferState = { readonly kind: 'none' } | Transfer

export const initialState: TransferState = { kind: 'none' }

export function evolve(state: TransferState, event: TransferEvent): TransferState {
  switch (event.type) {
    case 'DepositCreated': {
      const { channel, expiresAt } = event.data
      return { kind: 'deposit', channel, expiresAt, ...created(event.data) }
    }
    case 'WithdrawalCreated': {
      const { accountNumber, identityNumber } = event.data
      return { kind: 'withdrawal', accountNumber, identityNumber, ...created(event.data) }
    }
    case 'TransferCompleted': {
      const { transactionAmountMinor, hasAmountMismatch, receiptUrl, message, at } = event.data
      const { lateFundsMinor: _, ...before } = existing(state)
      return {
        ...before,
        status: 'Completed',
        transactionAmountMinor,
        hasAmountMismatch,
        receiptUrl,
        message,
        updatedAt: at,
      }
    }
    case 'TransferSentToManualControl':
      return change(state, { status: 'ManualControl', message: event.data.message, updatedAt: event.data.at })
    case 'TransferCancelled': {
      const { transactionAmountMinor, hasAmountMismatch, message, at } = event.data
      return change(state, { status: 'Cancelled', transactionAmountMinor, hasAmountMismatch, message, updatedAt: at })
    }
    case 'TransferFailed':
      return change(state, { status: 'Failed', message: event.data.message, updatedAt: event.data.at })
    case 'LateFundsReceived': {
      const { receivedAmountMinor, at } = event.data
      const before = existing(state)
      return { ...before, lateFundsMinor: (before.lateFundsMinor ?? 0n) + receivedAmountMinor, updatedAt: at }
    }
    case 'TransferReopened':
      return change(state, { status: 'ManualControl', message: event.data.reason, updatedAt: event.data.at })
    default:
      return event satisfies never
  }
}

/** Spread behind fields of one's own, never before new ones: V8 takes twenty times as long for that, 4 µs at every create. */
function created(data: TransferCreated['data']): Existing {
  return {
    trackingId: data.trackingId,
    merchantId: data.merchantId,
    referenceId: data.referenceId,
    status: 'Pending',
    amountMinor: data.amountMinor,
    transactionAmountMinor: 0n,
    hasAmountMismatch: false,
    receiptUrl: null,
    message: null,
    userId: data.userId,
    name: data.name,
    username: data.username,
    paymentMethod: data.paymentMethod,
    createdAt: data.at,
    updatedAt: data.at,
  }
}

function change(state: TransferState, changes: Partial<Existing> & { readonly status: Status }): Transfer {
  return { ...existing(state), ...changes }
}

function existing(state: TransferState): Transfer {
  if (state.kind === 'none') throw new Error('a transfer changed before it was created')
  return state
}

export function isTerminal(status: Status): boolean {
  return status === 'Completed' || status === 'Cancelled' || status === 'Failed'
}

/** The kind as the specification's `transactionType`. */
export function transactionType(kind: TransferKind): 1 | 2 {
  return kind === 'deposit' ? 1 : 2
}
