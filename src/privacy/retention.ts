import type { CommandContext } from '../commands/handle-command.js'
import { streamPrefix } from '../domain/streams.js'
import type { EventStore } from '../event-store/event-store.js'
import { creationIn, pagesOf } from './customer-transfers.js'
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
  const older = [...(await lastTransfers(parts.raw, merchantId))].filter(([, lastAt]) => lastAt < before)
  let [customers, erased, open] = [0, 0, 0]
  for (const [keyId] of older) {
    await parts.keys.load([keyId])
    const customer = parts.keys.known(keyId)
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

/** Returns when the last transfer of each customer was created, by the id of the customer's key. */
async function lastTransfers(raw: EventStore, merchantId: string | undefined): Promise<ReadonlyMap<string, string>> {
  const lastAt = new Map<string, string>()
  for await (const { events } of pagesOf(raw, [streamPrefix.transfer])) {
    for (const event of events) {
      const creation = creationIn(event)
      if (!creation || (merchantId !== undefined && creation.merchantId !== merchantId)) continue
      if (creation.at > (lastAt.get(creation.keyId) ?? '')) lastAt.set(creation.keyId, creation.at)
    }
  }
  return lastAt
}
