import { entriesIdIn } from '../../domain/bank/bank-entries.js'
import {
  bankEntriesStream,
  callbackStream,
  currencyStream,
  integrityStream,
  merchantStream,
  paymentStream,
  payoutsStream,
  privacyStream,
  userStream,
  walletAccountStream,
} from '../../domain/streams.js'
import { comparePositions, type EventStore, type RecordedEvent } from '../../event-store/event-store.js'

type Log = Pick<EventStore, 'readStream'>

interface Chosen {
  /** The number of the wallet account that paid, if its events may be included: their stream is named by it. */
  readonly walletAccounts: readonly number[]
  /** The id of the customer's key, if the transfer's events name it. */
  readonly customerKeyId: string | undefined
}

/**
 * Returns the stored events that decided a transfer, in the order of the log (docs/auditing/evidence.md#evidencejson). `own`: the
 * transfer's own events, at least one. @throws StoreUnavailableError
 */
export async function decidingEvents(
  log: Log,
  own: readonly RecordedEvent[],
  { walletAccounts, customerKeyId }: Chosen,
) {
  const [created, last] = [own[0]!, own.at(-1)!]
  const trackingId = String(created.data.trackingId)
  const merchantId = String(created.data.merchantId)
  const isOwn = ({ data }: RecordedEvent) => data.trackingId === trackingId
  /** Until the transfer's last event, and the one after it, which shows that nothing happened in between. */
  const untilLast = async (stream: string) => {
    const events = await log.readStream(stream)
    const later = events.findIndex(({ position }) => comparePositions(position, last.position) > 0)
    return later < 0 ? events : events.slice(0, later + 1)
  }
  const paymentIds = own.flatMap(({ type, data }) =>
    type === 'BankPaymentMatched' && !String(data.bankPaymentId).startsWith('rejection ')
      ? String(data.bankPaymentId)
      : [],
  )
  const ofTransfer = async (stream: string) => (await log.readStream(stream)).filter(isOwn)
  const bankEntries = async (id: string) =>
    (await log.readStream(bankEntriesStream(id))).filter(
      (event) =>
        isOwn(event) || (event.type === 'BankPaymentRecorded' && paymentIds.includes(String(event.data.paymentId))),
    )
  const users = usersIn(own)
  const found = await Promise.all([
    ...[paymentStream(trackingId), callbackStream(trackingId)].map((stream) => log.readStream(stream)),
    ...[merchantStream(merchantId), integrityStream, ...users.map(userStream)].map(untilLast),
    log.readStream(currencyStream),
    ...(customerKeyId === undefined ? [] : [log.readStream(privacyStream(customerKeyId))]),
    // A deposit is not a payout, and the stream holds all payouts of the merchant.
    ...(created.type === 'WithdrawalCreated' ? [ofTransfer(payoutsStream(merchantId))] : []),
    ...[...new Set(paymentIds.map(entriesIdIn))].map(bankEntries),
    ...walletAccounts.map(walletAccountStream).map(ofTransfer),
  ])
  return [...own, ...found.flat()].sort((a, b) => comparePositions(a.position, b.position))
}

/** Returns the ids of the users who are the actors of the events, or are named as such. */
function usersIn(events: readonly RecordedEvent[]): readonly string[] {
  const actors = events.flatMap(({ data, metadata }) => [metadata.actor, data.by, data.proposedBy])
  const users = actors.flatMap((actor) =>
    typeof actor === 'string' && actor.startsWith('user:') ? actor.slice(5) : [],
  )
  return [...new Set(users)]
}
