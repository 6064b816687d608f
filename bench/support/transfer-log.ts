import { randomUUID } from 'node:crypto'
import type { TransferEvent } from '../../src/domain/transfer/transfer-events.js'
import { encodeEvent } from '../../src/event-store/event-codec.js'
import type { Append } from '../../src/event-store/event-store.js'
import { depositCreated } from '../../test/domain/transfer-samples.js'

const merchants = Array.from({ length: 20 }, () => randomUUID())
const startedAtMs = Date.now()

export const merchantCount = merchants.length

function common(trackingId: string, n: number) {
  const at = new Date(startedAtMs + n * 5).toISOString()
  const merchantId = merchants[n % merchants.length]!
  return { trackingId, merchantId, kind: 'deposit', referenceId: trackingId, amountMinor: 10_050n, at } as const
}

function created(trackingId: string, n: number): TransferEvent {
  const own = { ...common(trackingId, n), userId: `customer-${n}`, expiresAt: new Date().toISOString() }
  return { ...depositCreated, data: { ...depositCreated.data, ...own } }
}

function completed(trackingId: string, n: number): TransferEvent {
  const outcome = {
    transactionAmountMinor: 10_050n,
    receivedAmountMinor: 10_050n,
    hasAmountMismatch: false,
    receiptUrl: null,
    message: null,
    reason: null,
  }
  return { type: 'TransferCompleted', data: { ...common(trackingId, n), ...outcome } }
}

/** Yields two events per transfer in order: its creation and, `completedAfter` transfers later, its completion. */
export function* transferAppends(transfers: number, completedAfter: number, streamPrefix: string): Generator<Append> {
  const ids: string[] = []
  const metadata = { actor: 'bench', $correlationId: randomUUID(), $causationId: randomUUID() }
  const append = (id: string, event: TransferEvent, expectedRevision: Append['expectedRevision']): Append => ({
    stream: `${streamPrefix}${id}`,
    expectedRevision,
    events: [encodeEvent(event, metadata)],
  })
  for (let n = 0; n < transfers + completedAfter; n++) {
    if (n < transfers) {
      const id = randomUUID()
      ids.push(id)
      yield append(id, created(id, n), 'no_stream')
    }
    const earlier = n - completedAfter
    if (earlier >= 0 && earlier < transfers) yield append(ids[earlier]!, completed(ids[earlier]!, earlier), 0)
  }
}
