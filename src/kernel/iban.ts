import { isSEPACountry, isValidIBAN } from 'ibantools'
import { plainAccountNumber } from './account-number.js'

/** Returns an IBAN in electronic form, without spaces and in capitals, or `undefined` if it is not valid in its country. */
export function parseIban(text: string): string | undefined {
  const iban = plainAccountNumber(text)
  return isValidIBAN(iban) ? iban : undefined
}

/** The countries that joined SEPA in 2025 and 2026, which the library does not list yet. */
const joined = new Set(['AL', 'MD', 'ME', 'MK', 'RS'])

/** Returns the country of a valid IBAN that SEPA payments cannot reach, or `undefined`. */
export function countryOutsideSepa(iban: string): string | undefined {
  const country = iban.slice(0, 2)
  return isSEPACountry(country) || joined.has(country) ? undefined : country
}
