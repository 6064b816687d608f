import type { HistoryEntry } from '../commands/stream-history.js'
import type { RefusedTransfer } from '../commands/transfer/transfers.js'
import type { TransferEvent } from '../domain/transfer/transfer-events.js'
import { type RefusalName, RequestError } from './refusals.js'

/** What `decide` refuses by a rule of its own, and how the request is told. */
const refusalOfRule: { readonly [rule: string]: RefusalName } = {
  claimed: 'claimed-by-another',
  'claim-needed': 'claim-needed',
  'claim-expired': 'claim-expired',
  'changed-meanwhile': 'changed-meanwhile',
  'approval-needed': 'approval-needed',
  'four-eyes': 'four-eyes',
  'payouts-stopped': 'payouts-stopped',
}

const done: { readonly [type in TransferEvent['type']]: string } = {
  DepositCreated: 'created it',
  WithdrawalCreated: 'created it',
  TransferCompleted: 'completed it',
  TransferSentToManualControl: 'sent it to manual control',
  TransferCancelled: 'cancelled it',
  TransferFailed: 'said that it failed',
  LateFundsReceived: 'recorded money',
  FundsReturned: 'returned money',
  AttentionResolved: 'resolved it',
  TransferReopened: 'reopened it',
  WithdrawalClaimed: 'claimed it',
  WithdrawalReleased: 'released it',
  WithdrawalApproved: 'approved it',
  PersonalDataErased: 'erased its customer',
}

const maxTold = 5

/** `nameOf`: as whom the caller may know an actor. */
export function settlingRefusal(refused: RefusedTransfer, nameOf: (actor: string) => string): RequestError {
  const { refusal, transfer, since } = refused
  if (refusal.reason === 'not-found') return new RequestError('unknown-transfer')
  const name = refusalOfRule[refusal.rule ?? ''] ?? 'not-possible'
  const claim = transfer?.kind === 'withdrawal' ? transfer.payout.claim : null
  if (name === 'claimed-by-another' && claim) {
    return new RequestError(name, { details: `${nameOf(claim.by)} claimed it until ${claim.until}.` })
  }
  if (name === 'changed-meanwhile') return new RequestError(name, { details: told(since ?? [], nameOf) })
  return new RequestError(name, { details: refusal.message })
}

/** Who did what, oldest first. */
function told(since: readonly HistoryEntry<TransferEvent>[], nameOf: (actor: string) => string): string {
  if (since.length === 0) return 'There is no such revision of it yet.'
  const sentences = since.slice(-maxTold).map(({ event, metadata }) => {
    return `${nameOf(metadata.actor)} ${done[event.type]} at ${event.data.at}.`
  })
  return sentences.join(' ')
}
