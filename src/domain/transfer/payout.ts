/** Who pays a withdrawal, and who has agreed to it. */
export interface Payout {
  /** The latest, whether or not it still stands; null when it was released, or there was none. */
  readonly claim: Claim | null
  /** Everybody who ever claimed it: none of them may approve it. */
  readonly claimants: readonly string[]
  /** The latest. */
  readonly approval: Approval | null
  /** How many claims and approvals there were. */
  readonly steps: number
}

export interface Claim {
  /** The actor, as in the events' metadata. */
  readonly by: string
  readonly at: string
  /** ISO 8601: from then on it is free again. */
  readonly until: string
}

/** Of one payment: this much to this account. */
export interface Approval {
  readonly by: string
  readonly at: string
  readonly accountNumber: string
  /** Minor units. */
  readonly amountMinor: bigint
}

export const untouchedPayout: Payout = { claim: null, claimants: [], approval: null, steps: 0 }
