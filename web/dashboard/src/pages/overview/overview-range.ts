export interface Range {
  /** ISO 8601; `to` is exclusive. */
  readonly from: string
  readonly to: string
}

const quarterMs = 15 * 60_000

/**
 * Returns the range in the address, or the viewer's today. Ranges are whole quarters of an hour, because the server counts by
 * the quarter, and days begin at a quarter of an hour in every zone.
 */
export function rangeOf({ from, to }: { readonly [name in keyof Range]?: string | undefined }, now: Date): Range {
  const midnight = new Date(now.getFullYear(), now.getMonth(), now.getDate())
  const tomorrow = new Date(now.getFullYear(), now.getMonth(), now.getDate() + 1)
  return {
    from: new Date(Math.floor(timeOf(from, midnight) / quarterMs) * quarterMs).toISOString(),
    to: new Date(Math.ceil(timeOf(to, tomorrow) / quarterMs) * quarterMs).toISOString(),
  }
}

function timeOf(text: string | undefined, otherwise: Date): number {
  const time = text === undefined ? Number.NaN : Date.parse(text)
  return Number.isNaN(time) ? otherwise.getTime() : time
}
