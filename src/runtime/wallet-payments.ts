import type { Logger } from 'pino'
import type { MerchantDirectory } from '../commands/merchant-directory.js'
import type { TransferCommands } from '../commands/transfers.js'
import { WalletCollections } from '../commands/wallet/collections.js'
import { WalletLogIns } from '../commands/wallet/log-ins.js'
import { WalletPayments, type WalletPaymentsDependencies } from '../commands/wallet/payments.js'
import { isManual, type PaymentMethod } from '../domain/payment-method.js'
import { TokenBuckets } from '../http/plugins/token-buckets.js'
import type { SecretBox } from '../security/secret-box.js'

/** Codes to one account: 5 a minute, 3 at once, whichever merchant's. Each is a text message. */
const codes = { perSecond: 5 / 60, burst: 3 }
const maxThrottledAccounts = 100_000

export interface WalletPaymentsParts
  extends Pick<WalletPaymentsDependencies, 'store' | 'wallet' | 'publicUrl' | 'clock'> {
  readonly transfers: TransferCommands
  readonly directory: MerchantDirectory
  readonly box: SecretBox
  readonly paymentMethods: readonly PaymentMethod[]
  readonly logger: Logger
}

/** The flow as requests use it. */
export function createWalletPayments(parts: WalletPaymentsParts): WalletPayments {
  const { directory, logger, paymentMethods, ...rest } = parts
  const settingsOf = async (merchantId: string) => directory.settingsOf(merchantId)
  const throttle = new TokenBuckets(() => performance.now(), maxThrottledAccounts)
  return new WalletPayments({
    ...rest,
    settingsOf,
    isManual: (code) => isManual(paymentMethods, code),
    onUnavailable: (cause, { merchantId, trackingId }) =>
      logger.error({ merchantId, trackingId, cause }, 'the wallet cannot be used'),
    collections: new WalletCollections({ ...rest, settingsOf }),
    logIns: new WalletLogIns(rest.store, rest.box, rest.clock),
    takeCode: (accountNumber) => throttle.take(String(accountNumber), codes.perSecond, codes.burst),
  })
}
