import { Type } from '../kernel/typebox.js'
import { Data, Location, Nullable } from './event.js'
import { Id, Index, ReferenceId, Sealed, StreamName, Text, Time } from './fields.js'
import { TransferKind } from './transfer/transfer-events.js'

/** Events that record the work of the service itself. No decider decides them. */

export const maxListedStreams = 2_000
/** The maximum number of transfers in one event: the erasure of a customer with more transfers takes several events. */
export const maxErasedTransfers = 10_000

export const hashEvents = {
  /** A transfer reserves more of its hashed texts, each an amount text and the referenceId: a repeat had a different form of the amount. */
  HashCodeSeen: Data({
    merchantId: Id,
    kind: TransferKind,
    referenceId: ReferenceId,
    amountTexts: Type.Array(Text, { minItems: 1, maxItems: 2 }),
    at: Time,
  }),
}

export const sweepEvents = {
  /** Every change up to and including this event, in the global order, has its callback recorded. */
  CallbackSweepAdvanced: Data({ event: Location, at: Time }),
}

export const privacyEvents = {
  /** A customer was erased. The stream is named by the id of the customer's key. */
  CustomerErased: Data({
    erasureId: Id,
    merchantId: Id,
    trackingIds: Type.Array(Id, { maxItems: maxErasedTransfers }),
    reason: Text,
    at: Time,
  }),
  /** The key is destroyed, and every transfer has its `PersonalDataErased`. */
  ErasureCompleted: Data({ erasureId: Id, transfers: Index, at: Time }),
}

export const problemEvents = {
  /** An operator decided that every reader ignores an unreadable event. */
  EventSkipped: Data({
    stream: Type.String({ minLength: 1 }),
    revision: Index,
    /** The id of the skipped event: in a restored log, this location may hold a different event. */
    eventId: Id,
    eventType: Text,
    problem: Text,
    reason: Text,
    at: Time,
  }),
}

export const masterKeyEvents = {
  /** The key of the keyed digests, sealed with a master key. */
  DigestKeySealed: Data({
    sealed: Sealed,
    /** Why this is a different digest key: the previous master key is lost. Null if the digest key is the same. */
    reason: Nullable(Text),
    at: Time,
  }),
}

export const currencyEvents = {
  /** A process opened the log for the first time. All amounts of the log are in this currency, of which they are hundredths. */
  CurrencyBound: Data({
    currency: Type.String({ pattern: '^[A-Z]{3}$' }),
    decimals: Type.Integer({ minimum: 0, maximum: 2 }),
    at: Time,
  }),
}

export const directoryEvents = {
  /** The list of streams that a start reads, extended from `after` to `through`. A null `after` restarts the list. */
  StreamsListed: Data({
    after: Nullable(Location),
    through: Location,
    streams: Type.Array(StreamName, { maxItems: maxListedStreams }),
    at: Time,
  }),
}
