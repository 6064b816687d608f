/** Every reason for which a step of the wallet flow fails. docs/reference/errors.md explains what a merchant does about each. */
export type WalletFailureReason =
  | 'unknown-transfer'
  /** It is a withdrawal, a deposit of the other channel, or no longer Pending. */
  | 'not-payable'
  | 'manual-method'
  | 'expired-deposit'
  | 'bad-login'
  /** The account had too many logins, of any merchant. */
  | 'login-throttled'
  | 'too-many-logins'
  /** The token was not issued by this service, or for a different step, transfer or merchant. */
  | 'bad-token'
  | 'expired-token'
  | 'used-token'
  | 'wrong-code'
  | 'too-many-codes'
  /** The account had too many wrong codes, of any merchant. */
  | 'codes-locked'
  /** The customer has not confirmed the device. The client polls. */
  | 'device-pending'
  /** The collection is in progress. The client polls. */
  | 'payment-under-way'
  /** The deposit stays Pending: the customer can top up the account and continue. */
  | 'insufficient-balance'
  | 'account-blocked'
  /** The deposit needs manual review. A callback reports the result. */
  | 'manual-control'
  | 'wallet-unavailable'

export interface WalletFailure {
  readonly ok: false
  readonly reason: WalletFailureReason
  /** An explanation in addition to the reason. */
  readonly details?: string
  readonly retryAfterSeconds?: number
}

const waitSeconds: { readonly [reason in WalletFailureReason]?: number } = {
  'device-pending': 2,
  'payment-under-way': 2,
  'wallet-unavailable': 5,
}

export function walletFailure(
  reason: WalletFailureReason,
  particulars: { readonly details?: string; readonly retryAfterSeconds?: number } = {},
): WalletFailure {
  const { details, retryAfterSeconds = waitSeconds[reason] } = particulars
  return {
    ok: false,
    reason,
    ...(details !== undefined && { details }),
    ...(retryAfterSeconds !== undefined && { retryAfterSeconds }),
  }
}
