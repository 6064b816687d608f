import { Type } from '../../kernel/typebox.js'
import { accept, type Decider, refuse } from '../decider.js'
import { erasedText } from '../erased-data.js'
import { Data, type DataOf, type EventsOf, Nullable, OneOf, Personal } from '../event.js'
import { Actor, BankPaymentId, Currency, Day, Id, Index, PositiveMinor, Text, Time } from '../fields.js'
import { BankEffect } from '../transfer/transfer-events.js'

const Direction = OneOf('credit', 'debit')
/** Banks use the same references within a family of formats only. */
const FormatFamily = OneOf('camt', 'mt', 'csv')
export type FormatFamily = 'camt' | 'mt' | 'csv'

const payment = { accountId: Id, date: Day, entryId: BankPaymentId, paymentId: BankPaymentId, at: Time }
const entry = {
  /** The import that brought it first. */
  importId: Id,
  family: FormatFamily,
  direction: Direction,
  isReversal: Type.Boolean(),
  bookedAmountMinor: PositiveMinor,
  currency: Currency,
  /** The bank's code of the kind of entry. */
  entryKind: Nullable(Text),
  /** The id of the customer's file that it executes as one amount. */
  fileId: Nullable(Text),
  /** The number of payments in it, as the bank states it. */
  paymentCount: Nullable(Index),
  /** The bank's reference of the entry. */
  entryReference: Nullable(Text),
}
const use = { ...payment, trackingId: Id, by: Actor, usedAmountMinor: PositiveMinor }

/**
 * The entries of an account that were booked on one day, in one direction and with one amount, in
 * `bankentries-<account>-<day>-<direction>-<amount>`. They are in one stream, so that its revision decides whether an entry is a new one or one of them
 * again, and what its money is used for.
 */
export const bankEntryEvents = {
  /** A payment of the entry, or the entry itself if the bank named none of its payments: then both ids are the same. */
  BankPaymentRecorded: Data({
    ...payment,
    ...entry,
    /** The counterparty, named by a keyed digest. The personal data is encrypted under its key. */
    personId: Id,
    paidAmountMinor: PositiveMinor,
    bankReference: Nullable(Text),
    endToEndId: Personal(Nullable(Text)),
    name: Personal(Nullable(Text)),
    accountNumber: Personal(Nullable(Text)),
    /** The lines of the remittance information. */
    remittance: Personal(Nullable(Text)),
    creditorReference: Personal(Nullable(Text)),
    isReturn: Type.Boolean(),
    returnReasonCode: Nullable(Text),
    returnReasonText: Personal(Nullable(Text)),
    originalEndToEndId: Personal(Nullable(Text)),
    /** Keyed digests of what another file may state about the same payment; null if this one states nothing. */
    endToEndMac: Nullable(Id),
    accountMac: Nullable(Id),
    textMac: Nullable(Id),
  }),
  /** The bank named the payments of the entry later, which are used instead of the entry itself. */
  BankPaymentSuperseded: Data({ ...payment, supersededAmountMinor: PositiveMinor }),
  /** The payment's money is used for this transfer, and for no other. The transfer's own event follows. */
  BankPaymentAssigned: Data({ ...use, wasExplained: Type.Boolean() }),
  BankPaymentApplied: Data({ ...use, effect: BankEffect }),
  /** The transfer rejected the payment, which is open or explained as before. */
  BankPaymentReleased: Data({ ...use, rule: Text, wasExplained: Type.Boolean() }),
  /** A user said what the money is that belongs to no transfer. The payment can still be assigned. */
  BankPaymentExplained: Data({
    ...payment,
    by: Actor,
    explanation: Text,
    explainedAmountMinor: PositiveMinor,
    wasExplained: Type.Boolean(),
  }),
  /** The counterparty was erased. */
  BankCounterpartyErased: Data(payment),
}
export type BankEntryEvent = EventsOf<typeof bankEntryEvents>
export type RecordedPayment = DataOf<BankEntryEvent, 'BankPaymentRecorded'>

/** The fields about the counterparty. */
const personalFields = [
  ...(['endToEndId', 'name', 'accountNumber', 'remittance', 'creditorReference'] as const),
  ...(['returnReasonText', 'originalEndToEndId'] as const),
]

export interface KnownEntry {
  readonly entryId: string
  /** In the order in which they were recorded; at least one. */
  readonly payments: readonly KnownPayment[]
}

