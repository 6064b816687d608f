import { plainAccountNumber } from '../kernel/account-number.js'
import { countryOutsideSepa, isCountry, isQrIban, parseIban } from '../kernel/iban.js'
import { violate } from './decider.js'
import type { Violation } from './rules.js'
import { isBic, type SepaDebtor } from './sepa-file.js'
import { sepaName, sepaText } from './sepa-text.js'

/** The account that pays, as its owner writes it. */
export interface Debtor {
  readonly name: string
  readonly iban: string
  readonly bic?: string | undefined
  /** Required if an account outside the European Economic Area pays or is paid. */
  readonly address?: Address | undefined
}

interface Address {
  readonly street?: string | undefined
  readonly building?: string | undefined
  readonly postcode?: string | undefined
  readonly town: string
  /** ISO 3166, such as `DE`. */
  readonly country: string
}

/** The most characters of each text of an address. */
const addressTexts = { street: 70, building: 16, postcode: 16, town: 35 } as const
const addressFields = ['street', 'building', 'postcode', 'town', 'country'] as const

export type DebtorProblem = Violation & { readonly about: 'name' | 'iban' | 'bic' | keyof Address }

/** `countries` are those outside the European Economic Area between which the file pays. */
export function debtorProblems({ name, iban, bic, address }: Debtor, countries: readonly string[]): DebtorProblem[] {
  const violations: readonly (readonly [DebtorProblem['about'], Violation | undefined])[] = [
    ['name', sepaName(name) === undefined ? violate('not-sepa-text') : undefined],
    ['iban', ibanProblem(iban, violate('iban-invalid'))],
    ['bic', bic && !isBic(plainAccountNumber(bic)) ? violate('bic-invalid') : undefined],
    ...addressFields.map((field) => [field, addressProblem(field, address, countries)] as const),
  ]
  return violations.flatMap(([about, violation]) => (violation ? [{ about, ...violation }] : []))
}

export function ibanProblem(text: string, invalid: Violation): Violation | undefined {
  const iban = parseIban(text)
  if (!iban) return invalid
  const country = countryOutsideSepa(iban)
  if (country) return violate('iban-not-sepa', { country })
  return isQrIban(iban) ? violate('qr-iban') : undefined
}

function addressProblem(
  field: keyof Address,
  address: Address | undefined,
  countries: readonly string[],
): Violation | undefined {
  const text = address?.[field]?.trim() ?? ''
  if (text === '') {
    if (field !== 'town' && field !== 'country') return undefined
    if (countries.length > 0) return violate('address-needed', { countries: countries.join(', ') })
    return address && violate('required')
  }
  if (field === 'country') return isCountry(text.toUpperCase()) ? undefined : violate('country-invalid')
  const converted = sepaText(text, Number.POSITIVE_INFINITY)
  if (converted === undefined) return violate('not-sepa-text')
  const most = addressTexts[field]
  return converted.length > most ? violate('too-long', { most }) : undefined
}

/** Returns a debtor without problems as the bank reads it. */
export function sepaDebtor({ name, iban, bic, address }: Debtor): SepaDebtor {
  const converted = (field: keyof typeof addressTexts) => sepaText(address?.[field] ?? '', addressTexts[field])
  return {
    name: sepaName(name)!,
    iban: parseIban(iban)!,
    bic: bic && plainAccountNumber(bic),
    address: address && {
      street: converted('street'),
      building: converted('building'),
      postcode: converted('postcode'),
      town: converted('town')!,
      country: address.country.trim().toUpperCase(),
    },
  }
}
