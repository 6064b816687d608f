import type {
  BankFileResponse,
  BankPayment,
  BankProposal,
  BankUses,
} from '../../../../../src/http/dashboard/bank/bank-api'

export type FilePayment = BankFileResponse['payments'][number]
type Facts = Pick<BankPayment, 'direction' | 'isReturn' | 'isReversal'>

/** The effect of a payment on a transfer, as in the texts `bank.does`. */
type Does = 'completed' | 'confirmed' | 'received' | 'returned'

/** Returns the effect that a use of the payment would have on the transfer. The server decides when it is used. */
export function doesTo(payment: Facts, { kind, transferStatus }: BankProposal): Does {
  if (kind === 'withdrawal' && payment.direction === 'credit') return 'returned'
  if (transferStatus === 'Completed') return 'confirmed'
  return kind === 'deposit' ? 'received' : 'completed'
}

/** Returns the kind of transfer that a payment can belong to. */
export function kindFor({ direction, isReturn, isReversal }: Facts): BankProposal['kind'] {
  return direction === 'credit' && !isReturn && !isReversal ? 'deposit' : 'withdrawal'
}

/** Returns the proposals that need no decision of a person. An entry that pays a whole file has several. */
export function certainOf({ proposals }: Pick<BankPayment, 'proposals'>): readonly BankProposal[] {
  return proposals.filter(({ isCertain, refusal }) => isCertain && !refusal)
}

/** Returns the part of a payment that no transfer uses. */
export function leftMinor({ amountMinor, uses }: Pick<BankPayment, 'amountMinor' | 'uses'>): number {
  return uses.reduce((left, use) => left - use.amountMinor, amountMinor)
}

/** Returns whether a user can decide about a payment: it is open, or only explained. */
export function isDecidable({ status }: Pick<BankPayment, 'status'>): boolean {
  return status === 'open' || status === 'explained'
}

/** Returns whether a payment of a recorded file is open: no transfer used it. */
export function isStillOpen({ applied }: FilePayment): boolean {
  return applied.every(({ refusal }) => refusal !== null)
}

type Group = 'certain' | 'uncertain' | 'unknown'
export const groups: readonly Group[] = ['certain', 'uncertain', 'unknown']

export function groupOf(payment: Pick<BankPayment, 'proposals'>): Group {
  if (payment.proposals.length === 0) return 'unknown'
  return certainOf(payment).length > 0 ? 'certain' : 'uncertain'
}

/** A payment, and the transfer that a person uses it for. */
export interface ChosenUse {
  readonly payment: BankPayment
  readonly proposal: BankProposal
}

/** Returns the item of a request. The amount is stated only if it is a part of the payment. */
export function useItem({ payment, proposal }: ChosenUse): BankUses['items'][number] {
  const { trackingId, amountMinor } = proposal
  const isPart = amountMinor !== payment.amountMinor
  return { paymentId: payment.paymentId, trackingId, ...(isPart && { amountMinor }) }
}