export interface KnownPayment {
  readonly payment: RecordedPayment
  readonly uses: readonly PaymentUse[]
  readonly explained: { readonly explanation: string; readonly by: string; readonly at: string } | null
  readonly isSuperseded: boolean
  readonly isErased: boolean
}

/** `effect` is null until the transfer has recorded the payment. */
export interface PaymentUse {
  readonly trackingId: string
  readonly amountMinor: bigint
  readonly by: string
  readonly effect: BankEffect | null
}

/** The entries of one stream, in the order in which they were recorded. */
export type BankEntries = readonly KnownEntry[]

type BankEntryCommand =
  | ({ readonly type: 'Assign' } & UseCommand & { readonly amountMinor: bigint })
  | ({ readonly type: 'Apply' } & UseCommand & { readonly effect: BankEffect })
  | ({ readonly type: 'Release' } & UseCommand & { readonly rule: string })
  | ({ readonly type: 'Explain'; readonly explanation: string; readonly by: string } & PaymentCommand)
  | ({ readonly type: 'Erase' } & PaymentCommand)
type PaymentCommand = { readonly paymentId: string; readonly at: string }
type UseCommand = PaymentCommand & { readonly trackingId: string; readonly by: string }

/** The number of transfers that an entry without named payments can pay. */
const maxUses = 10_000

export const bankEntriesDecider: Decider<BankEntries, BankEntryCommand, BankEntryEvent> = {
  initialState: [],
  decide(command, state) {
    const found = paymentIn(state, command.paymentId)
    if (!found) return refuse('not-found', 'bank-payment-unknown')
    const { payment, uses, explained, isSuperseded } = found
    const { accountId, date, entryId } = payment
    const wasExplained = explained !== null
    const common = { accountId, date, entryId, paymentId: command.paymentId, at: command.at }
    switch (command.type) {
      case 'Erase':
        return found.isErased ? accept() : accept({ type: 'BankCounterpartyErased', data: common })
      case 'Explain': {
        const { explanation, by } = command
        const explainedAmountMinor = unusedMinor(found)
        const isLeft = uses.every(({ effect }) => effect !== null) && explainedAmountMinor > 0n
        if (uses.length > 0 && !isLeft)
          return refuse('conflict', 'bank-payment-used', { transfer: uses[0]!.trackingId })
        if (isSuperseded) return refuse('conflict', 'bank-payment-detailed')
        if (explained?.explanation === explanation) return accept()
        return accept({
          type: 'BankPaymentExplained',
          data: { ...common, by, explanation, explainedAmountMinor, wasExplained },
        })
      }
      case 'Assign': {
        const { trackingId, amountMinor, by } = command
        const own = uses.find((each) => each.trackingId === trackingId)
        if (own)
          return own.amountMinor === amountMinor
            ? accept()
            : refuse('conflict', 'bank-payment-used', { transfer: trackingId })
        if (isSuperseded) return refuse('conflict', 'bank-payment-detailed')
        const isWhole = payment.paymentId !== payment.entryId
        if (uses.length > 0 && (isWhole || uses.length >= maxUses))
          return refuse('conflict', 'bank-payment-used', { transfer: uses[0]!.trackingId })
        const left = unusedMinor(found)
        if (amountMinor > left) return refuse('conflict', 'bank-payment-too-small', { left })
        const data = { ...common, trackingId, by, usedAmountMinor: amountMinor, wasExplained }
        return accept({ type: 'BankPaymentAssigned', data })
      }
      default: {
        const { trackingId, by } = command
        const own = uses.find((each) => each.trackingId === trackingId)
        // Another process has finished it.
        if (!own || own.effect !== null) return accept()
        const data = { ...common, trackingId, by, usedAmountMinor: own.amountMinor }
        if (command.type === 'Release')
          return accept({ type: 'BankPaymentReleased', data: { ...data, rule: command.rule, wasExplained } })
        return accept({ type: 'BankPaymentApplied', data: { ...data, effect: command.effect } })
      }
    }
  },
  evolve(state, event) {
    const { entryId } = event.data
    const known = state.find((each) => each.entryId === entryId)
    if (!known && event.type === 'BankPaymentRecorded') return [...state, changed({ entryId, payments: [] }, event)]
    return state.map((each) => (each === known ? changed(each, event) : each))
  },
}

