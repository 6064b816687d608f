import { Type } from '../../kernel/typebox.js'
import { AccountNumber, Data, type EventsOf, Id, PasswordHash, PositiveMinor, Sealed, Text, Time } from '../event.js'

const account = { accountNumber: AccountNumber, at: Time }
const payment = { ...account, trackingId: Id, amountMinor: PositiveMinor, description: Text }

/** The events of an account of the built-in wallet, in `wallet-<accountNumber>`. */
export const walletAccountEvents = {
  WalletAccountOpened: Data({
    ...account,
    /** The keyed digest of the normalised email, by which its reservation is found too. */
    emailMac: Id,
    email: Sealed,
    phone: Sealed,
    passwordHash: PasswordHash,
    /** Whether the account pays sandbox deposits only. Its money is not real. */
    sandbox: Type.Boolean(),
  }),
  /** At most one for each reference. */
  WalletAccountCredited: Data({ ...account, reference: Id, amountMinor: PositiveMinor }),
  /** At most one for each trackingId. */
  WalletAccountDebited: Data(payment),
  /** The balance did not cover a debit, which can be requested again. */
  WalletDebitRefused: Data(payment),
  WalletDeviceTrusted: Data({ ...account, device: Id }),
  /** The same email and phone, sealed with a different master key. */
  WalletContactResealed: Data({ ...account, email: Sealed, phone: Sealed }),
}

export type WalletAccountEvent = EventsOf<typeof walletAccountEvents>

/** The account that an email belongs to, in `walletemail-<keyed digest>`. A second event follows only if the first account could not be opened. */
export const walletEmailEvents = { WalletEmailReserved: Data(account) }
