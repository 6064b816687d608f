import {
  AccountNumber,
  Count,
  Data,
  type EventsOf,
  Id,
  Minor,
  Nullable,
  OneOf,
  Personal,
  PositiveMinor,
  Text,
  Time,
  type ValueOf,
} from '../event.js'

/** `unknown`: money may or may not have been taken. `not-taken`: the provider was unreachable, or nothing was left to pay. */
const CollectionOutcome = OneOf('collected', 'refused', 'unknown', 'not-taken')
export type CollectionOutcome = ValueOf<typeof CollectionOutcome>

const CollectionRefusal = OneOf('insufficient-balance', 'account-blocked')
export type CollectionRefusal = ValueOf<typeof CollectionRefusal>

const payment = { trackingId: Id, merchantId: Id, at: Time }

const challenge = {
  ...payment,
  /** The UUID of the login, which is also the `jti` of its tokens. */
  challengeId: Id,
}

/** The number of the account that the customer pays from. */
const PayersAccount = Personal(AccountNumber)

/** How a customer pays one deposit from a wallet account, in `payment-<trackingId>`. No event holds a password or a code. */
export const paymentEvents = {
  /** The password was correct, and a code is being sent. */
  WalletLoggedIn: Data({ ...challenge, accountNumber: PayersAccount }),
  /** A code is about to be compared. This is recorded first, so that every attempt counts. */
  WalletCodeAttempted: Data({ ...challenge, attempt: Count }),
  /** The code was correct, and the token of the login is used up. */
  WalletCodeVerified: Data(challenge),
  /** The device is not trusted. The customer receives an email, whose link works until `expiresAt`. */
  WalletDeviceQuestioned: Data({ ...challenge, expiresAt: Time }),
  WalletDeviceConfirmed: Data(challenge),
  /** The provider is about to be called. This is recorded first, so that a crash leaves a trace. */
  WalletCollectionStarted: Data({
    ...challenge,
    /** The number of the collection among those of the deposit, from 1. */
    collection: Count,
    accountNumber: PayersAccount,
    amountMinor: PositiveMinor,
  }),
  WalletCollectionEnded: Data({
    ...payment,
    collection: Count,
    outcome: CollectionOutcome,
    /** The collected amount; 0 for any other outcome. */
    collectedAmountMinor: Minor,
    receiptUrl: Nullable(Text),
    /** The reason of a refusal; null for any other outcome. */
    reason: Nullable(CollectionRefusal),
  }),
}

export type PaymentEvent = EventsOf<typeof paymentEvents>

/** Wrong codes for one wallet account in the deposits of all merchants, in `walletcodes-<keyed digest>`. */
export const codeCapEvents = {
  WalletCodeRefused: Data({ ...challenge, accountNumber: PayersAccount, attempt: Count }),
}

/** Wrong passwords for one wallet account, and its known devices, in `walletlogins-<keyed digest of the email>`. */
export const walletLoginEvents = {
  WalletLogInFailed: Data({
    ...payment,
    /** A device that is known to the account; null for all unknown devices jointly. */
    device: Nullable(Id),
    /** The number of failures from 1, since the last correct password of a known device, or since a day without any. */
    failure: Count,
  }),
  /** The password was correct on this device, whose earlier failures no longer count. */
  WalletLogInDeviceKnown: Data({ ...payment, device: Id }),
}
