import { asciiDigits } from './typed-text.js'

/** Matches the separators of groups and the invisible marks that are copied with an account number. */
const separators = /[\s\p{Dash}\p{Cf}\p{Default_Ignorable_Code_Point}./]/gu

/** ISO 13616 writes it before an IBAN on paper. */
const label = /^IBAN:?(?=[A-Z]{2}\d\d)/

/**
 * Returns the form in which account numbers are compared, which the forms of one account share: in capitals, without spaces, hyphens, full
 * stops and slashes, and without the word IBAN before one. An IBAN is paid in this form; of other account numbers, a bank may need the
 * omitted characters.
 */
export function plainAccountNumber(text: string): string {
  return asciiDigits(text.normalize('NFKC')).replaceAll(separators, '').toUpperCase().replace(label, '')
}
