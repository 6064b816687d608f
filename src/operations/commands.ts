import { BankCommands } from '../commands/bank/bank-commands.js'
import { CallbackCommands } from '../commands/callback/callback-commands.js'
import { MerchantCommands } from '../commands/merchant/merchant-commands.js'
import { PayoutCounts } from '../commands/transfer/payout-counts.js'
import { type SettlementRules, TransferCommands } from '../commands/transfer/transfers.js'
import type { MerchantSettings } from '../domain/merchant/merchant-events.js'
import type { EventStore } from '../event-store/event-store.js'
import type { Clock } from '../kernel/time.js'
import type { SecretBox } from '../security/secret-box.js'
import type { Configuration } from './configuration/configuration.js'

interface CommandParts {
  readonly store: EventStore
  readonly box: SecretBox
  readonly clock: Clock
  readonly settingsOf: (merchantId: string) => Promise<MerchantSettings | undefined>
}

export interface Commands {
  readonly transfers: TransferCommands
  readonly callbacks: CallbackCommands
  readonly merchants: MerchantCommands
  readonly bank: BankCommands
}

/** Creates the commands for a process or thread, so that the configuration applies to all of them. */
export function createCommands(
  configuration: Pick<Configuration, Exclude<keyof SettlementRules, 'walletRefunds'> | 'wallet'>,
  { store, box, clock, settingsOf }: CommandParts,
): Commands {
  const { completionGuardFactor, correctionDays, paymentMethods, wallet } = configuration
  // The HTTP contract of other wallets has no refunds.
  const rules = { completionGuardFactor, correctionDays, paymentMethods, walletRefunds: wallet.engine === 'built-in' }
  const transfers = new TransferCommands(store, clock, settingsOf, rules, new PayoutCounts(store, box.mac))
  return {
    transfers,
    callbacks: new CallbackCommands(store, clock),
    merchants: new MerchantCommands(store, clock, box),
    bank: new BankCommands(store, clock, box.mac, transfers),
  }
}
