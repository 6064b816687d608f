import { mkdirSync, readFileSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import type { Logger } from 'pino'
import type { CommandContext } from '../commands/handle-command.js'
import { type CallbackNetworks, callbackNetworks } from '../commands/merchant/callback-networks.js'
import type { MerchantCommands } from '../commands/merchant/merchant-commands.js'
import { isInSandbox, type MerchantDirectory } from '../commands/merchant/merchant-directory.js'
import type { NewUser, UserCommands } from '../commands/user/user-commands.js'
import type { Merchant } from '../domain/merchant/merchant.js'
import { defaultSettings } from '../domain/merchant/merchant-settings.js'
import { toJsonNumber } from '../domain/money.js'
import { isMerchantRole, type Role, roles } from '../domain/user/permissions.js'
import { UnreadableEventError } from '../event-store/event-codec.js'
import type { Configuration } from '../operations/configuration/configuration.js'
import { writeFileDurably } from '../operations/files/durable-file.js'
import type { SecretBox } from '../security/secret-box.js'
import { retryWhileUnavailable } from '../subscriptions/retry.js'
import type { WalletAccounts } from '../wallet/built-in/wallet-accounts.js'
import { missingGateways } from '../wallet/messages/gateways.js'

/** The actor that registers the sandbox's merchants and creates its users. No other code uses it. */
export const sandboxActor = 'system:sandbox'

/** The default addresses that may call the API as a sandbox merchant. */
export const loopback: readonly string[] = ['127.0.0.0/8', '::1']

const name = 'Sandbox'
/** For the catalogue's bank transfer, which is not real: an operator confirms the payment. */
const instructions =
  'Sandbox Bank, account DE89 3704 0044 0532 0130 00.\nFor developers: nothing checks this payment. Run transferd transfers complete.'
const fileName = 'sandbox.json'
const noReceiver = 'no receiver yet: merchants set --callback-url, or callbacks enable'
/** The time that earlier credentials stay valid, because an operator who rotated them manually may still use them. */
const overlapMinutes = 1440
const customer = {
  email: 'customer@example.com',
  phone: '+15555550100',
  openingBalanceMinor: 10_000_00n,
  sandbox: true,
}
/** Events of normal use, after which a user still belongs to the sandbox. */
const usual: ReadonlySet<string> = new Set(['UserSignedIn', 'UserConfirmed', 'UserSessionsEnded'])
const passwordLength = 20

interface SandboxParts {
  /** Absolute path. */
  readonly dataDirectory: string
  readonly directory: MerchantDirectory
  readonly merchants: MerchantCommands
  readonly users: UserCommands
  readonly box: Pick<SecretBox, 'mac'>
  readonly context: CommandContext
  readonly logger: Logger
}

/** The credentials that the banner shows. */
export type SandboxCredentials = Awaited<ReturnType<typeof offerSandbox>>

/**
 * Returns valid credentials of the sandbox merchant, and registers it or rotates its credentials if necessary. The log contains only a
 * digest of the key, so `<dataDirectory>/sandbox.json` stores the credentials in plaintext (mode 0600): the key that would seal them is
 * in the same directory. The file also contains the base URL, for commands that call the API, and the credentials of the customer's account,
 * which is opened if `accounts` is given, and of a user for each role. The outbox token derives from the master key, so it is the same at every start.
 */
export async function offerSandbox(parts: SandboxParts, accounts: WalletAccounts | undefined, baseUrl: string) {
  const { dataDirectory, directory, box } = parts
  const path = join(dataDirectory, fileName)
  const { merchantId, webApiKey, secretKey, webhookSecret } = await validCredentials(readCredentials(path), parts)
  const wallet = accounts && (await offerWallet(accounts, parts))
  // An address check would not protect the outbox: requests through a local proxy seem to come from this machine.
  const outboxToken = box.mac('sandbox outbox', merchantId)
  // The banner must not show credentials before the directory, which follows the log, accepts them.
  await directory.catchUp()
  const users = await offerSandboxUsers(parts)
  const credentials = { merchantId, webApiKey, secretKey, webhookSecret, outboxToken, ...(wallet && { wallet }), users }
  mkdirSync(dataDirectory, { recursive: true, mode: 0o700 })
  writeFileDurably(path, `${JSON.stringify({ baseUrl, ...credentials }, null, 2)}\n`)
  return credentials
}

/** Returns a warning for each sandbox merchant whose callbacks are refused, because the installation is not a sandbox. */
export function refusedEndpoints(networks: CallbackNetworks, merchants: readonly Merchant[]): readonly string[] {
  const isRefused = ({ settings, suspended, callbacksDisabled }: Merchant) =>
    settings.sandbox && !suspended && !callbacksDisabled && networks.warningOf(settings.callbackUrl, true) === 'refused'
  // The URL is omitted, because it can contain a token.
  return merchants.filter(isRefused).map(({ merchantId }) => {
    return `callbacks of the sandbox merchant ${merchantId} are refused: its URL leads to an address that is neither public nor in CALLBACK_ALLOWED_NETWORKS`
  })
}

/**
 * Ends the sandbox: suspends its merchants, disables its users and removes the credentials file. Sandbox merchants that an operator
 * registered or resumed stay active, and so do users with access from an operator. Returns the ids of the merchants and users that this
 * call suspended and disabled.
 */
export async function closeSandbox(
  directory: string,
  { merchants, users }: Pick<SandboxParts, 'merchants' | 'users'>,
  all: readonly Merchant[],
  context: CommandContext,
): Promise<{ readonly merchants: readonly string[]; readonly users: readonly string[] }> {
  const closed: string[] = []
  for (const { merchantId, settings, suspended } of all) {
    if (!settings.sandbox || suspended || (await merchants.registeredBy(merchantId)) !== sandboxActor) continue
    const result = await merchants.suspend(merchantId, context, 'the sandbox has ended')
    if (result.accepted && result.changed) closed.push(merchantId)
  }
  const disabled = await disableSandboxUsers(users, { ...context, actor: sandboxActor })
  rmSync(join(directory, fileName), { force: true })
  return { merchants: closed, users: disabled }
}

/** Disables the users whose passwords a banner showed, and everyone to whom they gave access. */
async function disableSandboxUsers(users: UserCommands, context: CommandContext): Promise<readonly string[]> {
  const shown = await Promise.all(roles.map((role) => users.findByEmail(emailOf(role))))
  // All histories are read only until the sandbox has ended.
  if (shown.every((user) => !user || user.disabled)) return []
  const isShown = (userId: string) => shown.some((user) => user?.userId === userId)
  const disabled: string[] = []
  // A user of the banner can create another one until the first round has disabled them.
  for (let round = 0; round < 2; round++) {
    const ids = sandboxUsers(await users.historyOfAll())
    // The users of the banner come last, so that a crash before then repeats the search.
    for (const userId of ids.sort((a, b) => Number(isShown(a)) - Number(isShown(b)))) {
      const result = await users.execute(userId, { type: 'Disable' }, context)
      if (result.accepted && result.changed) disabled.push(userId)
    }
  }
  return disabled
}

/**
 * Returns the users whose access comes from the sandbox, or from a user of it: it created, enabled or reset them, or set their role. A later
 * reset or enabling by anyone else is access from outside. A role is not: the password may still be a known one.
 */
function sandboxUsers(history: Awaited<ReturnType<UserCommands['historyOfAll']>>): string[] {
  const found = new Set<string>()
  for (const { event, metadata } of history) {
    const { type, data } = event
    const isAccess = type === 'UserCreated' || type === 'UserEnabled' || (type === 'UserPasswordSet' && data.temporary)
    if (!isAccess && type !== 'UserRoleChanged') continue
    const isOfSandbox = metadata.actor === sandboxActor || found.has(metadata.actor.replace('user:', ''))
    if (isOfSandbox) found.add(data.userId)
    else if (isAccess) found.delete(data.userId)
  }
  return [...found]
}

/** Returns a warning for each kind of message that has no gateway. A wallet core sends its messages itself. */
export function messageWarnings({ wallet, messages }: Pick<Configuration, 'wallet' | 'messages'>): readonly string[] {
  return wallet.engine === 'http' ? [] : missingGateways(messages)
}

/**
 * Closes the sandbox once a live merchant exists: immediately, or when a command or another node registers one. If one exists already,
 * resolves after the sandbox is closed.
 */
export async function closeSandboxWhenLive(
  configuration: Pick<Configuration, 'sandbox' | 'wallet' | 'messages' | 'callbackAllowedNetworks'>,
  parts: SandboxParts,
): Promise<{ stop(): Promise<void> }> {
  const { dataDirectory, directory, context, logger } = parts
  const stopping = new AbortController()
  const examined = new Set<string>()
  const networks = callbackNetworks(configuration, directory)
  let closing: Promise<void> | undefined
  const close = async (open: readonly Merchant[]) => {
    const closed = await retryWhileUnavailable(() => closeSandbox(dataDirectory, parts, open, context), {
      signal: stopping.signal,
      onUnavailable: (err, failures) => logger.warn({ err, failures }, 'the sandbox is not closed yet'),
    })
    for (const merchantId of closed?.merchants ?? [])
      logger.info({ merchantId }, 'the sandbox has ended: its merchant is suspended')
    for (const userId of closed?.users ?? []) logger.info({ userId }, 'the sandbox has ended: its user is disabled')
    const remaining = open.filter(({ merchantId }) => !closed?.merchants.includes(merchantId))
    for (const warning of refusedEndpoints(networks, remaining)) logger.warn(warning)
  }
  const look = () => {
    if (isInSandbox(configuration, directory)) return
    // The sandbox can gain merchants after it closes, for example when their events become readable.
    const open = directory.all().filter(({ merchantId, settings, suspended }) => {
      return settings.sandbox && !suspended && !examined.has(merchantId)
    })
    if (closing && open.length === 0) return
    for (const { merchantId } of open) examined.add(merchantId)
    if (!closing && !directory.isSandbox()) for (const warning of messageWarnings(configuration)) logger.warn(warning)
    closing = (closing ?? Promise.resolve())
      .then(() => close(open))
      .catch((err) => logger.error({ err }, 'the sandbox could not be closed'))
  }
  directory.whenChanged(look)
  look()
  await closing
  return {
    async stop() {
      stopping.abort()
      await closing
    },
  }
}

type MerchantCredentials = Awaited<ReturnType<typeof register>>

async function validCredentials(kept: MerchantCredentials | undefined, parts: SandboxParts) {
  const { directory, merchants } = parts
  if (kept && areValid(kept, directory)) return kept
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

function areValid({ merchantId, webApiKey, secretKey, webhookSecret }: MerchantCredentials, known: MerchantDirectory) {
  const merchant = known.byApiKey(webApiKey)?.merchant
  return (
    merchant?.merchantId === merchantId &&
    !merchant.suspended &&
    known.secrets(merchant, 'secretKey').includes(secretKey) &&
    known.secrets(merchant, 'webhookSecret').includes(webhookSecret)
  )
}

async function register({ merchants, context }: SandboxParts) {
  const settings = {
    ...defaultSettings(true),
    name,
    callbackUrl: 'http://127.0.0.1:4000/callbacks',
    paymentInstructions: [{ paymentMethod: 2, text: instructions }],
    allowIps: loopback,
  }
  const { id: merchantId, ...secrets } = await merchants.register(settings, context)
  // Keeps callbacks until a receiver is configured.
  await merchants.execute(merchantId, { type: 'DisableCallbacks', reason: noReceiver }, context)
  return { merchantId, ...secrets }
}

async function rotate(merchantId: string, { merchants, context }: SandboxParts): Promise<MerchantCredentials> {
  const key = await merchants.rotateApiKey(merchantId, overlapMinutes, context)
  const secret = await merchants.rotateSecret(merchantId, 'secretKey', overlapMinutes, context)
  const webhook = await merchants.rotateSecret(merchantId, 'webhookSecret', overlapMinutes, context)
  if (!key.accepted || !secret.accepted || !webhook.accepted)
    throw new Error('the sandbox merchant is missing from the log')
  return { merchantId, webApiKey: key.webApiKey, secretKey: secret.value, webhookSecret: webhook.value }
}

/** Returns `undefined` if the events cannot be read, because the service must start even then. */
async function unlessUnreadable<Result>(logger: Logger, problem: string, offer: () => Promise<Result>) {
  try {
    return await offer()
  } catch (error) {
    if (!(error instanceof UnreadableEventError)) throw error
    logger.error({ err: error }, problem)
    return undefined
  }
}

/**
 * Returns the account of a customer for trying out payments, and opens it if it does not exist. The password derives from the master key, so
 * every start can show it although the log contains only a hash. Returns `undefined` if a different account uses the email address, or if
 * the account's events cannot be read.
 */
async function offerWallet(accounts: WalletAccounts, { box, context, logger }: SandboxParts) {
  const { email } = customer
  const bits = Buffer.from(box.mac('sandbox wallet password', email), 'base64url').readUIntBE(0, 6)
  const password = String(bits % 1_000_000).padStart(6, '0')
  return unlessUnreadable(logger, "the sandbox's wallet account cannot be read", async () => {
    if (!(await accounts.findByEmail(email))) await accounts.open({ ...customer, password }, context)
    // Another node may have opened it concurrently.
    const account = await accounts.findByEmail(email)
    if (!account?.sandbox) return undefined
    return { accountNumber: account.accountNumber, email, password, balance: toJsonNumber(account.balanceMinor) }
  })
}

/**
 * Returns a dashboard user for each role and creates missing ones. Users with a merchant role see all of the sandbox's own merchants. The
 * passwords derive from the master key, so every start can show them. Omits a user that anyone else has changed, because the password may
 * no longer work.
 */
export async function offerSandboxUsers(parts: Omit<SandboxParts, 'dataDirectory'>) {
  const { directory, merchants } = parts
  const own: string[] = []
  for (const { merchantId, suspended } of directory.all())
    if (!suspended && (await merchants.registeredBy(merchantId)) === sandboxActor) own.push(merchantId)
  const offered = await Promise.all(
    roles.map((role) => {
      const wanted = { email: emailOf(role), name: `Sandbox ${role}`, role }
      return offerUser(parts, { ...wanted, merchantIds: isMerchantRole(role) ? own : null })
    }),
  )
  return offered.filter((user) => user !== undefined)
}

async function offerUser({ users, box, context, logger }: Omit<SandboxParts, 'dataDirectory'>, wanted: NewUser) {
  const { email, role, merchantIds } = wanted
  const password = box.mac('sandbox user password', email).slice(0, passwordLength)
  return unlessUnreadable(logger, 'a user of the sandbox cannot be read', async () => {
    if (!(await users.findByEmail(email))) await users.create(wanted, context, password)
    // Another node may have created the user concurrently.
    const user = await users.findByEmail(email)
    if (!user) return undefined
    const history = await users.history(user.userId)
    const isOurs = history.every(({ event, metadata }) => metadata.actor === sandboxActor || usual.has(event.type))
    if (!isOurs) return undefined
    // The user was disabled when an earlier sandbox ended.
    if (user.disabled) await users.execute(user.userId, { type: 'Enable' }, context)
    await users.changeRole(user.userId, { role, merchantIds }, context)
    return { role, email, password }
  })
}

function emailOf(role: Role): string {
  return `${role}@sandbox.example`
}
