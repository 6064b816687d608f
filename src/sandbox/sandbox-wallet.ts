import type { Logger } from 'pino'
import type { CommandContext } from '../commands/handle-command.js'
import { toJsonNumber } from '../domain/money.js'
import { UnreadableEventError } from '../event-store/event-codec.js'
import type { SecretBox } from '../security/secret-box.js'
import type { WalletAccounts } from '../wallet/built-in/wallet-accounts.js'

/** A customer's account for trying out payments. */
export interface SandboxWallet {
  readonly accountNumber: number
  readonly email: string
  readonly password: string
  /** The balance when the service started. */
  readonly balance: number
}

const email = 'customer@example.com'
const phone = '+15555550100'
const openingBalanceMinor = 10_000_00n

/**
 * Returns the sandbox's account and opens it if it does not exist. The password derives from the master key, so every start can show
 * it although the log contains only a hash. Returns undefined if a different account uses the email address, or if the account's events
 * cannot be read.
 */
export async function ensureSandboxWallet(
  accounts: WalletAccounts,
  box: Pick<SecretBox, 'mac'>,
  context: CommandContext,
  logger: Logger,
): Promise<SandboxWallet | undefined> {
  const bits = Buffer.from(box.mac('sandbox wallet password', email), 'base64url').readUIntBE(0, 6)
  const password = String(bits % 1_000_000).padStart(6, '0')
  try {
    let account = await accounts.findByEmail(email)
    if (!account) {
      await accounts.open({ email, password, phone, openingBalanceMinor, sandbox: true }, context)
      // Another node may have opened it concurrently.
      account = await accounts.findByEmail(email)
    }
    if (!account?.sandbox) return undefined
    return { accountNumber: account.accountNumber, email, password, balance: toJsonNumber(account.balanceMinor) }
  } catch (error) {
    // The service must start even without this account.
    if (!(error instanceof UnreadableEventError)) throw error
    logger.error({ err: error }, "the sandbox's wallet account cannot be read")
    return undefined
  }
}
