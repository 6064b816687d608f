import type { Status } from '../../../../../src/domain/transfer/status'

/** The events of `GET /dashboard/api/callbacks/stream`, by name. */
export interface StreamEvents {
  readonly callback: {
    readonly webhookId: string
    readonly trackingId: string
    readonly referenceId: string
    readonly statusDescription: Status
    readonly recordedAt: string
    readonly resent: boolean
    readonly request: { readonly headers: { readonly [name: string]: string }; readonly body: string }
  }
  readonly attempt: {
    readonly webhookId: string
    readonly at: string
    readonly result: 'delivered' | 'failed' | 'parked'
    readonly httpStatus: number | null
    readonly durationMs: number
    readonly reason: string | null
    readonly nextAttemptAt: string | null
  }
}

export type LiveAttempt = StreamEvents['attempt']

export interface LiveCallback extends Omit<StreamEvents['callback'], 'resent'> {
  readonly isResent: boolean
  readonly amountMinor: bigint
  readonly transactionAmountMinor: bigint
  readonly hasAmountMismatch: boolean
  /** Oldest first. */
  readonly attempts: readonly LiveAttempt[]
  /** The result of the last attempt, or `waiting` if it was recorded or resent since. */
  readonly state: 'waiting' | LiveAttempt['result']
}

export interface LiveCallbacks {
  /** Newest first, each once. */
  readonly rows: readonly LiveCallback[]
  /** The number of callbacks that were recorded or resent since the stream was opened. */
  readonly arrived: number
}

export const noCallbacks: LiveCallbacks = { rows: [], arrived: 0 }

const maxRows = 200

/** Adds a callback on top. One that comes again after a reconnect changes nothing, unless it was resent. */
export function withCallback({ rows, arrived }: LiveCallbacks, sent: StreamEvents['callback']): LiveCallbacks {
  const { resent, ...callback } = sent
  const known = rows.find(({ webhookId }) => webhookId === callback.webhookId)
  if (known && !resent) return { rows, arrived }
  const { Amount, TransactionAmount, HasAmountMismatch } = JSON.parse(callback.request.body)
  const row: LiveCallback = {
    ...callback,
    isResent: resent,
    amountMinor: minorOf(Amount),
    transactionAmountMinor: minorOf(TransactionAmount),
    hasAmountMismatch: HasAmountMismatch,
    attempts: known?.attempts ?? [],
    state: 'waiting',
  }
  return { rows: [row, ...rows.filter((each) => each !== known)].slice(0, maxRows), arrived: arrived + 1 }
}

/** Adds an attempt to its callback. Attempts at callbacks that are not shown are ignored. */
export function withAttempt({ rows, arrived }: LiveCallbacks, attempt: LiveAttempt): LiveCallbacks {
  const changed = rows.map((row): LiveCallback => {
    if (row.webhookId !== attempt.webhookId) return row
    // After a reconnect, an attempt can come again.
    const others = row.attempts.filter(({ at }) => at !== attempt.at)
    const attempts = [...others, attempt].sort((a, b) => a.at.localeCompare(b.at))
    return { ...row, attempts, state: attempt.result }
  })
  return { rows: changed, arrived }
}

/** Returns the minor units of an amount in the body of a callback, which has at most two decimals. */
function minorOf(amount: number): bigint {
  const [whole = '', fraction = ''] = String(amount).split('.')
  return BigInt(whole + fraction.padEnd(2, '0'))
}
