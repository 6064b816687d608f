import { appendUnlessChanged, type CommandContext } from '../commands/handle-command.js'
import { privacyStream, streamPrefix } from '../domain/streams.js'
import { encodeEvent } from '../event-store/event-codec.js'
import type { EventStore, RecordedEvent } from '../event-store/event-store.js'
import { sealedField } from '../event-store/personal-fields.js'
import type { Clock } from '../kernel/clock.js'
import type { CustomerKeys } from './customer-keys.js'
import { pagesOf } from './customer-transfers.js'
import { keyIdIn } from './sealed-data.js'

interface LostKeysParts {
  readonly raw: EventStore
  readonly keys: CustomerKeys
  readonly clock: Clock
}

const unknownMerchant = 'unknown'

/**
 * Records an erasure for every customer whose key cannot be decrypted, so that the customer's unreadable events read as erased. The erasure
 * lists no transfers, so receipts and read models keep their data. Can be repeated. Returns the number of customers.
 */
export async function giveUpLostKeys(
  { raw, keys, clock }: LostKeysParts,
  reason: string,
  context: CommandContext,
): Promise<number> {
  const lost = new Map<string, string>()
  for await (const id of keys.unopened()) lost.set(id, unknownMerchant)
  if (lost.size === 0) return 0
  await findMerchants(raw, lost)
  for (const [erasureId, merchantId] of lost) {
    const data = { erasureId, merchantId, trackingIds: [], reason, at: clock() }
    // An interrupted run may have recorded the decision.
    const event = encodeEvent({ type: 'CustomerErased', data }, context)
    await appendUnlessChanged(raw, privacyStream(erasureId), 'no_stream', event)
    await keys.destroy([erasureId])
  }
  return lost.size
}

/** Finds the merchants of the lost keys in the log, because the keys themselves cannot be read. */
async function findMerchants(raw: EventStore, lost: Map<string, string>): Promise<void> {
  const take = ({ data }: RecordedEvent) => {
    const id = keyIdIn(data[sealedField])
    if (id !== undefined && lost.get(id) === unknownMerchant) lost.set(id, String(data.merchantId))
  }
  for await (const { events } of pagesOf(raw, [streamPrefix.transfer])) events.forEach(take)
}
