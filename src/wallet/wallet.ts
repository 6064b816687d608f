import type { CollectionRefusal } from '../domain/payment/payment-events.js'

/**
 * The wallet port: whose accounts customers pay from. The built-in wallet and any wallet core behind the documented HTTP
 * contract implement it. It knows accounts, codes, devices and money; it knows nothing of transfers but their trackingId.
 */

/** Positive, at most 12 digits. */
export type AccountNumber = number

export type LogIn =
  | {
      readonly outcome: 'accepted'
      readonly accountNumber: AccountNumber
      /** Its money is for trying things out: it pays deposits of sandbox merchants, and no other account does. */
      readonly sandbox: boolean
    }
  /**
   * Unknown account or wrong password: one answer to the customer, in the same time. `isAccount`: it is a wrong password,
   * where the wallet says so. Not to be told; it makes the failure one that is counted durably.
   */
  | { readonly outcome: 'refused'; readonly isAccount?: true }

/** One request for a code. Its id (UUID) is new for every log-in and belongs to one transfer. */
export interface CodeChallenge {
  readonly id: string
  readonly accountNumber: AccountNumber
}

/** What messages tell the customer of the payment they are about. */
export interface PaymentTold {
  readonly merchantName: string
  /** Minor units. */
  readonly amountMinor: bigint
}

/** Where a customer pays from: an opaque digest of the merchant and the merchant's userId. */
export type DeviceId = string

export interface Collect {
  /** The same trackingId is collected at most once, however often it is asked. */
  readonly trackingId: string
  readonly accountNumber: AccountNumber
  /** Minor units, above 0. */
  readonly amountMinor: bigint
  /** The deposit is a sandbox merchant's. */
  readonly sandbox: boolean
  /** What the account's statement shows: the merchant's name and its referenceId. */
  readonly description: string
}

export type Collection =
  | {
      readonly outcome: 'collected'
      /** What was really debited, minor units: a wallet core may take another amount than it was asked to. */
      readonly amountMinor: bigint
      readonly receiptUrl: string | null
    }
  | { readonly outcome: 'refused'; readonly reason: CollectionRefusal }

/** Every method may throw {@link WalletUnavailableError}. */
export interface Wallet {
  /**
   * Set where {@link collectionOf} reads what {@link collect} writes, so that its `undefined` proves that nothing was taken.
   * Elsewhere a collection may still be on its way, and only a person can tell.
   */
  readonly absenceIsProof?: true
  /** Why nobody can log in as the wallet is set up; undefined when nothing is missing. Asks nobody. */
  whyUnprepared?(): string | undefined
  /** Through whichever merchant: one merchant's log-ins must not hold up another's. */
  logIn(email: string, password: string, merchantId: string): Promise<LogIn>
  /** Sends a six-digit code to the account's phone, with what is paid. A repeat for the same challenge sends the same code. */
  sendCode(challenge: CodeChallenge, payment: PaymentTold): Promise<void>
  /** Counting attempts is the caller's part. */
  verifyCode(challenge: CodeChallenge, code: string): Promise<boolean>
  isTrusted(accountNumber: AccountNumber, device: DeviceId): Promise<boolean>
  /** Sends an e-mail whose button leads to `confirmUrl`. */
  askToTrust(
    request: PaymentTold & { readonly accountNumber: AccountNumber; readonly confirmUrl: string },
  ): Promise<void>
  /** A device that is trusted already stays so. */
  trust(accountNumber: AccountNumber, device: DeviceId): Promise<void>
  /** @throws WalletOutcomeUnknownError */
  collect(request: Collect): Promise<Collection>
  /** What became of an earlier {@link collect}; undefined when no money was taken for it so far. */
  collectionOf(request: Pick<Collect, 'trackingId' | 'accountNumber'>): Promise<Collection | undefined>
}

/** The wallet cannot be reached, and nothing was done. Trying again later is safe. */
export class WalletUnavailableError extends Error {
  override readonly name = 'WalletUnavailableError'
}

/** Money may or may not have been taken (a timeout, a lost reply): never a failure, never to be repeated blindly. */
export class WalletOutcomeUnknownError extends Error {
  override readonly name = 'WalletOutcomeUnknownError'
}
