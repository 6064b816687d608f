import type { CollectionRefusal } from '../domain/payment.js'

// The wallet port: the accounts that customers pay from. The built-in wallet implements it, and so does any wallet core with the documented
// HTTP contract. A wallet has accounts, codes, devices and money. Of a transfer it only receives the trackingId.

export type LogIn =
  /** `sandbox`: the account pays deposits of sandbox merchants, and only such an account does. */
  | { readonly outcome: 'accepted'; readonly accountNumber: number; readonly sandbox: boolean }
  /** `isAccount`: the account exists, so the wrong password is counted durably. The response must not reveal it. */
  | { readonly outcome: 'refused'; readonly isAccount?: true }

/** `id` is a UUID, new for every login. */
export type CodeChallenge = { readonly id: string; readonly accountNumber: number }

/** The payment that a message describes to the customer. */
export type DescribedPayment = { readonly merchantName: string; readonly amountMinor: bigint }

export interface Collect {
  /** The money of a trackingId is collected at most once, regardless of how often it is requested. */
  readonly trackingId: string
  readonly accountNumber: number
  readonly amountMinor: bigint
  readonly sandbox: boolean
  /** The text on the account's statement: the merchant's name and its referenceId. */
  readonly description: string
}

export type Collection =
  /** A wallet core may debit a different amount than requested. */
  | { readonly outcome: 'collected'; readonly amountMinor: bigint; readonly receiptUrl: string | null }
  | { readonly outcome: 'refused'; readonly reason: CollectionRefusal }

export interface WalletRefund {
  /** The money of a reference is credited at most once, regardless of how often it is requested. */
  readonly reference: string
  readonly accountNumber: number
  readonly amountMinor: bigint
}

/** Every method may throw {@link WalletUnavailableError}. */
export interface Wallet {
  /** The `undefined` of {@link collectionOf} proves that no money was taken. Otherwise a collection may still be in progress. */
  readonly absenceIsProof?: true
  /** Returns why the configuration of the wallet allows no login, or `undefined` if it is complete. Calls no other system. */
  unpreparedReason?(): string | undefined
  /** Checks a password. `merchantId` is the party that the check is queued for: one merchant's logins must not delay another's. */
  logIn(email: string, password: string, merchantId: string): Promise<LogIn>
  /** Sends a six-digit code to the account's phone. A repeat for the same challenge sends the same code. */
  sendCode(challenge: CodeChallenge, payment: DescribedPayment): Promise<void>
  /** The caller limits the attempts. */
  verifyCode(challenge: CodeChallenge, code: string): Promise<boolean>
  isTrusted(accountNumber: number, device: string): Promise<boolean>
  /** Sends an email whose button leads to `confirmUrl`. */
  requestTrust(
    request: DescribedPayment & { readonly accountNumber: number; readonly confirmUrl: string },
  ): Promise<void>
  /** Does nothing if the device is already trusted. */
  trust(accountNumber: number, device: string): Promise<void>
  /** Takes the money from the account. @throws WalletOutcomeUnknownError */
  collect(request: Collect): Promise<Collection>
  /** Returns the outcome of an earlier {@link collect}, or `undefined` if no money was taken for it. */
  collectionOf(request: Pick<Collect, 'trackingId' | 'accountNumber'>): Promise<Collection | undefined>
  /** Returns money to the account, or `false` if the account can never receive it. A wallet that cannot return money has no such method. */
  refund?(request: WalletRefund): Promise<boolean>
}

/** The wallet is unavailable, and nothing was done. Trying again later is safe. */
export class WalletUnavailableError extends Error {
  override readonly name = 'WalletUnavailableError'
}

/** Money may have been taken (a timeout, a lost reply). This is not a failure and must not be retried blindly. */
export class WalletOutcomeUnknownError extends Error {
  override readonly name = 'WalletOutcomeUnknownError'
}
