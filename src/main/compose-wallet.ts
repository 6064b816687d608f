import type { Logger } from 'pino'
import type { MerchantDirectory } from '../commands/merchant/merchant-directory.js'
import type { TransferCommands } from '../commands/transfer/transfers.js'
import { isManual } from '../domain/payment-method.js'
import type { EventStore } from '../event-store/event-store.js'
import type { Clock } from '../kernel/time.js'
import type { Configuration } from '../operations/configuration/configuration.js'
import type { ReadModels } from '../read-models/read-models.js'
import { createPasswords, type Passwords } from '../security/passwords.js'
import type { SecretBox } from '../security/secret-box.js'
import { TokenBuckets } from '../security/token-buckets.js'
import { createBuiltInWallet } from '../wallet/built-in/built-in-wallet.js'
import { WalletAccounts } from '../wallet/built-in/wallet-accounts.js'
import { createHttpWallet } from '../wallet/http/http-wallet.js'
import { createSmsGateway, createSmtp, routeMessages } from '../wallet/messages/gateways.js'
import { Outbox } from '../wallet/messages/outbox.js'
import { WalletCollections } from '../wallet/payments/collections.js'
import { createWalletLogin } from '../wallet/payments/wallet-logins.js'
import { WalletPayments } from '../wallet/payments/wallet-payments.js'
import type { Wallet } from '../wallet/wallet.js'

export interface WalletDependencies {
  readonly configuration: Pick<Configuration, 'wallet' | 'messages' | 'currency'>
  readonly eventStore: EventStore
  readonly readModels: ReadModels
  readonly box: SecretBox
  readonly clock: Clock
  /** Shared with other users of password hashing, which is expensive. */
  readonly passwords?: Passwords
  /** Called for every message, because the first live merchant ends the sandbox. */
  readonly isSandbox: () => boolean
}

export interface WalletParts {
  readonly wallet: Wallet
  /** `undefined` with a wallet core, which keeps the accounts itself. */
  readonly accounts: WalletAccounts | undefined
  /** The messages of the sandbox. Messages that were sent elsewhere are not in it. */
  readonly outbox: Outbox
}

export function createWallet(dependencies: WalletDependencies): WalletParts {
  const { configuration, box, isSandbox } = dependencies
  const { currency } = configuration
  const outbox = createOutbox(dependencies)
  if (configuration.wallet.engine === 'http') {
    return { wallet: createHttpWallet({ ...configuration.wallet, currency }), accounts: undefined, outbox }
  }
  const { email, sms } = configuration.messages
  const messages = routeMessages({
    email: email && createSmtp(email),
    sms: sms && createSmsGateway(sms),
    outbox,
    isSandbox,
  })
  const accounts = createWalletAccounts(dependencies)
  return { wallet: createBuiltInWallet({ accounts, box, messages, currency, isSandbox }), accounts, outbox }
}

export function createWalletAccounts({
  eventStore,
  clock,
  box,
  passwords = createPasswords(),
}: Pick<WalletDependencies, 'eventStore' | 'clock' | 'box' | 'passwords'>): WalletAccounts {
  return new WalletAccounts(eventStore, clock, box, passwords)
}

export function createOutbox({
  readModels,
  box,
  clock,
}: Pick<WalletDependencies, 'readModels' | 'box' | 'clock'>): Outbox {
  return new Outbox(readModels, box, clock)
}

/** Codes for one account, for all merchants together: 5 per minute with a burst of 3. Each code is a text message. */
const codes = { perSecond: 5 / 60, burst: 3 }
const maxThrottledAccounts = 100_000

/** Counts a code for an account. Returns 0, or the seconds until the next code is allowed. */
export type TakeCode = (accountNumber: number) => number

export function limitCodes(monotonicMs: () => number): TakeCode {
  const buckets = new TokenBuckets(monotonicMs, maxThrottledAccounts)
  return (accountNumber) => buckets.take(String(accountNumber), codes.perSecond, codes.burst)
}

export interface WalletPaymentsParts {
  readonly configuration: Pick<Configuration, 'paymentMethods'>
  readonly eventStore: EventStore
  readonly wallet: Wallet
  readonly transfers: TransferCommands
  readonly directory: MerchantDirectory
  readonly box: SecretBox
  readonly publicUrl: string
  readonly clock: Clock
  readonly logger: Logger
  readonly takeCode: TakeCode
}

/** The payment steps of customers. */
export function createWalletPayments(parts: WalletPaymentsParts): WalletPayments {
  const { configuration, eventStore: store, wallet, transfers, directory, box, publicUrl, clock, logger } = parts
  const settingsOf = async (merchantId: string) => directory.settingsOf(merchantId)
  return new WalletPayments({
    ...{ store, wallet, transfers, settingsOf, box, publicUrl, clock, takeCode: parts.takeCode },
    isManual: (code) => isManual(configuration.paymentMethods, code),
    onUnavailable: (cause, { merchantId, trackingId }) =>
      logger.error({ merchantId, trackingId, cause }, 'the wallet cannot be used'),
    collections: new WalletCollections({ store, wallet, transfers, settingsOf, clock }),
    logIn: createWalletLogin(store, box, clock),
  })
}
