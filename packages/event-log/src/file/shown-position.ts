/**
 * Positions of the log are 1, 2, 3, …; clients of the protocol are shown them with room between. So a position that is no
 * event's (of another log, or reckoned with) is noticed and refused, as the real server does.
 */
export const positionScale = 64

export function positionText(position: number): string {
  return `${position * positionScale}`
}

/** The first position that is not below a shown place. */
export function positionAtOrBehind(shown: string): number {
  const scale = BigInt(positionScale)
  return Number((BigInt(shown) + scale - 1n) / scale)
}
