import type { EventStore } from '../event-store/event-store.js'
import type { Clock } from '../kernel/clock.js'
import type { Configuration } from '../operations/configuration/configuration.js'
import type { ReadModels } from '../read-models/read-models.js'
import { createPasswords, type Passwords } from '../security/passwords.js'
import type { SecretBox } from '../security/secret-box.js'
import { createBuiltInWallet } from '../wallet/built-in/built-in-wallet.js'
import { WalletAccounts } from '../wallet/built-in/wallet-accounts.js'
import { createHttpWallet } from '../wallet/http/http-wallet.js'
import { routeMessages } from '../wallet/messages/message-route.js'
import { Outbox } from '../wallet/messages/outbox.js'
import { createSmsGateway } from '../wallet/messages/sms-gateway.js'
import { createSmtp } from '../wallet/messages/smtp.js'
import type { Wallet } from '../wallet/wallet.js'

export interface WalletDependencies {
  readonly configuration: Pick<Configuration, 'wallet' | 'messages' | 'currency'>
  readonly eventStore: EventStore
  readonly readModels: ReadModels
  readonly box: SecretBox
  readonly clock: Clock
  /** Shared with others who have passwords compared; its own when absent. */
  readonly passwords?: Passwords
  /** Asked every time: the first live merchant ends the sandbox. */
  readonly isSandbox: () => boolean
}

export interface WalletParts {
  readonly wallet: Wallet
  /** Undefined with a wallet core, which keeps the accounts. */
  readonly accounts: WalletAccounts | undefined
  /** Where the sandbox's messages are found; it holds nothing that was sent elsewhere. */
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
