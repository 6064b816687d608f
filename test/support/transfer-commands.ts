import { defaultCompletionGuardFactor, TransferCommands } from '../../src/commands/transfer/transfers.js'
import type { MerchantSettings } from '../../src/domain/merchant/merchant-events.js'
import type { EventStore } from '../../src/event-store/event-store.js'
import type { Clock } from '../../src/kernel/time.js'

/** Returns the commands on transfers with the default guard of completions. */
export function transferCommands(
  store: EventStore,
  clock: Clock,
  settingsOf: (merchantId: string) => Promise<MerchantSettings | undefined>,
): TransferCommands {
  return new TransferCommands(store, clock, settingsOf, defaultCompletionGuardFactor)
}