function changed(known: KnownEntry, event: BankEntryEvent): KnownEntry {
  if (event.type === 'BankPaymentRecorded') {
    const payment = { payment: event.data, uses: [], explained: null, isSuperseded: false, isErased: false }
    return { ...known, payments: [...known.payments, payment] }
  }
  const { paymentId } = event.data
  const payments = known.payments.map((each) => (each.payment.paymentId === paymentId ? next(each, event) : each))
  return { ...known, payments }
}

function next(before: KnownPayment, event: BankEntryEvent): KnownPayment {
  const { uses } = before
  switch (event.type) {
    case 'BankPaymentAssigned': {
      const { trackingId, usedAmountMinor: amountMinor, by } = event.data
      return { ...before, uses: [...uses, { trackingId, amountMinor, by, effect: null }] }
    }
    case 'BankPaymentApplied': {
      const { trackingId, effect } = event.data
      return { ...before, uses: uses.map((each) => (each.trackingId === trackingId ? { ...each, effect } : each)) }
    }
    case 'BankPaymentReleased':
      return { ...before, uses: uses.filter(({ trackingId }) => trackingId !== event.data.trackingId) }
    case 'BankPaymentExplained': {
      const { explanation, by, at } = event.data
      return { ...before, explained: { explanation, by, at } }
    }
    case 'BankPaymentSuperseded':
      return { ...before, isSuperseded: true }
    case 'BankCounterpartyErased':
      return { ...before, payment: erased(before.payment), isErased: true }
    default:
      throw new Error('a payment was recorded twice')
  }
}

/** Returns the same payment whether or not it was still readable. */
function erased(payment: RecordedPayment): RecordedPayment {
  const fields = personalFields.map((name) => [name, payment[name] === null ? null : erasedText])
  return { ...payment, ...Object.fromEntries(fields) }
}

export interface FoundPayment extends KnownPayment {
  /** All payments of its entry. */
  readonly siblings: readonly KnownPayment[]
}

export function paymentIn(state: BankEntries, paymentId: string): FoundPayment | undefined {
  const known = state.find(({ entryId }) => entryId === entryIdOf(paymentId))
  const found = known?.payments.find(({ payment }) => payment.paymentId === paymentId)
  return found && known && { ...found, siblings: known.payments }
}

/** Returns the money of a payment that no transfer uses. A payment cannot use more than is left of its entry. */
function unusedMinor({ payment, uses, siblings }: FoundPayment): bigint {
  const sum = (all: readonly PaymentUse[]) => all.reduce((total, { amountMinor }) => total + amountMinor, 0n)
  const ofPayment = payment.paidAmountMinor - sum(uses)
  const ofEntry = payment.bookedAmountMinor - sum(siblings.flatMap((each) => each.uses))
  return ofPayment < ofEntry ? ofPayment : ofEntry
}

/** `applying`: it is assigned, and the transfer has not recorded it yet. */
export type PaymentStatus = 'open' | 'applying' | 'used' | 'explained' | 'superseded'

export function statusOf(found: FoundPayment): PaymentStatus {
  const { uses, explained, isSuperseded } = found
  if (uses.some(({ effect }) => effect === null)) return 'applying'
  if (isSuperseded) return 'superseded'
  if (uses.length > 0 && (found.payment.paymentId !== found.payment.entryId || unusedMinor(found) === 0n)) return 'used'
  return explained ? 'explained' : 'open'
}

/** Returns the kind of match of a payment, or `undefined` if it takes back money that a customer had paid. */
export function matchedAs({ payment }: Pick<FoundPayment, 'payment'>) {
  const isBack = payment.isReversal || payment.isReturn
  if (payment.direction === 'credit') return isBack ? 'return' : 'credit'
  return isBack ? undefined : 'debit'
}

// The ids name the stream, so that a payment is found without a read model.

/** Returns the id of the stream of an entry, and the first part of the entry's own id. */
export function entriesIdOf(entry: {
  readonly accountId: string
  readonly date: string
  readonly direction: 'credit' | 'debit'
  readonly amountMinor: bigint
}): string {
  return `${entry.accountId}-${entry.date}-${entry.direction[0]}-${entry.amountMinor}`
}

const entryIdOf = (paymentId: string): string => paymentId.replace(/\.\d+$/, '')
export const entriesIdIn = (paymentId: string): string => entryIdOf(paymentId).replace(/-\d+$/, '')
/** Returns the direction that the id of a payment states. */
export const directionIn = (paymentId: string): 'credit' | 'debit' =>
  /-c-\d+$/.test(entriesIdIn(paymentId)) ? 'credit' : 'debit'
