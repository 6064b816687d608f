import type { BankPayment } from '../domain/bank/bank-records.js'
import { isDate } from '../kernel/time.js'
import { fail } from './bank-file-error.js'

/** The forms of amounts, without a sign. MT940 requires the comma, also of a whole amount. */
const decimalForms = { xml: /^(\d{1,16})(?:\.(\d{1,20}))?$/, swift: /^(\d{1,16}),(\d{0,20})$/ }

/** Returns the hundredths of an exact amount. @throws BankFileError for more than two decimals that are not zero */
export function amountOf(text: string | null, form: keyof typeof decimalForms, place: string): bigint {
  const [, whole, fraction = ''] = decimalForms[form].exec(text ?? '') ?? []
  return (whole === undefined ? undefined : hundredths(whole, fraction)) ?? fail('bank-amount-invalid', { place })
}

/** Returns the hundredths, or `undefined` for more than two decimals that are not zero. */
export function hundredths(whole: string, fraction: string): bigint | undefined {
  const decimals = fraction.replace(/0+$/, '')
  return decimals.length > 2 ? undefined : BigInt(whole + decimals.padEnd(2, '0'))
}

/** Returns the day, such as `2026-03-02`. @throws BankFileError unless it is in the calendar */
export function dateOf(text: string, place: string): string {
  return isDate(text) ? text : fail('bank-date-invalid', { place })
}

/** Returns the trimmed text, or null if nothing is left. */
export const textOrNull = (text: string | undefined): string | null => text?.trim() || null

/** Returns the reference, or null for the words that banks write in place of a missing one. */
export function referenceOrNull(text: string | null | undefined): string | null {
  const reference = text?.trim() ?? ''
  return /^(not ?provided|nonref)?$/i.test(reference) ? null : reference
}

export const withoutSpaces = (text: string | null): string | null => text?.replaceAll(/\s/g, '') || null

/** A payment of which the file states nothing. */
export const unstatedPayment: BankPayment = {
  ...{ amountMinor: null, endToEndId: null, bankReference: null, name: null, account: null, remittance: [] },
  ...{ creditorReference: null, instructed: null, chargesMinor: null, returned: null },
}
