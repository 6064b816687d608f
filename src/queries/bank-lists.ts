import {
  type BankAccountDocument,
  type BankDayDocument,
  type BankPaymentDocument,
  collections,
} from '../read-models/documents.js'
import type { ReadModels } from '../read-models/read-models.js'
import { firstOf, type Order, type PageRequest, pageOf, type Run } from './list-page.js'

// The lists of bank statements. Each may throw ReadModelsUnavailableError.

const latestFirst: Order = { field: 'bookedAt', direction: -1 }

/** Returns the accounts of which a statement was imported. */
export async function bankAccounts(readModels: ReadModels): Promise<readonly BankAccountDocument[]> {
  const found = await readModels.collection(collections.bankAccounts).find({}, { sort: { _id: 1 } })
  return found as readonly BankAccountDocument[]
}

export interface BankPaymentFilter extends PageRequest {
  readonly accountIds: readonly string[]
  /** Only payments that no one has decided about. */
  readonly isOpen: boolean
  /** The first and the last day, such as `2026-03-02`; inclusive. */
  readonly from?: string | undefined
  readonly to?: string | undefined
}

/** Lists the payments of accounts, the latest day first. */
export async function listBankPayments(readModels: ReadModels, filter: BankPaymentFilter) {
  const { accountIds, isOpen, limit, cursor } = filter
  const runs = accountIds.map((id) => ({ equal: isOpen ? { openOf: id } : { accountId: id }, ...boundsOf(filter) }))
  const collection = readModels.collection(collections.bankPayments)
  const found = await firstOf<BankPaymentDocument>(collection, latestFirst, runs, { limit: limit + 1, cursor })
  return pageOf(found, limit, ({ bookedAt: at, position }) => ({ at, position }))
}

/** Lists what accounts booked on each day, the latest day first. */
export async function listBankDays(readModels: ReadModels, filter: Omit<BankPaymentFilter, 'isOpen'>) {
  const { accountIds, limit, cursor } = filter
  const runs = accountIds.map((accountId) => ({ equal: { accountId }, ...boundsOf(filter) }))
  const collection = readModels.collection(collections.bankDays)
  const found = await firstOf<BankDayDocument>(collection, latestFirst, runs, { limit: limit + 1, cursor })
  return pageOf(found, limit, ({ bookedAt: at, position }) => ({ at, position }))
}

function boundsOf({ from, to }: Pick<BankPaymentFilter, 'from' | 'to'>): Pick<Run, 'from' | 'to'> {
  return {
    ...(from !== undefined && { from: `${from}T00:00:00.000Z` }),
    // Exclusive: after every document of the last day, whose times are its start.
    ...(to !== undefined && { to: `${to}T00:00:00.001Z` }),
  }
}
