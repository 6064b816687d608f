import { PayoutCounts } from '../../src/commands/transfer/payout-counts.js'
import { defaultRules, type SettlementRules, TransferCommands } from '../../src/commands/transfer/transfers.js'
import type { MerchantSettings } from '../../src/domain/merchant/merchant-events.js'
import type { PaymentMethod } from '../../src/domain/payment-method.js'
import type { EventStore } from '../../src/event-store/event-store.js'
import type { Clock } from '../../src/kernel/time.js'
import { createSecretBox } from '../../src/security/secret-box.js'

/** Deposits by method 2 are paid manually. */
const bankTransfer: PaymentMethod = {
  ...{ code: 2, name: 'Bank transfer', kinds: ['deposit', 'withdrawal'], paidBy: 'manual' },
  ...{ minAmountMinor: 1n, maxAmountMinor: 999_999_99n },
}

/** Returns the commands on transfers with the default rules. */
export function transferCommands(
  store: EventStore,
  clock: Clock,
  settingsOf: (merchantId: string) => Promise<MerchantSettings | undefined>,
  rules: Partial<SettlementRules> = {},
): TransferCommands {
  const payouts = new PayoutCounts(store, createSecretBox(Buffer.alloc(32, 7)).mac)
  const all = { ...defaultRules, paymentMethods: [bankTransfer], ...rules }
  return new TransferCommands(store, clock, settingsOf, all, payouts)
}
