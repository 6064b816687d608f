interface Currency {
  readonly code: string
  readonly digits: number
}

/** How amounts of a currency are written in a locale, and read. */
export function amountsIn(locale: string, { code, digits }: Currency) {
  const fraction = { minimumFractionDigits: digits, maximumFractionDigits: digits }
  const withCurrency = new Intl.NumberFormat(locale, { style: 'currency', currency: code, ...fraction })
  const plain = new Intl.NumberFormat(locale, fraction)
  const ungrouped = new Intl.NumberFormat(locale, { ...fraction, useGrouping: false })
  const exact = (minor: number | bigint) => decimalOf(BigInt(minor))
  return {
    code,
    digits,
    format: (minor: number | bigint) => withCurrency.format(exact(minor)),
    formatPlain: (minor: number | bigint) => plain.format(exact(minor)),
    /** As it stands in a field. */
    formatField: (minor: number | bigint) => ungrouped.format(exact(minor)),
    /** Minor units of what was typed; undefined when it is no amount, or could be read in two ways. */
    parse: (text: string) => parseAmount(text, separatorsOf(plain), digits),
  }
}

/** Minor units are hundredths whatever the currency: those without decimals have whole hundreds of them. */
const minorDigits = 2

/** The decimal text, so that no amount passes through a floating-point number. */
function decimalOf(minor: bigint): Intl.StringNumericLiteral {
  const sign = minor < 0n ? '-' : ''
  const figures = String(minor < 0n ? -minor : minor).padStart(minorDigits + 1, '0')
  return `${sign}${figures.slice(0, -minorDigits)}.${figures.slice(-minorDigits)}` as Intl.StringNumericLiteral
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

/** Groups are of three digits, so that 100.50 in Turkish is a hundred and a half and never ten thousand. */
function parseAmount(text: string, { group, decimal }: Separators, digits: number): number | undefined {
  const typed = text.replaceAll(/\s/g, '')
  const grouped = typed.split(group.trim() || ' ')
  const isGrouped =
    grouped.length > 1 &&
    /^[1-9]\d{0,2}$/.test(grouped[0]!) &&
    grouped.slice(1).every((part) => /^\d{3}(?!\d)/.test(part))
  const plain = (isGrouped ? grouped.join('') : typed).replace(decimal, '.')
  const [, whole, fraction = ''] = /^(\d{1,12})(?:\.(\d+))?$/.exec(plain) ?? []
  if (whole === undefined || fraction.length > digits) return undefined
  return Number(whole + fraction.padEnd(minorDigits, '0'))
}
