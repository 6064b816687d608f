/** Why a transfer is proposed, or what speaks against it. */
export const matchReasons = {
  'end-to-end-id': 'the bank returned our id of the payment',
  'bank-file': 'the bank paid our file',
  'tracking-id': 'the text contains the trackingId',
  reference: 'the text contains the reference',
  'short-reference': 'the text contains the reference, which is too short to be sure',
  'part-of-word': 'the reference is only a part of a longer one',
  account: 'the account is the same',
  amount: 'the amount is the same',
  part: 'the amount is a part of the requested one',
  'other-amount': 'the amount is different',
  'other-account': 'the account is different',
  ended: 'the transfer has ended',
  'several-transfers': 'another transfer fits too',
  'received-before': 'a payment of the same amount was received before',
} as const
export type MatchReason = keyof typeof matchReasons

/** Reasons that speak against a transfer, so that a person decides. */
export const doubts: ReadonlySet<MatchReason> = new Set([
  ...(['short-reference', 'part-of-word', 'other-amount', 'other-account', 'ended', 'several-transfers'] as const),
  'received-before',
])
