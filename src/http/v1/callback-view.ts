import type { HistoryEntry } from '../../commands/handle-command.js'
import type { CallbackEvent } from '../../domain/callback.js'
import { toJsonNumber } from '../../domain/money.js'
import { statusCodes } from '../../domain/transfer/transfer.js'
import type { CallbackView } from './callback-schemas.js'

const maxAttemptsShown = 100

type Recorded = Extract<CallbackEvent, { type: 'CallbackRecorded' }>['data']

/** The status of the callback and the result of the attempt after each event. */
const shown = {
  CallbackDelivered: { status: 'delivered', result: 'delivered' },
  CallbackAttemptFailed: { status: 'waiting', result: 'failed' },
  CallbackParked: { status: 'parked', result: 'parked' },
  CallbackRequeued: { status: 'waiting', result: 'requeued' },
} as const

interface Attempt {
  readonly at: string
  readonly httpStatus?: number | null
  readonly durationMs?: number | null
  readonly reason?: string | null
  readonly nextAttemptAt?: string
}

/** Returns the callbacks of a transfer with all their attempts, lowest transfer revision first. */
export function viewOfCallbacks(history: readonly HistoryEntry<CallbackEvent>[]): CallbackView[] {
  const views = new Map<string, CallbackView>()
  for (const { event } of history) {
    if (event.type === 'CallbackRecorded') {
      views.set(event.data.webhookId, recorded(event.data))
      continue
    }
    const view = views.get(event.data.webhookId)!
    const { status, result } = shown[event.type]
    const { at, httpStatus = null, durationMs = null, reason = null, nextAttemptAt = at }: Attempt = event.data
    view.status = status
    view.nextAttemptAt = status === 'waiting' ? nextAttemptAt : null
    view.attempts.push({ at, result, httpStatus, durationMs, reason })
  }
  for (const view of views.values()) view.attempts = view.attempts.slice(-maxAttemptsShown)
  return [...views.values()].sort((a, b) => a.transferRevision - b.transferRevision)
}

function recorded({ webhookId, transferRevision, trackingId, payload, at }: Recorded): CallbackView {
  const { amountMinor, transactionAmountMinor, ...rest } = payload
  const statusDescription = Object.entries(statusCodes).find(([, code]) => code === payload.status)?.[0] ?? ''
  const [amount, transactionAmount] = [toJsonNumber(amountMinor), toJsonNumber(transactionAmountMinor)]
  return {
    webhookId,
    transferRevision,
    status: 'waiting',
    recordedAt: at,
    nextAttemptAt: at,
    payload: { ...rest, statusDescription, trackingId, amount, transactionAmount },
    attempts: [],
  }
}
