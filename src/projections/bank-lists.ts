import { type BankAccountEvent, bankAccountDecider } from '../domain/bank/bank-account.js'
import { type BankEntryEvent, bankEntriesDecider, directionIn, statusOf } from '../domain/bank/bank-entries.js'
import { streamPrefix } from '../domain/streams.js'
import { targetDate } from '../domain/target-days.js'
import type { BankEffect } from '../domain/transfer/transfer-events.js'
import { bankPaymentOf } from '../read-models/bank-documents.js'
import {
  type BankAccountDocument,
  type BankDayDocument,
  type BankPaymentDocument,
  type BankSums,
  collections,
  indexes,
  sortablePosition,
} from '../read-models/documents.js'
import { type EventProjection, foldedDocuments, type ProjectedEvent } from './projection.js'

/** Every payment of the statements, with what its money is used for. */
export const bankPaymentsProjection: EventProjection = {
  name: 'bank-payments',
  version: 1,
  streamPrefixes: [streamPrefix.bankEntries],
  collection: collections.bankPayments,
  indexes: indexes.bankPayments,
  ...foldedDocuments<BankPaymentDocument, 'revision'>({
    progressField: 'revision',
    idsOf: ({ event }) => [(event as BankEntryEvent).data.paymentId],
    isFirst: ({ event }) => event.type === 'BankPaymentRecorded',
    next: nextPayment,
  }),
}

/** The domain's own fold of an entry that has only this payment. */
function nextPayment(
  before: BankPaymentDocument | undefined,
  { event, position, revision }: ProjectedEvent,
): BankPaymentDocument {
  const { entryId, paymentId } = (event as BankEntryEvent).data
  const earlier = before ? [{ entryId, payments: [bankPaymentOf(before)] }] : bankEntriesDecider.initialState
  const [entry] = bankEntriesDecider.evolve(earlier, event as BankEntryEvent)
  const known = entry!.payments[0]!
  const { payment, uses, explained, isSuperseded, isErased } = known
  const status = statusOf({ ...known, siblings: [known] })
  const isOpen = status === 'open' || status === 'applying'
  return {
    _id: paymentId,
    position: before?.position ?? sortablePosition(position),
    accountId: payment.accountId,
    bookedAt: bookedAtOf(payment.date),
    recordedAt: payment.at,
    status,
    ...(isOpen && { openOf: payment.accountId }),
    ...(status === 'applying' && { applying: true as const, assignedAt: (event as BankEntryEvent).data.at }),
    personId: payment.personId,
    payment: {
      ...payment,
      bookedAmountMinor: Number(payment.bookedAmountMinor),
      paidAmountMinor: Number(payment.paidAmountMinor),
    },
    uses: uses.map((use) => ({ ...use, amountMinor: Number(use.amountMinor) })),
    ...(explained && { explained }),
    ...(isSuperseded && { isSuperseded }),
    ...(isErased && { isErased }),
    revision,
  }
}

/** The sums that an account booked on each day, and their use. */
export const bankDaysProjection: EventProjection = {
  name: 'bank-days',
  version: 1,
  streamPrefixes: [streamPrefix.bankEntries, streamPrefix.transfer],
  collection: collections.bankDays,
  indexes: indexes.bankDays,
  ...foldedDocuments<BankDayDocument, 'position'>({
    progressField: 'position',
    idsOf: ({ event }) => {
      const day = dayOf(event)
      return day ? [`${day.accountId} ${day.date}`] : []
    },
    isFirst: () => false,
    next: nextDay,
  }),
}

const noSums: BankSums = { booked: '0', open: '0', completed: '0', received: '0', returned: '0', explained: '0' }

function nextDay(
  before: BankDayDocument | undefined,
  { event, position }: ProjectedEvent,
  id: string,
): BankDayDocument {
  const { accountId, date } = dayOf(event)!
  const none = { _id: id, accountId, bookedAt: bookedAtOf(date), files: '0', credit: noSums, debit: noSums }
  const day = { ...(before ?? none), position: sortablePosition(position) }
  if (event.type === 'WithdrawalAddedToBankFile')
    return { ...day, files: String(BigInt(day.files) + event.data.amountMinor) }
  const booked = event as BankEntryEvent
  const direction = directionIn(booked.data.paymentId)
  return { ...day, [direction]: changesOf(booked, direction).reduce(withChange, day[direction]) }
}

/** Returns the account and day that an event changes. A file leaves on the day on which it is produced. */
function dayOf(event: ProjectedEvent['event']): { readonly accountId: string; readonly date: string } | undefined {
  if (event.type === 'WithdrawalAddedToBankFile') {
    const { payingAccountId, at } = event.data
    return payingAccountId ? { accountId: payingAccountId, date: targetDate(at) } : undefined
  }
  return 'paymentId' in event.data && 'date' in event.data ? event.data : undefined
}

type Change = readonly [sum: keyof BankSums, minor: bigint]

function changesOf({ type, data }: BankEntryEvent, direction: 'credit' | 'debit'): readonly Change[] {
  switch (type) {
    case 'BankPaymentRecorded':
      return [
        ['booked', data.paidAmountMinor],
        ['open', data.paidAmountMinor],
      ]
    case 'BankPaymentSuperseded':
      return [
        ['booked', -data.supersededAmountMinor],
        ['open', -data.supersededAmountMinor],
      ]
    case 'BankPaymentAssigned':
      return [[data.wasExplained ? 'explained' : 'open', -data.usedAmountMinor]]
    case 'BankPaymentReleased':
      return [[data.wasExplained ? 'explained' : 'open', data.usedAmountMinor]]
    case 'BankPaymentApplied':
      return [[sumOf(data.effect, direction), data.usedAmountMinor]]
    case 'BankPaymentExplained':
      return data.wasExplained
        ? []
        : [
            ['open', -data.explainedAmountMinor],
            ['explained', data.explainedAmountMinor],
          ]
    default:
      return []
  }
}

function sumOf(effect: BankEffect, direction: 'credit' | 'debit'): keyof BankSums {
  if (effect === 'returned') return 'returned'
  return direction === 'credit' ? 'received' : 'completed'
}

function withChange(sums: BankSums, [sum, minor]: Change): BankSums {
  return { ...sums, [sum]: String(BigInt(sums[sum]) + minor) }
}

/** Every account of which a statement was imported. */
export const bankAccountsProjection: EventProjection = {
  name: 'bank-accounts',
  version: 1,
  streamPrefixes: [streamPrefix.bankAccount],
  collection: collections.bankAccounts,
  indexes: [],
  ...foldedDocuments<BankAccountDocument, 'revision'>({
    progressField: 'revision',
    idsOf: ({ event }) => [(event as BankAccountEvent).data.accountId],
    isFirst: ({ previous }) => previous < 0,
    next(before, { event, revision }, accountId) {
      const { merchantIds } = bankAccountDecider.evolve(
        { ...bankAccountDecider.initialState, merchantIds: before?.merchantIds },
        event as BankAccountEvent,
      )
      return { _id: accountId, merchantIds: merchantIds ?? null, revision }
    },
  }),
}

const bookedAtOf = (date: string): string => `${date}T00:00:00.000Z`
