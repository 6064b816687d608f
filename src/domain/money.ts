/** Amounts are bigint minor units (hundredths) in the service, and JSON numbers with at most two decimals at its edge. */

const amountText = /^(0|[1-9]\d{0,11})(?:\.(\d{1,2}))?$/

/** Returns the minor units of a JSON number's raw text, or `undefined` unless it is above 0, with at most two decimals and no exponent. */
export function parseAmount(text: string): bigint | undefined {
  const match = amountText.exec(text)
  if (!match?.[1]) return undefined
  const minor = BigInt(match[1]) * 100n + BigInt((match[2] ?? '').padEnd(2, '0'))
  return minor > 0n ? minor : undefined
}

/** Returns the shortest text, which JSON prints too: `100` for 10000n and `100.5` for 10050n. */
export const formatShortest = (minor: bigint): string => formatTwoDecimals(minor).replace(/\.?0+$/, '')

/** Returns `100.00` for 10000n, and `-0.50` for -50n. */
export function formatTwoDecimals(minor: bigint): string {
  if (minor < 0n) return `-${formatTwoDecimals(-minor)}`
  const digits = minor.toString().padStart(3, '0')
  return `${digits.slice(0, -2)}.${digits.slice(-2)}`
}

/** Returns the JSON number of an amount, which is exact: amounts are far below 2^53 minor units. */
export const toJsonNumber = (minor: bigint): number => Number(minor) / 100

/** The one currency of the service. Amounts are hundredths in every currency; in one without decimals they are multiples of 100. */
export interface Currency {
  /** The ISO 4217 code, such as `TRY`. */
  readonly code: string
  readonly decimals: 0 | 2
}

/** The currencies of ISO 4217 whose number of decimals is not two. Intl is not an alternative: its data depends on the version of Node. */
const decimalsOf: { readonly [code: string]: number } = {
  ...{ BIF: 0, CLP: 0, DJF: 0, GNF: 0, ISK: 0, JPY: 0, KMF: 0, KRW: 0, PYG: 0, RWF: 0, UGX: 0, UYI: 0 },
  ...{ VND: 0, VUV: 0, XAF: 0, XOF: 0, XPF: 0 },
  ...{ BHD: 3, IQD: 3, JOD: 3, KWD: 3, LYD: 3, OMR: 3, TND: 3, CLF: 4, UYW: 4 },
}

/** Returns the currency, or why it cannot be used as the end of a sentence that starts with the code. */
export function currencyOf(code: string): Currency | string {
  if (!/^[A-Z]{3}$/.test(code) || !Intl.supportedValuesOf('currency').includes(code)) {
    return 'is not a currency of ISO 4217, such as TRY or EUR'
  }
  const decimals = decimalsOf[code] ?? 2
  if (decimals === 0 || decimals === 2) return { code, decimals }
  return `has ${decimals} decimals, but amounts have at most two`
}

/** Returns why the currency cannot be used with transfers in a different one, as the end of a sentence that starts with CURRENCY. */
export function currencyMismatch(
  { currency, decimals }: { readonly currency: string; readonly decimals: number },
  configured: Currency,
): string | undefined {
  if (currency === configured.code && decimals === configured.decimals) return undefined
  const counted = currency === configured.code ? ` with ${decimals} decimals` : ''
  const remedy = `Set CURRENCY=${currency}, or use a different log (EVENT_STORE_URL).`
  return `is ${configured.code}, but the log is in ${currency}${counted}. ${remedy}`
}

/** Returns whether the amount can be paid in the currency's coins. */
export function isPayable({ decimals }: Currency, amountMinor: bigint): boolean {
  return decimals === 2 || amountMinor % 100n === 0n
}

/** Formats an amount with all decimals of the currency, such as `1234.50` or `1500`. */
export function formatAmount({ decimals }: Currency, amountMinor: bigint): string {
  return decimals === 2 ? formatTwoDecimals(amountMinor) : formatShortest(amountMinor)
}

/** Formats an amount for readers without a language, such as `1234.50 TRY`. */
export function formatWithCode(currency: Currency, amountMinor: bigint): string {
  return `${formatAmount(currency, amountMinor)} ${currency.code}`
}
