import { typedAmount } from '../../../../src/kernel/typed-text'

interface Currency {
  readonly code: string
  readonly digits: number
}

/** Returns functions that format and parse amounts of a currency as a locale writes them. */
export function amountsIn(locale: string, { code, digits }: Currency) {
  const fraction = { minimumFractionDigits: digits, maximumFractionDigits: digits }
  const withCurrency = new Intl.NumberFormat(locale, {
    style: 'currency',
    currency: code,
    currencyDisplay: 'narrowSymbol',
    ...fraction,
  })
  const plain = new Intl.NumberFormat(locale, fraction)
  const ungrouped = new Intl.NumberFormat(locale, { ...fraction, useGrouping: false })
  const exact = (minor: number | bigint) => decimalOf(BigInt(minor))
  return {
    code,
    digits,
    format: (minor: number | bigint) => withCurrency.format(exact(minor)),
    formatPlain: (minor: number | bigint) => plain.format(exact(minor)),
    /** Returns the parts of a formatted amount: the currency, the decimals with their separator, and the rest. */
    parts: (minor: number | bigint, isPlain: boolean) => {
      const parts = (isPlain ? plain : withCurrency).formatToParts(exact(minor))
      return joined(parts.map(({ type, value }) => ({ type: partTypes[type] ?? 'main', value })))
    },
    /** Formats an amount for an input field, without grouping. */
    formatField: (minor: number | bigint) => ungrouped.format(exact(minor)),
    /** Returns the minor units of the typed amount, or `undefined` if it is invalid or ambiguous. */
    parse: (text: string) => parseAmount(text, separatorsOf(plain), digits),
  }
}

const partTypes: { readonly [type: string]: 'currency' | 'cents' } = {
  currency: 'currency',
  decimal: 'cents',
  fraction: 'cents',
}

interface Part {
  readonly type: 'currency' | 'cents' | 'main'
  readonly value: string
}

/** Joins neighbouring parts of the same type. */
function joined(parts: readonly Part[]): readonly Part[] {
  const all: Part[] = []
  for (const part of parts) {
    const last = all.at(-1)
    if (last?.type === part.type) all[all.length - 1] = { ...last, value: last.value + part.value }
    else all.push(part)
  }
  return all
}

/** Minor units are hundredths in every currency. Amounts of a currency without decimals are multiples of 100. */
const minorDigits = 2

/** Returns the amount as decimal text, so that it never becomes a floating-point number. */
function decimalOf(minor: bigint): Intl.StringNumericLiteral {
  const sign = minor < 0n ? '-' : ''
  const digits = String(minor < 0n ? -minor : minor).padStart(minorDigits + 1, '0')
  return `${sign}${digits.slice(0, -minorDigits)}.${digits.slice(-minorDigits)}` as Intl.StringNumericLiteral
}

interface Separators {
  readonly group: string
  readonly decimal: string
}

function separatorsOf(format: Intl.NumberFormat): Separators {
  const parts = format.formatToParts(1_234_567.5)
  const find = (type: string) => parts.find((part) => part.type === type)?.value
  return { group: find('group') ?? ',', decimal: find('decimal') ?? '.' }
}

function parseAmount(text: string, separators: Separators, digits: number): number | undefined {
  const [, whole, fraction = ''] = /^(\d{1,12})(?:\.(\d+))?$/.exec(typedAmount(text, separators) ?? '') ?? []
  if (whole === undefined || fraction.length > digits) return undefined
  return Number(whole + fraction.padEnd(minorDigits, '0'))
}
