import { mkdirSync, readFileSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import type { Logger } from 'pino'
import type { CommandContext } from '../commands/handle-command.js'
import type { MerchantCommands } from '../commands/merchant/merchant-commands.js'
import type { MerchantDirectory } from '../commands/merchant/merchant-directory.js'
import type { NewUser, UserCommands } from '../commands/user/user-commands.js'
import type { Merchant } from '../domain/merchant/merchant.js'
import { defaultSettings } from '../domain/merchant/merchant-settings.js'
import { toJsonNumber } from '../domain/money.js'
import { isMerchantRole, type Role, roles } from '../domain/user/permissions.js'
import type { User } from '../domain/user/user.js'
import { UnreadableEventError } from '../event-store/event-codec.js'
import { writeFileDurably } from '../operations/files/durable-file.js'
import type { SecretBox } from '../security/secret-box.js'
import type { WalletAccounts } from '../wallet/built-in/wallet-accounts.js'

/** The credentials that the banner shows. */
export interface SandboxCredentials {
  readonly merchantId: string
  readonly webApiKey: string
  readonly secretKey: string
  /** Required to try out the verification of callbacks. */
  readonly webhookSecret: string
  /** Authorizes access to the outbox. An address check is not enough: requests through a local proxy seem to come from this machine. */
  readonly outboxToken: string
  /** A customer's account for trying out payments; absent with a wallet core. */
  readonly wallet?: SandboxWallet
  /** One dashboard user for each role. */
  readonly users: readonly SandboxUser[]
}

/** The default addresses that may call the API as a sandbox merchant. */
export const loopback: readonly string[] = ['127.0.0.0/8', '::1']

const name = 'Sandbox'
/** For the catalogue's bank transfer, which is not real: an operator confirms the payment. */
const instructions =
  'Sandbox Bank, account DE89 3704 0044 0532 0130 00.\nThis payment is not checked: the operator completes the deposit (transferd transfers complete).'
const fileName = 'sandbox.json'
const noReceiver = 'no receiver yet: merchants set --callback-url, or callbacks enable'
/** The time that earlier credentials stay valid, because an operator who rotated them manually may still use them. */
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
 * Returns valid credentials of the sandbox merchant, and registers it or rotates its credentials if necessary. The log contains only a
 * digest of the key, so `<dataDirectory>/sandbox.json` stores the credentials in plaintext (mode 0600): the key that would seal them is
 * in the same directory. The file also contains the credentials of the customer's account, which is opened if `accounts` is given, and
 * of a user for each role. The outbox token derives from the master key, so it is the same at every start.
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
  // The banner must not show credentials before the directory, which follows the log, accepts them.
  await directory.catchUp()
  const users = await offerSandboxUsers(parts)
  const credentials = { merchantId, webApiKey, secretKey, webhookSecret, outboxToken, ...(wallet && { wallet }), users }
  mkdirSync(dataDirectory, { recursive: true, mode: 0o700 })
  writeFileDurably(path, `${JSON.stringify(credentials, null, 2)}\n`)
  return credentials
}

/** Offers a user for each role. Users with a merchant role see all of the sandbox's own merchants. */
export async function offerSandboxUsers(parts: Omit<SandboxParts, 'dataDirectory'>): Promise<readonly SandboxUser[]> {
  const { directory, merchants } = parts
  const own: string[] = []
  for (const { merchantId, suspended } of directory.all()) {
    if (!suspended && (await merchants.registeredBy(merchantId)) === sandboxActor) own.push(merchantId)
  }
  return ensureSandboxUsers(parts, own)
}

/** Returns whether no live merchant exists. A merchant with unreadable events may be live, so it counts unless it is known to be a sandbox merchant. */
export function isSandbox(known: MerchantDirectory): boolean {
  return (
    known.all().every((merchant) => merchant.settings.sandbox) && known.problems().every(({ isSandbox }) => isSandbox)
  )
}

