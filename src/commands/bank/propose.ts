import { type FoundPayment, matchedAs, statusOf } from '../../domain/bank/bank-entries.js'
import type { PaymentStatus as Rejection } from '../../domain/bank/bank-records.js'
import type { CandidateIndex } from '../../domain/bank/candidate-index.js'
import { type MatchedFacts, type Proposal, proposalsFor } from '../../domain/bank/matching.js'
import type { Refusal } from '../../domain/decider.js'
import { isTerminal } from '../../domain/transfer/status.js'
import type { Transfer } from '../../domain/transfer/transfer.js'
import type { CommandContext } from '../handle-command.js'
import type { BankMatch, TransferCommands } from '../transfer/transfers.js'
import { matchOf, rejectionMatch } from './bank-commands.js'

export interface ProposalSources {
  readonly transfers: TransferCommands
  readonly candidates: CandidateIndex
  /** The merchants whose transfers are proposed; null for all. */
  readonly merchantIds: readonly string[] | null
  /** Transfers as they would be after the matches that are only planned, by trackingId. */
  readonly planned: Map<string, Transfer>
  /** The currency of the transfers. Payments in another one belong to none of them. */
  readonly currency: string
}

/** A transfer that a payment can be used for. */
export interface ProposedUse extends Proposal {
  readonly transfer: Transfer
  readonly amountMinor: bigint
  /** Why the transfer would reject it now; `undefined` if it would not. */
  readonly refusal: Refusal | undefined
  /** The transfer after it. */
  readonly after: Transfer
}

/** Returns the transfers that a payment can be used for, the most likely one first; none if it is not open. @throws StoreUnavailableError */
export async function proposeUses(
  found: FoundPayment,
  sources: ProposalSources,
  context: CommandContext,
): Promise<readonly ProposedUse[]> {
  const matched = matchedAs(found)
  if (!matched || statusOf(found) !== 'open' || found.payment.currency !== sources.currency) return []
  const facts = factsOf(found, matched)
  const ofFile = await filePayments(found, facts, sources)
  if (ofFile) {
    const reasons = ['bank-file', 'amount'] as const
    const uses = ofFile.map((transfer) => {
      const proposal = { trackingId: transfer.trackingId, reasons, score: 100, isCertain: true }
      return withRefusal(proposal, transfer, matchOf(found, transfer.amountMinor)!, sources, context)
    })
    return Promise.all(uses)
  }
  const transfers = await transfersOf(sources.candidates.idsFor(facts), sources)
  const proposals = proposalsFor(facts, transfers)
  return Promise.all(
    proposals.map((proposal) => {
      const transfer = transfers.find(({ trackingId }) => trackingId === proposal.trackingId)!
      return withRefusal(proposal, transfer, matchOf(found)!, sources, context)
    }),
  )
}

/** Returns the withdrawals that a rejection concerns. @throws StoreUnavailableError */
export async function proposeRejections(
  rejection: Rejection,
  sources: ProposalSources,
  context: CommandContext,
): Promise<readonly ProposedUse[]> {
  const { fileId, endToEndId } = rejection
  const facts = { matched: 'rejection', amountMinor: 0n, fileId, lines: [], account: null } as const
  const ids =
    endToEndId === null
      ? sources.candidates.ofFile(facts)
      : sources.candidates.idsFor({ ...facts, endToEndIds: [endToEndId] })
  const transfers = await transfersOf(ids, sources)
  const proposals = proposalsFor({ ...facts, endToEndIds: endToEndId === null ? [] : [endToEndId] }, transfers)
  return Promise.all(
    proposals.map((proposal) => {
      const transfer = transfers.find(({ trackingId }) => trackingId === proposal.trackingId)!
      return withRefusal(proposal, transfer, rejectionMatch(rejection), sources, context)
    }),
  )
}

function factsOf({ payment }: FoundPayment, matched: MatchedFacts['matched']): MatchedFacts {
  const { paidAmountMinor: amountMinor, endToEndId, originalEndToEndId, fileId, accountNumber: account } = payment
  const { remittance, creditorReference } = payment
  const endToEndIds = [originalEndToEndId, endToEndId].filter((id) => id !== null)
  // Customers state the reference in either of them.
  const lines = [...(remittance ?? '').split('\n'), creditorReference ?? '', endToEndId ?? '']
  return { matched, amountMinor, endToEndIds, fileId, lines, account }
}

/** Returns the withdrawals of our file that the bank paid as one amount, if this is their sum. */
async function filePayments(found: FoundPayment, facts: MatchedFacts, sources: ProposalSources) {
  const { paymentId, entryId } = found.payment
  if (facts.matched !== 'debit' || paymentId !== entryId) return undefined
  const transfers = await transfersOf(sources.candidates.ofFile(facts), sources)
  const used = new Set(found.uses.map(({ trackingId }) => trackingId))
  const sum = transfers.reduce((total, { amountMinor }) => total + amountMinor, 0n)
  if (transfers.length === 0 || sum !== found.payment.paidAmountMinor) return undefined
  return transfers.filter(
    ({ trackingId, status }) => !used.has(trackingId) && (!isTerminal(status) || status === 'Completed'),
  )
}

async function transfersOf(
  ids: readonly string[],
  { transfers, merchantIds, planned }: ProposalSources,
): Promise<readonly Transfer[]> {
  const found = await Promise.all(ids.map(async (id) => planned.get(id) ?? (await transfers.find(id))?.transfer))
  return found.flatMap((transfer) =>
    transfer && (merchantIds === null || merchantIds.includes(transfer.merchantId)) ? [transfer] : [],
  )
}

async function withRefusal(
  proposal: Proposal,
  transfer: Transfer,
  match: BankMatch,
  { transfers }: ProposalSources,
  context: CommandContext,
): Promise<ProposedUse> {
  const tried = await transfers.tryMatch(transfer, match, context)
  return { ...proposal, transfer, amountMinor: match.matchedAmountMinor, ...tried }
}
