import { asciiDigits } from './typed-text.js'

/** Matches the separators of groups and the invisible marks that are copied with an account number. */
const separators = /[\s\p{Dash}\p{Cf}\p{Default_Ignorable_Code_Point}./]/gu

/** ISO 13616 writes it before an IBAN on paper. */
const label = /^IBAN:?(?=[A-Z]{2}\d\d)/

/** An IBAN with or without gaps. */
const iban = /\b[A-Z]{2}\d{2}(?: ?[A-Z\d]{4}){2,7}(?: ?[A-Z\d]{1,3})?\b/

/** Returns the first text that looks like an IBAN, as it is written. */
export const ibanIn = (text: string): string | undefined => iban.exec(text)?.[0]

/**
 * Returns the form in which account numbers are compared, which the forms of one account share: in capitals, without spaces, hyphens, full
 * stops and slashes, and without the word IBAN before one. An IBAN is paid in this form; of other account numbers, a bank may need the
 * omitted characters.
 */
export function plainAccountNumber(text: string): string {
  return asciiDigits(text.normalize('NFKC')).replaceAll(separators, '').toUpperCase().replace(label, '')
}
