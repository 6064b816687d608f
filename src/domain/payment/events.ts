/**
 * What happens while a customer pays one deposit from a wallet account (`payment-<trackingId>`). No password and no code is
 * ever in here. Names and fields are a storage format: they only ever grow (docs/reference/events.md).
 */

interface Common {
  readonly trackingId: string
  readonly merchantId: string
  /** ISO 8601, by the service's clock. */
  readonly at: string
}

interface OfChallenge extends Common {
  /** UUID of the log-in; also the `jti` of the tokens it leads to. */
  readonly challengeId: string
}

/** The password was right; a code is on its way. */
export interface WalletLoggedIn {
  readonly type: 'WalletLoggedIn'
  readonly data: OfChallenge & { readonly accountNumber: number }
}

/** A code is about to be compared: recorded before, so that no attempt goes uncounted. */
export interface WalletCodeAttempted {
  readonly type: 'WalletCodeAttempted'
  readonly data: OfChallenge & { readonly attempt: number }
}

/** The code was right. The token of the log-in is used up. */
export interface WalletCodeVerified {
  readonly type: 'WalletCodeVerified'
  readonly data: OfChallenge
}

/** The device is not trusted: the customer is asked by e-mail, whose link works until `expiresAt`. */
export interface WalletDeviceQuestioned {
  readonly type: 'WalletDeviceQuestioned'
  readonly data: OfChallenge & { readonly expiresAt: string }
}

export interface WalletDeviceConfirmed {
  readonly type: 'WalletDeviceConfirmed'
  readonly data: OfChallenge
}

/** The provider is about to be asked for the money: recorded before, so that a crash leaves a trace to follow. */
export interface WalletCollectionStarted {
  readonly type: 'WalletCollectionStarted'
  readonly data: OfChallenge & {
    /** From 1, by one for each collection of this deposit. */
    readonly collection: number
    readonly accountNumber: number
    readonly amountMinor: bigint
  }
}

/** `unknown`: money may or may not have been taken. `not-taken`: the provider was not reached, or nothing was left to pay. */
export type CollectionOutcome = 'collected' | 'refused' | 'unknown' | 'not-taken'

export interface WalletCollectionEnded {
  readonly type: 'WalletCollectionEnded'
  readonly data: Common & {
    readonly collection: number
    readonly outcome: CollectionOutcome
    /** What was really taken; 0 unless collected. */
    readonly collectedAmountMinor: bigint
    readonly receiptUrl: string | null
    /** Why it was refused; null otherwise. */
    readonly reason: string | null
  }
}

export type PaymentEvent =
  | WalletLoggedIn
  | WalletCodeAttempted
  | WalletCodeVerified
  | WalletDeviceQuestioned
  | WalletDeviceConfirmed
  | WalletCollectionStarted
  | WalletCollectionEnded
