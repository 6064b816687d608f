/** The money of a deposit, which is what it is whatever becomes of the deposit's status. All amounts are minor units. */
export interface Funds {
  /** Everything that came in. It never gets less. */
  readonly receivedMinor: bigint
  /** What was given back, oldest first; each has a receipt of its own. */
  readonly returns: readonly FundsReturn[]
  /** What a person said, with a reason, that nothing more has to be done about. */
  readonly resolvedMinor: bigint
  /** The part of what came in that is there by a completion's word only, until a person resolves it. */
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

/** Received and not returned. */
export function heldMinor(funds: Funds): bigint {
  return funds.receivedMinor - returnedMinor(funds)
}

/** Received and neither returned nor settled otherwise: what a completion finds to book. */
export function availableMinor(funds: Funds): bigint {
  return heldMinor(funds) - funds.resolvedMinor
}

/**
 * Something was booked that needs `missingMinor` more than is there (or nothing, below 0): so that much came as well. Where
 * other money had been recorded before, that is somebody's word against the records, and has to be looked at.
 */
export function withMissing(funds: Funds, missingMinor: bigint): Funds {
  if (missingMinor <= 0n) return funds
  const vouchedMinor = funds.receivedMinor === 0n ? 0n : funds.vouchedMinor + missingMinor
  return { ...funds, receivedMinor: funds.receivedMinor + missingMinor, vouchedMinor }
}
