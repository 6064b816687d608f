import { asciiDigits } from './typed-text.js'

/** What people write between the groups of an account number, and the invisible marks that they copy with it. */
const separators = /[\s\p{Dash}\p{Cf}\p{Default_Ignorable_Code_Point}./]/gu

/** The word that printed IBANs start with. */
const ibanWord = /^IBAN:?(?=[A-Z]{2}[0-9]{2})/

/**
 * Returns the form in which account numbers are compared, which the forms of one account share: in capitals, without spaces, hyphens, full
 * stops and slashes. An IBAN is paid in this form; of other account numbers, a bank may need what it omits.
 */
export function plainAccountNumber(text: string): string {
  return asciiDigits(text.normalize('NFKC')).replaceAll(separators, '').toUpperCase().replace(ibanWord, '')
}
