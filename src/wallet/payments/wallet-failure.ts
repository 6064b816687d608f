/** Every failure of a step of the wallet flow with its text. docs/reference/errors.md explains what a merchant does about each. */
const messages = {
  'unknown-transfer': 'Transfer not found.',
  /** It is a withdrawal, a deposit of the other channel, or no longer Pending. */
  'not-payable': 'This transfer cannot be paid from a wallet.',
  'manual-method': 'The payment method of this deposit is not paid from a wallet.',
  'expired-deposit': 'The deposit has expired.',
  'bad-login': 'The account does not exist or the password is wrong.',
  /** The account had too many logins, of any merchant. */
  'login-throttled': 'Too many logins to this account. Wait a moment.',
  'too-many-logins': 'Too many logins for this deposit. Create another deposit.',
  /** The token was not issued by this service, or for a different step, transfer or merchant. */
  'bad-token': 'The token is not valid for this step of this transfer.',
  'expired-token': 'The token has expired. Log in again.',
  'used-token': 'The token was already used. Log in again.',
  'wrong-code': 'The code is wrong.',
  'too-many-codes': 'Too many wrong codes. Log in again.',
  /** The account had too many wrong codes, of any merchant. */
  'codes-locked': 'Too many wrong codes for this account. Try again later.',
  /** The customer has not confirmed the device. The client polls. */
  'device-pending': 'The device is not confirmed yet. The customer has received an email about it.',
  /** The collection is in progress. The client polls. */
  'payment-under-way': 'The payment is in progress. Try again in a moment.',
  /** The deposit stays Pending: the customer can top up the account and continue. */
  'insufficient-balance': 'The balance of the account is too small.',
  'account-blocked': 'The account is blocked.',
  /** The deposit needs manual review. A callback reports the result. */
  'manual-control': 'The deposit is under review. A callback will follow.',
  'wallet-unavailable': 'The wallet is unavailable. No money was taken.',
} as const

export type WalletFailureReason = keyof typeof messages

export interface WalletFailure {
  readonly ok: false
  readonly reason: WalletFailureReason
  readonly message: string
  readonly retryAfterSeconds?: number
}

const retryAfterSeconds: { readonly [reason in WalletFailureReason]?: number } = {
  'device-pending': 2,
  'payment-under-way': 2,
  'wallet-unavailable': 5,
}

export function walletFailure(
  reason: WalletFailureReason,
  particulars: { readonly message?: string; readonly retryAfterSeconds?: number } = {},
): WalletFailure {
  const waitSeconds = particulars.retryAfterSeconds ?? retryAfterSeconds[reason]
  const message = particulars.message ?? messages[reason]
  return { ok: false, reason, message, ...(waitSeconds !== undefined && { retryAfterSeconds: waitSeconds }) }
}
