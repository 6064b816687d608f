import { startBankWork } from '../bank/bank-work.js'
import { isInSandbox } from '../commands/merchant/merchant-directory.js'
import { startAuditTree } from '../operations/audit/audit-tree.js'
import { createCommands } from '../operations/commands.js'
import { startFinishingErasures } from '../privacy/customer-erasure.js'
import { startExpiry } from '../processes/deposit-expiry.js'
import { startLinkedPayouts } from '../processes/linked-payouts.js'
import { startPaymentRecovery } from '../processes/payment-recovery.js'
import { startListingStreams } from '../processes/stream-lister.js'
import { startProjections } from '../projections/start-projections.js'
import type { Part } from '../subscriptions/under-lease.js'
import { WalletCollections } from '../wallet/payments/collections.js'
import { withTestCustomer } from '../wallet/test-customer.js'
import type { BackgroundParts } from './background.js'
import { createWallet } from './compose-wallet.js'

/** Starts the work of the role `projections`: everything that follows the log except callbacks, and the tree over the log. */
export function startProjectionWork(parts: BackgroundParts): Part {
  const { configuration, rawStore, store, merchants, keys, clock } = parts
  const settingsOf = async (merchantId: string) => merchants.settingsOf(merchantId)
  const { transfers, bank } = createCommands(configuration, { ...parts, settingsOf })
  const isSandbox = () => isInSandbox(configuration, merchants)
  const wallet = parts.wallet ?? createWallet({ ...parts, eventStore: store, isSandbox }).wallet
  // This thread sends no messages to customers.
  const silent = withTestCustomer(wallet, () => undefined)
  const work = [
    startProjections(parts),
    startFinishingErasures({ ...parts, raw: rawStore, transfers, bank }),
    // Runs in this thread because it needs the read model of transfers.
    startExpiry({ ...parts, transfers }),
    startLinkedPayouts({ ...parts, transfers, wallet: silent }),
    startBankWork({
      ...parts,
      transfers,
      bank,
      currency: configuration.currency.code,
      directory: configuration.bankStatementsDirectory,
    }),
    startListingStreams(parts),
    startPaymentRecovery({
      ...parts,
      payments: new WalletCollections({ store, transfers, settingsOf, clock, wallet: silent }),
      // The time that a request may still wait for a response of the wallet.
      graceMs: 15_000 + (configuration.wallet.engine === 'http' ? 2 * configuration.wallet.timeoutMs : 0),
    }),
  ]
  const tree = startAuditTree({ ...parts, keys: keys.store })
  return {
    ends: () => [...work, tree].flatMap((part) => part.ends()),
    async stop() {
      await Promise.all(work.map((part) => part.stop()))
      // Stops last, so that it also seals the events that the others append while they stop.
      await tree.stop()
    },
  }
}
