import type { Logger } from 'pino'
import type { CommandContext } from '../commands/handle-command.js'
import { toJsonNumber } from '../domain/money.js'
import { UnreadableEventError } from '../event-store/event-codec.js'
import type { SecretBox } from '../security/secret-box.js'
import type { WalletAccounts } from '../wallet/built-in/wallet-accounts.js'

/** A customer's account to try payments with. */
export interface SandboxWallet {
  readonly accountNumber: number
  readonly email: string
  readonly password: string
  /** As the service started. */
  readonly balance: number
}

const email = 'customer@example.com'
const phone = '+15555550100'
const openingBalanceMinor = 10_000_00n

/**
 * The sandbox's account, opened where it is not there yet. Its password derives from the master key: it can be shown at every
 * start, though the log holds a hash only. Undefined when somebody else has an account under its e-mail,
 * or its events cannot be read.
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
      // Another node may have opened it at the same moment.
      account = await accounts.findByEmail(email)
    }
    if (!account?.sandbox) return undefined
    return { accountNumber: account.accountNumber, email, password, balance: toJsonNumber(account.balanceMinor) }
  } catch (error) {
    // One to try payments with is no reason not to start.
    if (!(error instanceof UnreadableEventError)) throw error
    logger.error({ err: error }, "the sandbox's wallet account cannot be read")
    return undefined
  }
}
