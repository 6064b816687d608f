import type { HistoryEntry } from '../../commands/handle-command.js'
import type { CallbackEvent, CallbackPayload } from '../../domain/callback/events.js'
import { toJsonNumber } from '../../domain/money.js'
import { statusCodes } from '../../domain/transfer/transfer.js'
import type { CallbackView } from './schemas.js'

const maxAttemptsShown = 100

/** The deliveries of one transfer with all their attempts, lowest transfer revision first. */
export function viewOfCallbacks(history: readonly HistoryEntry<CallbackEvent>[]): CallbackView[] {
  const views = new Map<string, CallbackView>()
  for (const { event } of history) {
    if (event.type === 'CallbackRecorded') views.set(event.data.webhookId, recorded(event.data))
    else apply(event, views.get(event.data.webhookId)!)
  }
  for (const view of views.values()) view.attempts = view.attempts.slice(-maxAttemptsShown)
  return [...views.values()].sort((a, b) => a.transferRevision - b.transferRevision)
}

function recorded(data: (CallbackEvent & { type: 'CallbackRecorded' })['data']): CallbackView {
  const { webhookId, transferRevision, trackingId, payload, at } = data
  return {
    webhookId,
    transferRevision,
    status: 'waiting',
    recordedAt: at,
    nextAttemptAt: at,
    payload: viewOfPayload(trackingId, payload),
    attempts: [],
  }
}

function viewOfPayload(trackingId: string, payload: CallbackPayload): CallbackView['payload'] {
  const { amountMinor, transactionAmountMinor, ...rest } = payload
  const statusDescription = Object.entries(statusCodes).find(([, code]) => code === payload.status)?.[0] ?? ''
  return {
    ...rest,
    statusDescription,
    trackingId,
    amount: toJsonNumber(amountMinor),
    transactionAmount: toJsonNumber(transactionAmountMinor),
  }
}

function apply(event: Exclude<CallbackEvent, { type: 'CallbackRecorded' }>, view: CallbackView): void {
  const { at } = event.data
  switch (event.type) {
    case 'CallbackDelivered': {
      const { httpStatus, durationMs } = event.data
      view.status = 'delivered'
      view.nextAttemptAt = null
      view.attempts.push({ at, result: 'delivered', httpStatus, durationMs, reason: null })
      return
    }
    case 'CallbackAttemptFailed': {
      const { httpStatus, durationMs, reason, nextAttemptAt } = event.data
      view.nextAttemptAt = nextAttemptAt
      view.attempts.push({ at, result: 'failed', httpStatus, durationMs, reason })
      return
    }
    case 'CallbackParked': {
      const { httpStatus, durationMs, reason } = event.data
      view.status = 'parked'
      view.nextAttemptAt = null
      view.attempts.push({ at, result: 'parked', httpStatus, durationMs, reason })
      return
    }
    case 'CallbackRequeued':
      view.status = 'waiting'
      view.nextAttemptAt = at
      view.attempts.push({ at, result: 'requeued', httpStatus: null, durationMs: null, reason: null })
      return
    default:
      event satisfies never
  }
}
