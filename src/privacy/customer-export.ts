import { readHistory } from '../commands/handle-command.js'
import { entriesIdIn } from '../domain/bank/bank-entries.js'
import { bankEntriesStream, callbackStream, paymentStream, transferStream } from '../domain/streams.js'
import type { Transfer } from '../domain/transfer/transfer.js'
import type { DomainEvent } from '../event-store/event-codec.js'
import { comparePositions } from '../event-store/event-store.js'
import { shownFields } from '../queries/recent-changes.js'
import { ownTransfers, type PrivacyParts, receiptUrlsOf } from './customer-erasure.js'
import { type Customer, eachOf, transfersOf } from './customer-transfers.js'

/** The id of a login identifies its tokens, so it is not exported. */
const secretField = 'challengeId'

/** Returns all data about a customer, or `undefined` for an unknown customer. @throws StoreUnavailableError, ReadModelsUnavailableError, UnreadableEventError */
export async function exportCustomer(parts: PrivacyParts, customer: Customer) {
  const { keys, transfers, clock } = parts
  const key = await keys.find(customer.merchantId, customer.userId)
  if (!key) return undefined
  const { trackingIds } = await transfersOf(parts, customer, key)
  const own = await ownTransfers(transfers, customer, trackingIds)
  const exported = await eachOf(own, (transfer) => exportedTransfer(parts, transfer))
  const oldestFirst = [...exported].sort((a, b) => (a.createdAt < b.createdAt ? -1 : 1))
  return { ...customer, exportedAt: clock(), transfers: oldestFirst }
}

async function exportedTransfer({ store }: PrivacyParts, transfer: Transfer) {
  const { trackingId, referenceId, kind, status, createdAt } = transfer
  const streams = [transferStream(trackingId), paymentStream(trackingId), callbackStream(trackingId)]
  const histories = await Promise.all(
    streams.map(async (stream) =>
      (await readHistory<DomainEvent>(store, stream)).map((entry) => ({ stream, ...entry })),
    ),
  )
  // The stream of a payment can hold the payments of others, so only its own events are exported.
  const payments = await Promise.all(
    transfer.bankPayments.map(async ({ bankPaymentId }) => {
      const stream = bankEntriesStream(entriesIdIn(bankPaymentId))
      const history = await readHistory<DomainEvent>(store, stream)
      const own = history.filter(({ event }) => 'paymentId' in event.data && event.data.paymentId === bankPaymentId)
      return own.map((entry) => ({ stream, ...entry }))
    }),
  )
  const events = [...histories, ...payments]
    .flat()
    .sort((a, b) => comparePositions(a.position, b.position))
    .map(({ stream, revision, event: { type, data }, metadata: { actor } }) => {
      const fields = Object.keys(data).filter((name) => name !== secretField)
      return { at: 'at' in data ? data.at : '', stream, revision, type, actor, data: shownFields(data, fields) }
    })
  const amountMinor = Number(transfer.amountMinor)
  return { trackingId, referenceId, kind, status, amountMinor, createdAt, events, receipts: receiptUrlsOf(transfer) }
}
