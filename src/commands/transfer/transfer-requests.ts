import type { Transfer } from '../../domain/transfer/transfer.js'
import type { CreateDeposit, CreateWithdrawal } from '../../domain/transfer/transfer-commands.js'
import type { Refused } from '../../kernel/decision.js'
import type { RequestHash } from './hash-uniqueness.js'

interface WithHash {
  /** The verified hashCode; omitted if the request has none. */
  readonly hash?: RequestHash | undefined
}

export type DepositRequest = Omit<CreateDeposit, 'type' | 'trackingId' | 'at' | 'expiresAt'> &
  WithHash & { readonly expiryMinutes: number }
export type WithdrawalRequest = Omit<CreateWithdrawal, 'type' | 'trackingId' | 'at'> & WithHash
export type CreateRequest = DepositRequest | WithdrawalRequest

export interface CompleteRequest {
  readonly transactionAmountMinor?: bigint | undefined
  /** The same amount again, required if it is unlikely. */
  readonly confirmedAmountMinor?: bigint | undefined
  readonly receiptUrl?: string | undefined
  readonly message?: string | undefined
  /** The reason why the amount differs from the received one. */
  readonly reason?: string | undefined
}

/** How a user acts on a transfer that the user has seen. */
export interface Acting {
  /** The revision that the user saw. If the transfer has changed since, the action is rejected. */
  readonly revision?: number
  /** Requires the user's own claim to settle a withdrawal. */
  readonly underClaim?: boolean
}

export type TransferResult = (FoundTransfer & { readonly accepted: true; readonly changed: boolean }) | Refused

export interface FoundTransfer {
  readonly transfer: Transfer
  /** The revision of its last event. */
  readonly revision: number
}
