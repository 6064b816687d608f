import type { CommandContext } from '../commands/handle-command.js'
import { streamPrefix } from '../domain/streams.js'
import type { EventStore } from '../event-store/event-store.js'
import { eraseCustomer, type PrivacyParts } from './customer-erasure.js'
import { creationIn, pagesOf } from './customer-transfers.js'

interface Retention {
  /** ISO 8601. Customers whose last transfer was created before this time are erased. */
  readonly before: string
  /** Defaults to all merchants. */
  readonly merchantId?: string | undefined
  readonly reason: string
  readonly dryRun: boolean
}

interface RetentionResult {
  readonly before: string
  /** The number of customers without a later transfer. */
  readonly customers: number
  readonly erased: number
  /** The number of these customers that have an open transfer, and were not erased. */
  readonly open: number
}

/** Erases customers without a recent transfer. @throws the errors of eraseCustomer */
export async function eraseOlder(
  parts: PrivacyParts,
  { before, merchantId, reason, dryRun }: Retention,
  context: CommandContext,
): Promise<RetentionResult> {
  const older = [...(await lastTransfers(parts.raw, merchantId))].filter(([, lastAt]) => lastAt < before)
  let [customers, erased, open] = [0, 0, 0]
  for (const [keyId] of older) {
    await parts.keys.load([keyId])
    const customer = parts.keys.known(keyId)
    // Without a key, the customer was erased before.
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
