/** Amounts are bigint minor units (hundredths) inside, JSON numbers with at most two decimals at the edge. */

const amountText = /^(0|[1-9]\d{0,11})(?:\.(\d{1,2}))?$/

/**
 * Minor units of a JSON number's raw text, e.g. `100.5` → 10050n. Undefined when it is not a positive plain decimal with at
 * most two decimals (signs, exponents and zero included).
 */
export function parseAmount(text: string): bigint | undefined {
  const match = amountText.exec(text)
  if (!match?.[1]) return undefined
  const minor = BigInt(match[1]) * 100n + BigInt((match[2] ?? '').padEnd(2, '0'))
  return minor > 0n ? minor : undefined
}

/** The shortest text: 10000n → `100`, 10050n → `100.5`. What JSON prints for the number. */
export function formatShortest(minor: bigint): string {
  return formatTwoDecimals(minor).replace(/\.?0+$/, '')
}

/** 10000n → `100.00`. */
export function formatTwoDecimals(minor: bigint): string {
  const digits = minor.toString().padStart(3, '0')
  return `${digits.slice(0, -2)}.${digits.slice(-2)}`
}

/** The JSON number of an amount; exact, as amounts stay far below 2^53 minor units. */
export function toJsonNumber(minor: bigint): number {
  return Number(minor) / 100
}
