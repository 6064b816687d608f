import fc from 'fast-check'
import t from 'tap'
import { pageModule } from './page-module.js'

interface Amounts {
  format(minor: number | bigint): string
  formatPlain(minor: number | bigint): string
  formatField(minor: number | bigint): string
  parse(text: string): number | undefined
}

const { amountsIn } = await pageModule<{
  amountsIn(locale: string, currency: { code: string; digits: number }): Amounts
}>('components/amount-format.ts')

const lira = { code: 'TRY', digits: 2 }
const english = amountsIn('en-GB', lira)
const turkish = amountsIn('tr-TR', lira)
/** Replaces spaces of any width with a plain space. */
const plain = (text: string) => text.replaceAll(/\s/g, ' ')

t.test('shows every minor unit of large amounts', async (t) => {
  t.equal(plain(english.format(123_456)), '₺1,234.56')
  t.equal(plain(turkish.format(123_456)), '₺1.234,56')
  t.equal(english.formatPlain(5), '0.05')
  t.equal(english.formatPlain(-5), '-0.05')
  // A floating-point number would round above 2 ** 53 minor units.
  t.equal(english.formatPlain(90_071_992_547_409_931n), '900,719,925,474,099.31')
  t.equal(plain(amountsIn('en-GB', { code: 'JPY', digits: 0 }).format(123_400)), '¥1,234')
  t.equal(
    amountsIn('en-GB', { code: 'JPY', digits: 0 }).parse('1,234'),
    123_400,
    'minor units are hundredths in every currency',
  )
})

t.test('parses every formatted amount back, grouped or not, in every locale and currency', async (t) => {
  const locales = fc.constantFrom('en-GB', 'en-US', 'tr-TR', 'en-IN', 'en-ZA')
  fc.assert(
    fc.property(locales, fc.constantFrom(0, 2), fc.nat(2 ** 24), (locale, digits, units) => {
      const minor = digits === 0 ? units * 100 : units
      const { formatField, formatPlain, parse } = amountsIn(locale, { code: 'XTS', digits })
      const isIndian = locale === 'en-IN' && minor >= 100_000 * 100
      return parse(formatField(minor)) === minor && (isIndian || parse(formatPlain(minor)) === minor)
    }),
  )
  t.pass()
})

t.test('does not parse ambiguous or invalid amounts', async (t) => {
  const read = (amounts: Amounts) => (typed: string) => amounts.parse(typed)
  const cases: [string, number | undefined, number | undefined][] = [
    ['100', 10_000, 10_000],
    ['100.5', 10_050, 10_050],
    ['100.50', 10_050, 10_050],
    ['100,50', undefined, 10_050],
    ['1,234', 123_400, undefined],
    ['1.234', undefined, 123_400],
    ['1,234.50', 123_450, undefined],
    ['1.234,50', undefined, 123_450],
    ['12,34', undefined, 1_234],
    ['1,2345', undefined, undefined],
    ['1 234,50', undefined, 123_450],
    ['1\u00a0234\u202f567.5', 123_456_750, 123_456_750],
    ['١٬٢٣٤٫٥٠', 123_450, 123_450],
    ['\u200f１２３４．５０', 123_450, 123_450],
    ['1 23', undefined, undefined],
    ['1٬234.500', undefined, undefined],
    [' 7 ', 700, 700],
    ['0.001', undefined, undefined],
    ['-5', undefined, undefined],
    ['1e3', undefined, undefined],
    ['5 TRY', undefined, undefined],
    ['.5', undefined, undefined],
    ['', undefined, undefined],
    ['9999999999999', undefined, undefined],
  ]
  for (const [typed, inEnglish, inTurkish] of cases) {
    t.equal(read(english)(typed), inEnglish, `${typed} in English`)
    t.equal(read(turkish)(typed), inTurkish, `${typed} in Turkish`)
  }
})
