/** Every way a step of the wallet flow can fail, and what a person is told; docs/reference/errors.md says what a merchant does about each. */
const messages = {
  /** There is no such transfer, or it is another merchant's. */
  'unknown-transfer': 'There is no such transfer.',
  /** A withdrawal, a deposit of the other channel, or one that is no longer Pending. */
  'not-payable': 'This transfer cannot be paid from a wallet.',
  /** The deposit's payment method is manual: no wallet takes part. */
  'manual-method': 'The payment method of this deposit is not paid from a wallet.',
  'expired-deposit': 'The time for this deposit is over.',
  /** Unknown account or wrong password. */
  'bad-login': 'The account does not exist or the password is wrong.',
  /** Too many log-ins to this account, whichever merchant's. */
  'login-throttled': 'There were too many log-ins to this account; wait a moment.',
  'too-many-logins': 'There were too many log-ins for this deposit; create another one.',
  /** Not issued here, or for another step, transfer or merchant. */
  'bad-token': 'The token is not valid for this step of this transfer.',
  'expired-token': 'The token has expired; log in again.',
  /** The code of this log-in was right before. */
  'used-token': 'The token was used before; log in again.',
  'wrong-code': 'The code is wrong.',
  /** All attempts of this log-in are used: log in again. */
  'too-many-codes': 'There were too many wrong codes; log in again.',
  /** Too many wrong codes for this account, whichever merchant's. */
  'codes-locked': 'There were too many wrong codes for this account; try again later.',
  /** The customer has not confirmed the device yet: ask again. */
  'device-pending': 'The device is not confirmed yet; the customer has an e-mail about it.',
  /** Money is being taken just now: ask again. */
  'payment-under-way': 'The payment is being carried out; ask again in a moment.',
  /** The deposit stays Pending: the customer may top up and go on. */
  'insufficient-balance': 'The balance of the account is too small.',
  'account-blocked': 'The account is blocked.',
  /** A person looks at it; a callback tells what comes of it. */
  'manual-control': 'The deposit is being checked; a callback follows.',
  /** The wallet cannot be reached, and nothing was taken. */
  'wallet-unavailable': 'The wallet cannot be reached; nothing was taken.',
} as const

export type WalletFailureReason = keyof typeof messages

export interface WalletFailure {
  readonly ok: false
  readonly reason: WalletFailureReason
  /** A sentence for a person. */
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
