import { mkdirSync, readFileSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import type { Logger } from 'pino'
import type { CommandContext } from '../commands/handle-command.js'
import type { MerchantCommands } from '../commands/merchant/merchant-commands.js'
import type { MerchantDirectory } from '../commands/merchant/merchant-directory.js'
import type { UserCommands } from '../commands/user/user-commands.js'
import type { Merchant } from '../domain/merchant/merchant.js'
import { defaultSettings } from '../domain/merchant/merchant-settings.js'
import { writeFileDurably } from '../operations/files/durable-file.js'
import type { SecretBox } from '../security/secret-box.js'
import type { WalletAccounts } from '../wallet/built-in/wallet-accounts.js'
import { sandboxActor } from './sandbox-actor.js'
import { disableSandboxUsers, ensureSandboxUsers, type SandboxUser } from './sandbox-users.js'
import { ensureSandboxWallet, type SandboxWallet } from './sandbox-wallet.js'

/** What the banner shows of the sandbox merchant. */
export interface SandboxCredentials {
  readonly merchantId: string
  readonly webApiKey: string
  readonly secretKey: string
  /** Without it nobody could try to verify a callback. */
  readonly webhookSecret: string
  /** Opens the outbox: who can reach it through a proxy looks like somebody on this machine. */
  readonly outboxToken: string
  /** A customer to pay as; absent with a wallet core. */
  readonly wallet?: SandboxWallet
  /** To try the dashboard as: one for each role. */
  readonly users: readonly SandboxUser[]
}

/** Where a sandbox merchant may be called from when nothing else is said. */
export const loopback: readonly string[] = ['127.0.0.0/8', '::1']

const name = 'Sandbox'
/** For the bank transfer of the catalogue, which nobody can make: an operator says that the money came. */
const instructions =
  'Sandbox Bank, account DE89 3704 0044 0532 0130 00.\nNobody checks: the operator completes this deposit (transferd transfers complete).'
const fileName = 'sandbox.json'
const noReceiver = 'no receiver yet: merchants set --callback-url, or callbacks enable'
/** Whoever still uses the credentials before: an operator who rotated them by hand. */
const overlapMinutes = 1440

export interface SandboxParts {
  /** Absolute path. */
  readonly dataDirectory: string
  readonly directory: MerchantDirectory
  readonly merchants: MerchantCommands
  readonly users: UserCommands
  readonly box: Pick<SecretBox, 'mac'>
  readonly context: CommandContext
  readonly logger: Logger
}

/**
 * Credentials of the sandbox merchant that work now, registering it or rotating them where that is needed. The log holds the key
 * only as a digest, so the credentials are kept in `<dataDirectory>/sandbox.json`, in clear (mode 0600): the key that would seal
 * them lies beside it. So are those of the customer's account, opened where `accounts` are kept here, and of a user for each role. The token of the outbox
 * derives from the master key: it is the same at every start.
 */
export async function offerSandbox(
  parts: SandboxParts,
  accounts: WalletAccounts | undefined,
): Promise<SandboxCredentials> {
  const { dataDirectory, directory, box, context, logger } = parts
  const path = join(dataDirectory, fileName)
  const { merchantId, webApiKey, secretKey, webhookSecret } = await credentialsThatWork(readCredentials(path), parts)
  const wallet = accounts && (await ensureSandboxWallet(accounts, box, context, logger))
  const outboxToken = box.mac('sandbox outbox', merchantId)
  // The banner must not be ahead of what follows the log a moment behind.
  await directory.catchUp()
  const users = await offerSandboxUsers(parts)
  const credentials = { merchantId, webApiKey, secretKey, webhookSecret, outboxToken, ...(wallet && { wallet }), users }
  mkdirSync(dataDirectory, { recursive: true, mode: 0o700 })
  writeFileDurably(path, `${JSON.stringify(credentials, null, 2)}\n`)
  return credentials
}

/** Those of merchants see all that are the sandbox's own. */
export async function offerSandboxUsers(parts: Omit<SandboxParts, 'dataDirectory'>): Promise<readonly SandboxUser[]> {
  const { directory, merchants } = parts
  const own: string[] = []
  for (const { merchantId, suspended } of directory.all()) {
    if (!suspended && (await merchants.registeredBy(merchantId)) === sandboxActor) own.push(merchantId)
  }
  return ensureSandboxUsers(parts, own)
}

/** There is no live merchant, nor one that may be: what cannot be read could say so. */
export function isSandbox(known: MerchantDirectory): boolean {
  return (
    known.all().every((merchant) => merchant.settings.sandbox) && known.problems().every(({ isSandbox }) => isSandbox)
  )
}

/**
 * Ends the sandbox: suspends its merchants, disables its users and removes the file of its credentials. Sandbox merchants that an operator registered
 * stay, and so does one that an operator has resumed. Returns the ids of those suspended now.
 */
export async function closeSandbox(
  directory: string,
  { merchants, users }: Pick<SandboxParts, 'merchants' | 'users'>,
  all: readonly Merchant[],
  context: CommandContext,
): Promise<readonly string[]> {
  const closed: string[] = []
  for (const { merchantId, settings, suspended } of all) {
    if (!settings.sandbox || suspended || (await merchants.registeredBy(merchantId)) !== sandboxActor) continue
    const result = await merchants.suspend(merchantId, context, 'the sandbox is over')
    if (result.accepted && result.changed) closed.push(merchantId)
  }
  await disableSandboxUsers(users, context)
  rmSync(join(directory, fileName), { force: true })
  return closed
}

type MerchantCredentials = Pick<SandboxCredentials, 'merchantId' | 'webApiKey' | 'secretKey' | 'webhookSecret'>

async function credentialsThatWork(
  kept: MerchantCredentials | undefined,
  parts: SandboxParts,
): Promise<MerchantCredentials> {
  const { directory, merchants } = parts
  if (kept && stillWork(kept, directory)) return kept
  // One that was suspended when the sandbox was over before stays so.
  for (const merchant of directory.all().filter(({ suspended }) => !suspended)) {
    const isCalledSo = kept ? merchant.merchantId === kept.merchantId : merchant.settings.name === name
    // Nor is an operator's own, whatever its name: somebody has its credentials, and it stays when the sandbox is over.
    if (!isCalledSo || (await merchants.registeredBy(merchant.merchantId)) !== sandboxActor) continue
    return rotate(merchant.merchantId, parts)
  }
  return register(parts)
}

function readCredentials(path: string): MerchantCredentials | undefined {
  try {
    return JSON.parse(readFileSync(path, 'utf8')) as MerchantCredentials
  } catch {
    // Lost or damaged: rotation makes new ones.
    return undefined
  }
}

function stillWork(credentials: MerchantCredentials, known: MerchantDirectory): boolean {
  const { merchantId, webApiKey, secretKey, webhookSecret } = credentials
  const merchant = known.byApiKey(webApiKey)?.merchant
  return (
    merchant?.merchantId === merchantId &&
    !merchant.suspended &&
    known.secrets(merchant, 'secretKey').includes(secretKey) &&
    known.secrets(merchant, 'webhookSecret').includes(webhookSecret)
  )
}

async function register({ merchants, context }: SandboxParts): Promise<MerchantCredentials> {
  const settings = {
    ...defaultSettings(true),
    name,
    callbackUrl: 'http://127.0.0.1:4000/callbacks',
    paymentInstructions: [{ paymentMethod: 2, text: instructions }],
    allowIps: loopback,
  }
  const { id, webApiKey, secretKey, webhookSecret } = await merchants.register(settings, context)
  // Callbacks are kept, not sent into the void, until somebody listens.
  await merchants.disableCallbacks(id, noReceiver, context)
  return { merchantId: id, webApiKey, secretKey, webhookSecret }
}

async function rotate(merchantId: string, { merchants, context }: SandboxParts): Promise<MerchantCredentials> {
  const key = await merchants.rotateApiKey(merchantId, overlapMinutes, context)
  const secret = await merchants.rotateSecret(merchantId, 'secretKey', overlapMinutes, context)
  const webhook = await merchants.rotateSecret(merchantId, 'webhookSecret', overlapMinutes, context)
  if (!key.accepted || !secret.accepted || !webhook.accepted) {
    throw new Error('the sandbox merchant vanished from the log')
  }
  return { merchantId, webApiKey: key.webApiKey, secretKey: secret.value, webhookSecret: webhook.value }
}
