export interface Range {
  /** ISO 8601; `to` is exclusive. */
  readonly from: string
  readonly to: string
}

const hourMs = 3_600_000

/** Returns the range in the address, or the viewer's today. Ranges are whole hours, because the server counts by the hour. */
export function rangeOf({ from, to }: { readonly [name in keyof Range]?: string | undefined }, now: Date): Range {
  const midnight = new Date(now.getFullYear(), now.getMonth(), now.getDate())
  const tomorrow = new Date(now.getFullYear(), now.getMonth(), now.getDate() + 1)
  return {
    from: new Date(Math.floor(timeOf(from, midnight) / hourMs) * hourMs).toISOString(),
    to: new Date(Math.ceil(timeOf(to, tomorrow) / hourMs) * hourMs).toISOString(),
  }
}

function timeOf(text: string | undefined, otherwise: Date): number {
  const time = text === undefined ? Number.NaN : Date.parse(text)
  return Number.isNaN(time) ? otherwise.getTime() : time
}
