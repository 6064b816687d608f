import type { Logger } from 'pino'
import type { Registry } from 'prom-client'
import type { CallbackCommands } from '../commands/callbacks.js'
import type { Clock } from '../commands/handle-command.js'
import type { MerchantDirectory } from '../commands/merchant-directory.js'
import type { SecretKeyUse } from '../commands/secret-key-use.js'
import type { TransferCommands } from '../commands/transfers.js'
import type { WalletPayments } from '../commands/wallet/payments.js'
import type { Currency } from '../domain/currency.js'
import type { PaymentMethod } from '../domain/payment-method.js'
import type { ReadModels } from '../read-models/read-models.js'
import type { SecretBox } from '../security/secret-box.js'
import type { SecurityLog } from '../security/security-log.js'
import type { ConnectionLimits } from './plugins/connections.js'

/** A message of the sandbox's wallet; `code` or `link` is null. */
export interface OutboxMessage {
  readonly kind: 'sms' | 'email'
  readonly to: string
  readonly code: string | null
  readonly link: string | null
  readonly at: string
}

export interface HttpDependencies {
  readonly transfers: TransferCommands
  readonly callbacks: CallbackCommands
  readonly walletPayments: WalletPayments
  /** Started. */
  readonly directory: MerchantDirectory
  readonly secretKeyUse: Pick<SecretKeyUse, 'matters' | 'seen'>
  readonly readModels: ReadModels
  readonly secretBox: Pick<SecretBox, 'mac'>
  readonly currency: Currency
  readonly paymentMethods: readonly PaymentMethod[]
  /** What customers' browsers reach, without a slash at the end. */
  readonly publicUrl: string
  /** CIDR ranges of the proxies whose X-Forwarded-For is believed; nobody's when empty. */
  readonly trustedProxies: readonly string[]
  readonly connections: ConnectionLimits
  readonly clock: Clock
  /** What rates are measured by. */
  readonly monotonicMs: () => number
  readonly logger: Logger
  readonly securityLog: SecurityLog
  /** Exposed at /metrics; http adds its own. One registry for each app. */
  readonly metrics: Registry
  /** What keeps the rest of the process from being ready, in words; empty when nothing does. */
  readonly readiness: () => Promise<readonly string[]>
  /** What keeps nobody from being served but needs a person, in words. */
  readonly details: () => Promise<readonly string[]>
  /** False: nothing is answered but health and metrics. */
  readonly merchantsServed: boolean
  /** Newest first; undefined outside sandbox mode, and with another token than the banner's. */
  readonly outbox: (token: string) => Promise<readonly OutboxMessage[] | undefined>
}
