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

interface WalletDependencies {
  readonly configuration: Pick<Configuration, 'wallet' | 'messages' | 'currency'>
  readonly installationName: string
  readonly eventStore: EventStore
  readonly readModels: ReadModels
  readonly box: SecretBox
  readonly clock: Clock
  /** Shared with other users of password hashing, which is expensive. */
  readonly passwords?: Passwords
  /** Called for every message, because the first live merchant ends the sandbox. */
  readonly isSandbox: () => boolean
}

/** Returns the wallet, its accounts except with a wallet core, which keeps them itself, and the messages of the sandbox. */
export function createWallet(dependencies: WalletDependencies) {
  const { configuration, installationName, box, isSandbox } = dependencies
  const { currency } = configuration
  const outbox = createOutbox(dependencies)
  if (configuration.wallet.engine === 'http')
    return { wallet: createHttpWallet({ ...configuration.wallet, currency }), accounts: undefined, outbox }
  const { email, sms } = configuration.messages
  const gateways = { email: email && createSmtp(email), sms: sms && createSmsGateway(sms) }
  const messages = routeMessages({ ...gateways, outbox, isSandbox })
  const accounts = createWalletAccounts(dependencies)
  const parts = { accounts, box, messages, currency, installationName, isSandbox }
  return { wallet: createBuiltInWallet(parts), accounts, outbox }
}

type AccountParts = Pick<WalletDependencies, 'eventStore' | 'clock' | 'box' | 'passwords'>

export function createWalletAccounts({ eventStore, clock, box, passwords = createPasswords() }: AccountParts) {
  return new WalletAccounts(eventStore, clock, box, passwords)
}

export function createOutbox({ readModels, box, clock }: Pick<WalletDependencies, 'readModels' | 'box' | 'clock'>) {
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
