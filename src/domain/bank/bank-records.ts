/**
 * The content of a bank's file, in the order of the file and in the same form for every format. Amounts are hundredths of their currency and
 * never negative, and days are such as `2026-03-02`. Null means that the file does not state it.
 */
export type BankRecord = StatementStart | BankEntry | StatementEnd | PaymentStatus

export type BankFileFormat = 'camt.052' | 'camt.053' | 'camt.054' | 'pain.002' | 'MT940' | 'MT942' | 'csv'

export interface StatementStart {
  readonly type: 'statement'
  readonly format: Exclude<BankFileFormat, 'pain.002'>
  /** The IBAN, or the bank's own form of the account number, without spaces; null in a CSV file. */
  readonly account: string | null
  /** The currency of the account, such as `EUR`. */
  readonly currency: string | null
  /** The bank's id of the statement. */
  readonly statementId: string | null
  /** The bank's number of the statement, such as `42` or `42/1`. */
  readonly number: string | null
}

/** The end of the statement, whose balances some formats state only there. */
export interface StatementEnd {
  readonly type: 'statement-end'
  readonly opening: Balance | null
  readonly closing: Balance | null
}

/** `amountMinor` is negative for an overdrawn account. */
export interface Balance {
  readonly amountMinor: bigint
  readonly currency: string
  readonly date: string
}

/** A booking of a statement: one payment, or several that were booked as one amount. */
export interface BankEntry {
  readonly type: 'entry'
  /** The place among the entries of its statement, from 1. */
  readonly number: number
  readonly status: 'booked' | 'pending'
  /** Whether the account's balance grew by the amount. */
  readonly direction: 'credit' | 'debit'
  /** Whether the bank takes an earlier entry of the opposite direction back. */
  readonly isReversal: boolean
  readonly amountMinor: bigint
  readonly currency: string
  /** The day on which it was booked, or else the day of its value. */
  readonly date: string
  /** The bank's reference of the entry. */
  readonly bankReference: string | null
  /** The bank's code of the kind, such as `PMNT-RCDT-ESCT` or the German `166`. */
  readonly kind: string | null
  /** The bank's text about the entry. */
  readonly text: string | null
  /** The id of the customer's file that it executes as one amount (`MsgId` or `PmtInfId`). */
  readonly fileId: string | null
  /** The number of payments that it contains, as stated. */
  readonly paymentCount: number | null
  /** The payments that it contains, as far as the file names them. Their amounts need not add up to the entry's amount. */
  readonly payments: readonly BankPayment[]
}

export interface BankPayment {
  /** The amount in the currency of the entry; null if the file states none and the entry has several payments. */
  readonly amountMinor: bigint | null
  /** The payer's own id. `NOTPROVIDED` is null. */
  readonly endToEndId: string | null
  readonly bankReference: string | null
  /** The other party of the payment: the payer of a credit, the payee of a debit. */
  readonly name: string | null
  /** The other party's IBAN or account number, without spaces. */
  readonly account: string | null
  /** The lines of the remittance information, as the file splits them. */
  readonly remittance: readonly string[]
  /** The structured reference of the creditor, such as `RF18539007547034`. */
  readonly creditorReference: string | null
  /** The amount that was instructed, if it differs from the booked one because of charges or an exchange. */
  readonly instructed: { readonly amountMinor: bigint; readonly currency: string } | null
  /** The sum of the charges in the currency of the entry that are included in its amount. */
  readonly chargesMinor: bigint | null
  /** Present if the payment returns an earlier one. */
  readonly returned: ReturnedPayment | null
}

export interface ReturnedPayment {
  /** The code of ISO 20022, such as `AC04`; null if the file states none. */
  readonly reasonCode: string | null
  readonly reasonText: string | null
  /** The `EndToEndId` of the returned payment, if the file states it apart from its own. */
  readonly originalEndToEndId: string | null
}

/** The status of a payment of a file that the bank received (pain.002). */
export interface PaymentStatus {
  readonly type: 'status'
  /** The id of the customer's file (`OrgnlMsgId`). */
  readonly fileId: string | null
  /** Null if the status is about every payment of the file. */
  readonly endToEndId: string | null
  readonly status: 'rejected' | 'accepted' | 'pending'
  /** The bank's code of the status, such as `RJCT` or `ACSC`. */
  readonly statusCode: string
  /** The code of ISO 20022 for the reason, such as `AC01`. */
  readonly reasonCode: string | null
  readonly reasonText: string | null
}

/** The largest number of payments that one entry names. */
export const maxPaymentsOfEntry = 10_000

/** How the columns of a bank's CSV file are read. */
export interface CsvMapping {
  readonly separator: ',' | ';' | '\t' | '|'
  readonly decimalMark: '.' | ','
  /** The form of dates, from `YYYY`, `YY`, `MM` and `DD`, such as `DD.MM.YYYY`. */
  readonly dateFormat: string
  /** The names of the columns as the header line has them. */
  readonly columns: {
    readonly date: string
    /** One column with a sign, or two: `credit` and `debit`. */
    readonly amount?: string
    readonly credit?: string
    readonly debit?: string
    /** The column that states the direction of `amount`, with the values that mean a debit, such as `S`, `D` or `DBIT`. */
    readonly sign?: string
    readonly currency?: string
    readonly name?: string
    readonly account?: string
    readonly remittance?: string
    readonly endToEndId?: string
    readonly bankReference?: string
    readonly balance?: string
  }
  readonly debitValues?: readonly string[]
  /** The currency, if no column states it. */
  readonly currency?: string
  /** The lines above the header line. */
  readonly skipLines?: number
}
