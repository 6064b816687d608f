/** The money of a deposit, which does not depend on the deposit's status. All amounts are minor units. */
export interface Funds {
  /** The sum of all received money, which never decreases. */
  readonly receivedMinor: bigint
  /** The returns, oldest first. Each has its own receipt. */
  readonly returns: readonly FundsReturn[]
  /** The part that an approver resolved with a reason. */
  readonly resolvedMinor: bigint
  /** The part of the received money of which only a completion is evidence, until an approver resolves it. */
  readonly vouchedMinor: bigint
}

export interface FundsReturn {
  readonly amountMinor: bigint
  readonly receiptUrl: string
}

export const noFunds: Funds = { receivedMinor: 0n, returns: [], resolvedMinor: 0n, vouchedMinor: 0n }

export function returnedMinor({ returns }: Funds): bigint {
  return returns.reduce((sum, { amountMinor }) => sum + amountMinor, 0n)
}

/** Returns the received money that was not returned. */
export function heldMinor(funds: Funds): bigint {
  return funds.receivedMinor - returnedMinor(funds)
}

/** Returns the received money that was neither returned nor resolved, which a completion can book. */
export function availableMinor(funds: Funds): bigint {
  return heldMinor(funds) - funds.resolvedMinor
}

/**
 * Adds money of which no receipt was recorded, because a booking exceeds the available money by `missingMinor` (if above 0). If other
 * money was recorded before, the booking contradicts the records and needs attention.
 */
export function withMissing(funds: Funds, missingMinor: bigint): Funds {
  if (missingMinor <= 0n) return funds
  const vouchedMinor = funds.receivedMinor === 0n ? 0n : funds.vouchedMinor + missingMinor
  return { ...funds, receivedMinor: funds.receivedMinor + missingMinor, vouchedMinor }
}
