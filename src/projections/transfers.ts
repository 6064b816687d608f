import type { LateFundsReceived, TransferEvent } from '../domain/transfer/events.js'
import { collections, indexes, type TransferDocument } from '../read-models/documents.js'
import { type ProjectedEvent, type Projection, ProjectionError, replaceOlder, unexpectedEvent } from './projection.js'

/** Every transfer as it is now. */
export const transfersProjection: Projection = {
  name: 'transfers',
  version: 2,
  streamPrefixes: ['transfer-'],
  collection: collections.transfers,
  indexes: indexes.transfers,

  needs(batch) {
    const ids = new Set<string>()
    const created = new Set<string>()
    for (const { event, previous } of batch) {
      const { trackingId } = (event as TransferEvent).data
      if (previous < 0) created.add(trackingId)
      else if (!created.has(trackingId)) ids.add(trackingId)
    }
    return [...ids]
  },

  apply(batch, documents) {
    const changed = new Map<string, TransferDocument>()
    for (const projected of batch) {
      const { trackingId } = (projected.event as TransferEvent).data
      const before = changed.get(trackingId) ?? (documents.get(trackingId) as TransferDocument | undefined)
      if (before && projected.revision <= before.revision) continue
      if ((before?.revision ?? -1) < projected.previous) {
        const found = before ? `at revision ${before.revision}` : 'missing'
        throw new ProjectionError(
          `event ${projected.revision} of transfer ${trackingId}, whose document is ${found}`,
          projected,
        )
      }
      changed.set(trackingId, next(before, projected))
    }
    return [...changed.values()].map(replaceOlder)
  },
}

function next(before: TransferDocument | undefined, projected: ProjectedEvent): TransferDocument {
  const event = projected.event as TransferEvent
  switch (event.type) {
    case 'DepositCreated': {
      const { channel, expiresAt } = event.data
      return { ...created(event), channel, expiresAt, openUntil: expiresAt }
    }
    case 'WithdrawalCreated': {
      const { accountNumber, identityNumber } = event.data
      return { ...created(event), accountNumber, identityNumber }
    }
    case 'TransferCompleted': {
      const { transactionAmountMinor, hasAmountMismatch, receiptUrl, message, at } = event.data
      const { lateFundsMinor: _, ...document } = change(before, projected, {
        status: 'Completed',
        transactionAmountMinor: Number(transactionAmountMinor),
        hasAmountMismatch,
        receiptUrl,
        message,
        updatedAt: at,
      })
      return document as TransferDocument
    }
    case 'TransferSentToManualControl':
      return change(before, projected, {
        status: 'ManualControl',
        message: event.data.message,
        updatedAt: event.data.at,
      })
    case 'TransferCancelled': {
      const { transactionAmountMinor, hasAmountMismatch, message, at } = event.data
      return change(before, projected, {
        status: 'Cancelled',
        transactionAmountMinor: Number(transactionAmountMinor),
        hasAmountMismatch,
        message,
        updatedAt: at,
      })
    }
    case 'TransferFailed':
      return change(before, projected, { status: 'Failed', message: event.data.message, updatedAt: event.data.at })
    case 'LateFundsReceived':
      return addLateFunds(before, projected, event.data)
    case 'TransferReopened':
      return change(before, projected, {
        status: 'ManualControl',
        message: event.data.reason,
        updatedAt: event.data.at,
      })
    default:
      return unexpectedEvent(event, projected)
  }
}

function created({ data }: TransferEvent & { readonly type: 'DepositCreated' | 'WithdrawalCreated' }) {
  return {
    _id: data.trackingId,
    merchantId: data.merchantId,
    kind: data.kind,
    status: 'Pending',
    referenceId: data.referenceId,
    amountMinor: Number(data.amountMinor),
    transactionAmountMinor: 0,
    hasAmountMismatch: false,
    receiptUrl: null,
    message: null,
    userId: data.userId,
    name: data.name,
    username: data.username,
    paymentMethod: data.paymentMethod,
    createdAt: data.at,
    updatedAt: data.at,
    revision: 0,
  } as const
}

function change(
  before: TransferDocument | undefined,
  projected: ProjectedEvent,
  changes: Partial<TransferDocument>,
): TransferDocument {
  if (!before) throw createdMissing(projected)
  // Every change ends Pending, and with it the time until which the deposit is open.
  const { openUntil: _, ...rest } = before
  return { ...rest, ...changes, revision: projected.revision } as TransferDocument
}

/** The status stays, and a Pending deposit stays open. */
function addLateFunds(
  before: TransferDocument | undefined,
  projected: ProjectedEvent,
  { receivedAmountMinor, at }: LateFundsReceived['data'],
): TransferDocument {
  if (!before) throw createdMissing(projected)
  const lateFundsMinor = (before.lateFundsMinor ?? 0) + Number(receivedAmountMinor)
  return { ...before, lateFundsMinor, updatedAt: at, revision: projected.revision }
}

function createdMissing(projected: ProjectedEvent): ProjectionError {
  return new ProjectionError('a transfer changed before it was created', projected)
}
