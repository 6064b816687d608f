import { streamPrefix } from '../domain/streams.js'
import type { TransferEvent } from '../domain/transfer/events.js'
import type { Status } from '../domain/transfer/transfer.js'
import { collections, indexes, sortablePosition, type TotalDocument, totalId } from '../read-models/documents.js'
import { type EventProjection, foldedDocuments, type ProjectedEvent, ProjectionError } from './projection.js'

/** How many transfers reached which status on which day, and their amounts. */
export const totalsProjection: EventProjection = {
  name: 'totals',
  version: 1,
  streamPrefixes: [streamPrefix.transfer],
  collection: collections.totals,
  indexes: indexes.totals,
  ...foldedDocuments<TotalDocument, 'position'>({
    upTo: 'position',
    idOf: (projected) => emptyTotal(projected)?._id,
    begins: () => false,
    next,
  }),
}

/** Absolute values and not `$inc`: a batch that comes again with another end would count its beginning twice. */
function next(before: TotalDocument | undefined, projected: ProjectedEvent): TotalDocument {
  const { data } = projected.event as TransferEvent
  const total = before ?? emptyTotal(projected)!
  const transferred = 'transactionAmountMinor' in data ? Number(data.transactionAmountMinor) : 0
  return {
    ...total,
    count: total.count + 1,
    amountMinor: total.amountMinor + Number(data.amountMinor),
    transactionAmountMinor: total.transactionAmountMinor + transferred,
    position: sortablePosition(projected.position),
  }
}

const statusReached: { readonly [type in TransferEvent['type']]: Status | null } = {
  DepositCreated: 'Pending',
  WithdrawalCreated: 'Pending',
  TransferCompleted: 'Completed',
  TransferSentToManualControl: 'ManualControl',
  TransferReopened: 'ManualControl',
  TransferCancelled: 'Cancelled',
  TransferFailed: 'Failed',
  LateFundsReceived: null,
  FundsReturned: null,
  AttentionResolved: null,
}

/** Undefined when the event reaches no status. */
function emptyTotal(projected: ProjectedEvent): TotalDocument | undefined {
  const { type, data } = projected.event as TransferEvent
  const { merchantId, kind, at } = data
  const status = statusReached[type]
  if (status === undefined) throw new ProjectionError(`unexpected event ${type}`, projected)
  if (status === null) return undefined
  const day = at.slice(0, 'yyyy-mm-dd'.length)
  const _id = totalId(merchantId, kind, status, day)
  return { _id, merchantId, kind, status, day, count: 0, amountMinor: 0, transactionAmountMinor: 0, position: -1 }
}
