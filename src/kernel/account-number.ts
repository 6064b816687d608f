import { asciiDigits } from './text.js'

/** What people write between the groups of an account number. */
const separators = /[\s\p{Dash_Punctuation}\p{Cf}./]/gu

/**
 * Returns the form in which account numbers are compared, which the forms of one account share: in capitals, without spaces, hyphens, full
 * stops and slashes. An IBAN is paid in this form; of other account numbers, a bank may need what it omits.
 */
export function plainAccountNumber(text: string): string {
  return asciiDigits(text.normalize('NFKC')).replaceAll(separators, '').toUpperCase()
}
