import { api } from './api-client'
import type { CompleteAction, StoredReceipt } from './contract'

/** What forms say about a payment, as requests have it. */

/** Undefined for what was left empty. */
export function filled(data: FormData, name: string): string | undefined {
  const value = data.get(name)
  return typeof value === 'string' && value.trim() !== '' ? value.trim() : undefined
}

export function filledMinor(data: FormData, name: string): number | undefined {
  const value = filled(data, name)
  return value === undefined ? undefined : Number(value)
}

/** A file is stored before anything refers to it, and storing it once more does nothing; a link is taken as it is. */
export async function receiptOf(data: FormData): Promise<string | undefined> {
  const file = data.get('receiptFile')
  if (!(file instanceof File) || file.size === 0) return filled(data, 'receiptUrl')
  return (await api.send<StoredReceipt>('POST', '/receipts', file)).receiptUrl
}

/** `revision`: what the user decided by. */
export async function completionOf(data: FormData, revision: number): Promise<CompleteAction> {
  const amountMinor = filledMinor(data, 'amountMinor')
  const confirmedAmountMinor = filledMinor(data, 'confirmedAmountMinor')
  const receiptUrl = await receiptOf(data)
  const message = filled(data, 'message')
  const reason = filled(data, 'reason')
  return {
    revision,
    ...(amountMinor !== undefined && { amountMinor }),
    ...(confirmedAmountMinor !== undefined && { confirmedAmountMinor }),
    ...(receiptUrl !== undefined && { receiptUrl }),
    ...(message !== undefined && { message }),
    ...(reason !== undefined && { reason }),
  }
}
