import type { CommandContext } from '../commands/handle-command.js'
import { streamPrefix } from '../domain/streams.js'
import { type Creation, creationIn, pagesOf } from './customer-transfers.js'
import { eraseCustomer, type PrivacyParts } from './erasure.js'

export interface Retention {
  /** Customers whose last transfer was created before this (ISO 8601) are erased. */
  readonly before: string
  /** All merchants when absent. */
  readonly merchantId?: string | undefined
  readonly reason: string
  readonly dryRun: boolean
}

export interface Retained {
  readonly before: string
  /** Customers without a transfer since. */
  readonly customers: number
  readonly erased: number
  /** Of them, those with a transfer that is still open. */
  readonly open: number
}

/** Erases by rule what is no longer wanted. @throws what eraseCustomer does */
export async function eraseOlder(
  parts: PrivacyParts,
  { before, merchantId, reason, dryRun }: Retention,
  context: CommandContext,
): Promise<Retained> {
  const older = [...(await lastTransfers(parts, merchantId))].filter(([, lastAt]) => lastAt < before)
  let [customers, erased, open] = [0, 0, 0]
  for (const [whose] of older) {
    const customer = await customerOf(parts, whose)
    // Erased already.
    if (!customer) continue
    customers++
    if (dryRun) continue
    const result = await eraseCustomer(parts, customer, reason, context)
    if (result.accepted) erased++
    else if (result.reason === 'transfers-open') open++
  }
  return { before, customers, erased, open }
}

/** When the last transfer of each customer was created, by the key's id, or by merchant and userId where there is none. */
async function lastTransfers(
  { raw, keys }: PrivacyParts,
  merchantId: string | undefined,
): Promise<ReadonlyMap<string, string>> {
  const lastAt = new Map<string, string>()
  const note = (whose: string, at: string) => at > (lastAt.get(whose) ?? '') && lastAt.set(whose, at)
  /** Transfers of before there were keys. */
  const inClear = new Map<string, Creation & { readonly userId: string }>()
  for await (const { events } of pagesOf(raw, [streamPrefix.transfer])) {
    for (const event of events) {
      if (event.type === 'PersonalDataErased') inClear.delete(String(event.data.trackingId))
      const creation = creationIn(event)
      if (!creation || (merchantId !== undefined && creation.merchantId !== merchantId)) continue
      const { keyId, userId, trackingId, at } = creation
      if (keyId !== undefined) note(keyId, at)
      else if (userId !== undefined) inClear.set(trackingId, { ...creation, userId })
    }
  }
  for (const { merchantId: ofMerchant, userId, at } of inClear.values()) {
    const key = keys.knownOf(ofMerchant, userId) ?? (await keys.find(ofMerchant, userId))
    note(key?.id ?? JSON.stringify([ofMerchant, userId]), at)
  }
  return lastAt
}

async function customerOf({ keys }: PrivacyParts, whose: string) {
  if (whose.startsWith('[')) {
    const [merchantId, userId] = JSON.parse(whose) as [string, string]
    return { merchantId, userId }
  }
  await keys.load([whose])
  return keys.known(whose)
}
