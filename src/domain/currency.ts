import { formatShortest, formatTwoDecimals } from './money.js'

/** One for the whole service. Inside, amounts are hundredths whatever it is; without decimals they are whole hundreds. */
export interface Currency {
  /** ISO 4217, such as `TRY`. */
  readonly code: string
  readonly decimals: 0 | 2
}

/** ISO 4217's minor units where they are not two. Not asked of Intl: its data changes with the version of Node. */
const decimalsOf: { readonly [code: string]: number } = {
  ...{ BIF: 0, CLP: 0, DJF: 0, GNF: 0, ISK: 0, JPY: 0, KMF: 0, KRW: 0, PYG: 0, RWF: 0, UGX: 0, UYI: 0 },
  ...{ VND: 0, VUV: 0, XAF: 0, XOF: 0, XPF: 0 },
  ...{ BHD: 3, IQD: 3, JOD: 3, KWD: 3, LYD: 3, OMR: 3, TND: 3, CLF: 4, UYW: 4 },
}

/** Why a code cannot be used, as the end of a sentence that begins with it; or the currency. */
export function currencyOf(code: string): Currency | string {
  if (!/^[A-Z]{3}$/.test(code) || !Intl.supportedValuesOf('currency').includes(code)) {
    return 'is no currency of ISO 4217, such as TRY or EUR'
  }
  const decimals = decimalsOf[code] ?? 2
  if (decimals === 0 || decimals === 2) return { code, decimals }
  return `has ${decimals} decimals, and amounts have two at most`
}

/** Whether the currency has a coin for it. */
export function isPayable({ decimals }: Currency, amountMinor: bigint): boolean {
  return decimals === 2 || amountMinor % 100n === 0n
}

/** Such as `1234.50` or `1500`: with all the decimals that the currency has. */
export function formatAmount({ decimals }: Currency, amountMinor: bigint): string {
  return decimals === 2 ? formatTwoDecimals(amountMinor) : formatShortest(amountMinor)
}

/** Such as `1234.50 TRY`, where no language is known. */
export function formatWithCode(currency: Currency, amountMinor: bigint): string {
  return `${formatAmount(currency, amountMinor)} ${currency.code}`
}