/**
 * Ends the sandbox: suspends its merchants, disables its users and removes the credentials file. Sandbox merchants that an operator
 * registered or resumed stay active. Returns the ids of the merchants that this call suspended.
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
    const result = await merchants.suspend(merchantId, context, 'the sandbox has ended')
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
  // A merchant that was suspended when an earlier sandbox ended stays suspended.
  for (const merchant of directory.all().filter(({ suspended }) => !suspended)) {
    const isMatch = kept ? merchant.merchantId === kept.merchantId : merchant.settings.name === name
    // A merchant that an operator registered is never rotated: its credentials are in use, and it outlives the sandbox.
    if (!isMatch || (await merchants.registeredBy(merchant.merchantId)) !== sandboxActor) continue
    return rotate(merchant.merchantId, parts)
  }
  return register(parts)
}

function readCredentials(path: string): MerchantCredentials | undefined {
  try {
    return JSON.parse(readFileSync(path, 'utf8')) as MerchantCredentials
  } catch {
    // The file is missing or damaged, so new credentials are created.
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
  // Keeps callbacks until a receiver is configured.
  await merchants.execute(id, { type: 'DisableCallbacks', reason: noReceiver }, context)
  return { merchantId: id, webApiKey, secretKey, webhookSecret }
}

async function rotate(merchantId: string, { merchants, context }: SandboxParts): Promise<MerchantCredentials> {
  const key = await merchants.rotateApiKey(merchantId, overlapMinutes, context)
  const secret = await merchants.rotateSecret(merchantId, 'secretKey', overlapMinutes, context)
  const webhook = await merchants.rotateSecret(merchantId, 'webhookSecret', overlapMinutes, context)
  if (!key.accepted || !secret.accepted || !webhook.accepted) {
    throw new Error('the sandbox merchant is missing from the log')
  }
  return { merchantId, webApiKey: key.webApiKey, secretKey: secret.value, webhookSecret: webhook.value }
}

/** The actor that registers the sandbox's merchants and creates its users. No other code uses it. */
export const sandboxActor = 'system:sandbox'

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

/** A user for trying out the dashboard. */
export interface SandboxUser {
  readonly role: Role
  readonly email: string
  readonly password: string
}

interface SandboxUserParts {
  readonly users: UserCommands
  readonly box: Pick<SecretBox, 'mac'>
  readonly context: CommandContext
  readonly logger: Logger
}

/** Events of normal use, after which a user still belongs to the sandbox. */
const usual: ReadonlySet<string> = new Set(['UserSignedIn', 'UserConfirmed', 'UserSessionsEnded'])
/** Events that decide who owns a user and whether the user can sign in. */
const deciding: ReadonlySet<string> = new Set(['UserCreated', 'UserEnabled', 'UserDisabled'])
const passwordLength = 20

/**
 * Returns one user for each role and creates missing ones. Users with a merchant role see `merchantIds`. The passwords derive from the
 * master key, so every start can show them. Omits a user that anyone else has changed, because the password may no longer work.
 */
export async function ensureSandboxUsers(
  parts: SandboxUserParts,
  merchantIds: readonly string[],
): Promise<readonly SandboxUser[]> {
  const offered = await Promise.all(roles.map((role) => offer(parts, role, isMerchantRole(role) ? merchantIds : null)))
  return offered.flat()
}

async function offer(
  { users, box, context, logger }: SandboxUserParts,
  role: Role,
  merchantIds: readonly string[] | null,
): Promise<readonly SandboxUser[]> {
  const email = emailOf(role)
  const password = box.mac('sandbox user password', email).slice(0, passwordLength)
  try {
    const wanted = { email, name: `Sandbox ${role}`, role, merchantIds }
    const user = (await users.findByEmail(email)) ?? (await made(users, wanted, password, context))
    if (!user || !(await isAsMade(users, user))) return []
    // The user was disabled when an earlier sandbox ended.
    if (user.disabled) await users.execute(user.userId, { type: 'Enable' }, context)
    await users.changeRole(user.userId, { role, merchantIds }, context)
    return [{ role, email, password }]
  } catch (error) {
    // The service must start even without this user.
    if (!(error instanceof UnreadableEventError)) throw error
    logger.error({ err: error }, 'a user of the sandbox cannot be read')
    return []
  }
}

async function made(
  users: UserCommands,
  wanted: NewUser,
  password: string,
  context: CommandContext,
): Promise<User | undefined> {
  const result = await users.create(wanted, context, password)
  // Another node may have created the user concurrently.
  return result.accepted ? result.user : users.findByEmail(wanted.email)
}

async function isAsMade(users: UserCommands, { userId }: User): Promise<boolean> {
  const history = await users.history(userId)
  return history.every(({ event, metadata }) => metadata.actor === sandboxActor || usual.has(event.type))
}

/** Disables the users whose passwords a banner showed. A user that an operator has since enabled again stays enabled. */
export async function disableSandboxUsers(users: UserCommands, context: CommandContext): Promise<void> {
  for (const role of roles) {
    const user = await users.findByEmail(emailOf(role))
    if (!user || user.disabled) continue
    const decisive = (await users.history(user.userId)).filter(({ event }) => deciding.has(event.type))
    const isOurs = decisive.every(({ metadata }) => metadata.actor === sandboxActor)
    if (isOurs) await users.execute(user.userId, { type: 'Disable' }, { ...context, actor: sandboxActor })
  }
}

function emailOf(role: Role): string {
  return `${role}@sandbox.example`
}
