import type { EventsOf } from '../event.js'

/** What happens to an account of the built-in wallet. E-mail and phone appear only sealed, the password only as a keyed hash. */

interface Common {
  readonly accountNumber: number
  readonly at: string
}

interface Payment extends Common {
  readonly trackingId: string
  readonly amountMinor: bigint
  readonly description: string
}

interface WalletAccountData {
  WalletAccountOpened: Common & {
    /** Keyed digest of the e-mail, normalised: the same one that its reservation is found by. */
    emailMac: string
    email: string
    phone: string
    /** argon2id over a keyed digest: worth nothing without the key, which is not in the log. */
    passwordHash: string
    /** Made for trying things out, with money that is none: usable in sandbox operation only. */
    sandbox: boolean
  }
  WalletAccountCredited: Common & {
    /** Credited once for each reference. */
    reference: string
    amountMinor: bigint
  }
  /** At most one for each trackingId. */
  WalletAccountDebited: Payment
  /** A debit was asked for that the balance did not cover. It may be asked for again. */
  WalletDebitRefused: Payment
  WalletDeviceTrusted: Common & { device: string }
  /** The same e-mail and phone under another master key; nothing else changes. */
  WalletContactResealed: Common & { email: string; phone: string }
}

export type WalletAccountEvent = EventsOf<WalletAccountData>
