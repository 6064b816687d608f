import { streamPrefix } from '../domain/streams.js'
import type { TransferEvent } from '../domain/transfer/events.js'
import type { Status } from '../domain/transfer/transfer.js'
import { collections, indexes, sortablePosition, type TotalDocument, totalId } from '../read-models/documents.js'
import { type ProjectedEvent, type Projection, unexpectedEvent } from './projection.js'

/** How many transfers reached which status on which day, and their amounts. */
export const totalsProjection: Projection = {
  name: 'totals',
  version: 1,
  streamPrefixes: [streamPrefix.transfer],
  collection: collections.totals,
  indexes: indexes.totals,

  needs(batch) {
    return [...new Set(batch.flatMap((projected) => emptyTotal(projected)?._id ?? []))]
  },

  // Absolute values and not `$inc`: a batch that comes again with another end would count its beginning twice.
  apply(batch, documents) {
    const changed = new Map<string, TotalDocument>()
    for (const projected of batch) {
      const empty = emptyTotal(projected)
      if (!empty) continue
      const before = changed.get(empty._id) ?? (documents.get(empty._id) as TotalDocument | undefined) ?? empty
      const position = sortablePosition(projected.position)
      if (position <= before.position) continue
      const { data } = projected.event as TransferEvent
      const transferred = 'transactionAmountMinor' in data ? Number(data.transactionAmountMinor) : 0
      changed.set(empty._id, {
        ...before,
        count: before.count + 1,
        amountMinor: before.amountMinor + Number(data.amountMinor),
        transactionAmountMinor: before.transactionAmountMinor + transferred,
        position,
      })
    }
    return [...changed.values()].map((total) => ({
      replaceOne: { filter: { _id: total._id, position: { $lt: total.position } }, replacement: total, upsert: true },
    }))
  },
}

/** Undefined when the event reaches no status. */
function emptyTotal(projected: ProjectedEvent): TotalDocument | undefined {
  const { merchantId, kind, at } = (projected.event as TransferEvent).data
  const status = statusReached(projected)
  if (!status) return undefined
  const day = at.slice(0, 'yyyy-mm-dd'.length)
  const _id = totalId(merchantId, kind, status, day)
  return { _id, merchantId, kind, status, day, count: 0, amountMinor: 0, transactionAmountMinor: 0, position: -1 }
}

function statusReached(projected: ProjectedEvent): Status | undefined {
  const event = projected.event as TransferEvent
  switch (event.type) {
    case 'DepositCreated':
    case 'WithdrawalCreated':
      return 'Pending'
    case 'TransferCompleted':
      return 'Completed'
    case 'TransferSentToManualControl':
    case 'TransferReopened':
      return 'ManualControl'
    case 'LateFundsReceived':
    case 'FundsReturned':
    case 'AttentionResolved':
      return undefined
    case 'TransferCancelled':
      return 'Cancelled'
    case 'TransferFailed':
      return 'Failed'
    default:
      return unexpectedEvent(event, projected)
  }
}
