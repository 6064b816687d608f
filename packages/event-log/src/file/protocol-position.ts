/**
 * Positions of the log are 1, 2, 3, …; clients of the protocol see multiples of this. So a position at which no event stands
 * (from another log, or calculated) is noticed and refused, as EventStoreDB does.
 */
export const positionScale = 64

export function positionText(position: number): string {
  return `${position * positionScale}`
}

/** The first position at or behind a shown one. */
export function positionAtOrAfter(shown: string): number {
  const scale = BigInt(positionScale)
  return Number((BigInt(shown) + scale - 1n) / scale)
}
