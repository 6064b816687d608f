/** Amounts are bigint minor units (hundredths) in the service, and JSON numbers with at most two decimals at its edge. */

const amountText = /^(0|[1-9]\d{0,11})(?:\.(\d{1,2}))?$/

/**
 * Returns the minor units of a JSON number's raw text: 10050n for `100.5`. Returns `undefined` unless it is a decimal number above 0 with at
 * most two decimals, and without a sign or an exponent.
 */
export function parseAmount(text: string): bigint | undefined {
  const match = amountText.exec(text)
  if (!match?.[1]) return undefined
  const minor = BigInt(match[1]) * 100n + BigInt((match[2] ?? '').padEnd(2, '0'))
  return minor > 0n ? minor : undefined
}

/** Returns the shortest text, which JSON prints too: `100` for 10000n and `100.5` for 10050n. */
export function formatShortest(minor: bigint): string {
  return formatTwoDecimals(minor).replace(/\.?0+$/, '')
}

/** Returns `100.00` for 10000n. */
export function formatTwoDecimals(minor: bigint): string {
  const digits = minor.toString().padStart(3, '0')
  return `${digits.slice(0, -2)}.${digits.slice(-2)}`
}

/** Returns the JSON number of an amount, which is exact: amounts are far below 2^53 minor units. */
export function toJsonNumber(minor: bigint): number {
  return Number(minor) / 100
}
