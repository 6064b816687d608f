import { getCountrySpecifications, isSEPACountry, isValidIBAN } from 'ibantools'
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

/** Returns whether the text is the ISO 3166 code of a country, such as `DE`. */
export const isCountry = (text: string): boolean => Object.hasOwn(getCountrySpecifications(), text)

const economicArea = new Set(
  'AT BE BG CY CZ DE DK EE ES FI FR GR HR HU IE IS IT LI LT LU LV MT NL NO PL PT RO SE SI SK'.split(' '),
)

/** Returns the country of a valid IBAN outside the European Economic Area, or `undefined`. */
export function countryOutsideEea(iban: string): string | undefined {
  const country = iban.slice(0, 2)
  return economicArea.has(country) ? undefined : country
}

/** Returns whether a valid IBAN is one of Switzerland or Liechtenstein to which only payments with a QR reference can be made. */
export function isQrIban(iban: string): boolean {
  const institution = Number(iban.slice(4, 9))
  return /^(CH|LI)/.test(iban) && institution >= 30_000 && institution <= 31_999
}
