import type { Logger } from 'pino'
import type { MerchantDirectory } from '../commands/merchant/merchant-directory.js'
import type { TransferCommands } from '../commands/transfer/transfers.js'
import { isManual, type PaymentMethod } from '../domain/payment-method.js'
import { TokenBuckets } from '../http/server/token-buckets.js'
import type { SecretBox } from '../security/secret-box.js'
import { WalletCollections } from '../wallet/payments/collections.js'
import { WalletLogIns } from '../wallet/payments/wallet-logins.js'
import { WalletPayments, type WalletPaymentsDependencies } from '../wallet/payments/wallet-payments.js'

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
