import type { EventsOf } from '../event.js'

/** What happens while a customer pays one deposit from a wallet account (`payment-<trackingId>`). No password and no code is in it. */

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

/** `unknown`: money may or may not have been taken. `not-taken`: the provider was not reached, or nothing was left to pay. */
export type CollectionOutcome = 'collected' | 'refused' | 'unknown' | 'not-taken'
export type CollectionRefusal = 'insufficient-balance' | 'account-blocked'

interface PaymentData {
  /** The password was right; a code is on its way. */
  WalletLoggedIn: OfChallenge & { accountNumber: number }
  /** A code is about to be compared: recorded before, so that no attempt goes uncounted. */
  WalletCodeAttempted: OfChallenge & { attempt: number }
  /** The code was right. The token of the log-in is used up. */
  WalletCodeVerified: OfChallenge
  /** The device is not trusted: the customer is asked by e-mail, whose link works until `expiresAt`. */
  WalletDeviceQuestioned: OfChallenge & { expiresAt: string }
  WalletDeviceConfirmed: OfChallenge
  /** The provider is about to be asked for the money: recorded before, so that a crash leaves a trace to follow. */
  WalletCollectionStarted: OfChallenge & {
    /** From 1, by one for each collection of this deposit. */
    collection: number
    accountNumber: number
    amountMinor: bigint
  }
  WalletCollectionEnded: Common & {
    collection: number
    outcome: CollectionOutcome
    /** What was really taken; 0 unless collected. */
    collectedAmountMinor: bigint
    receiptUrl: string | null
    /** Why it was refused; null otherwise. */
    reason: CollectionRefusal | null
  }
}

export type PaymentEvent = EventsOf<PaymentData>
