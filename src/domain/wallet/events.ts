/** What happens to an account of the built-in wallet. E-mail and phone appear only sealed, the password only as a keyed hash. */

export interface WalletAccountOpened {
  readonly type: 'WalletAccountOpened'
  readonly data: {
    readonly accountNumber: number
    /** Keyed digest of the e-mail, normalised: the same one that its reservation is found by. */
    readonly emailMac: string
    readonly email: string
    readonly phone: string
    /** argon2id over a keyed digest: worth nothing without the key, which is not in the log. */
    readonly passwordHash: string
    /** Made for trying things out, with money that is none: usable in sandbox operation only. */
    readonly sandbox: boolean
    readonly at: string
  }
}

export interface WalletAccountCredited {
  readonly type: 'WalletAccountCredited'
  readonly data: {
    readonly accountNumber: number
    /** Credited once for each reference. */
    readonly reference: string
    readonly amountMinor: bigint
    readonly at: string
  }
}

interface Payment {
  readonly accountNumber: number
  readonly trackingId: string
  readonly amountMinor: bigint
  readonly description: string
  readonly at: string
}

/** At most one for each trackingId. */
export interface WalletAccountDebited {
  readonly type: 'WalletAccountDebited'
  readonly data: Payment
}

/** A debit was asked for that the balance did not cover. It may be asked for again. */
export interface WalletDebitRefused {
  readonly type: 'WalletDebitRefused'
  readonly data: Payment
}

export interface WalletDeviceTrusted {
  readonly type: 'WalletDeviceTrusted'
  readonly data: { readonly accountNumber: number; readonly device: string; readonly at: string }
}

export type WalletAccountEvent =
  | WalletAccountOpened
  | WalletAccountCredited
  | WalletAccountDebited
  | WalletDebitRefused
  | WalletDeviceTrusted

/** The account that an e-mail belongs to. Another one follows only where the first could not be opened under its number. */
export interface WalletEmailReserved {
  readonly type: 'WalletEmailReserved'
  readonly data: { readonly accountNumber: number; readonly at: string }
}
