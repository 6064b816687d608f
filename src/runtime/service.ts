import { hash, randomUUID, timingSafeEqual } from 'node:crypto'
import { createServer } from 'node:net'
import type { FastifyInstance } from 'fastify'
import type { Logger } from 'pino'
import { CallbackCommands } from '../commands/callbacks.js'
import type { CommandContext } from '../commands/handle-command.js'
import { MerchantDirectory } from '../commands/merchant-directory.js'
import { MerchantCommands } from '../commands/merchants.js'
import { SecretKeyUse } from '../commands/secret-key-use.js'
import { TransferCommands } from '../commands/transfers.js'
import type { WalletAccounts } from '../commands/wallet/accounts.js'
import { UnreadableEventError } from '../event-store/event-codec.js'
import { buildApp } from '../http/app.js'
import { type OpenProblem, openProblems, placeOf } from '../projections/open-problems.js'
import type { SecretBox } from '../security/secret-box.js'
import { type BackgroundThread, startBackgroundThread } from './background-thread.js'
import type { Started } from './banner.js'
import type { Configuration } from './configuration.js'
import { closeSandboxWhenLive, messageWarnings } from './going-live.js'
import { ServiceRegistry } from './metrics.js'
import { ensureSandboxMerchant, isSandbox, type SandboxCredentials, sandboxActor } from './sandbox.js'
import { ensureSandboxWallet } from './sandbox-wallet.js'
import { createSecurityLog } from './security-log.js'
import { openStores, type Stores } from './stores.js'
import { createWallet } from './wallet.js'
import { createWalletPayments } from './wallet-payments.js'

const requestTimeoutMs = 30_000

/** The service cannot start, or go on, as things are; the message says what to change. */
export class ServiceError extends Error {
  override readonly name = 'ServiceError'
}

export interface Service {
  readonly started: Started
  /** Resolves, with the reason, when the service cannot go on by itself. */
  readonly failed: Promise<Error>
  /** Accepts no more, finishes what was begun, closes the stores. */
  stop(): Promise<void>
}

/**
 * The main thread's composition: HTTP and commands here; projections, callbacks and expiry in the background thread, which
 * a node without those roles has not.
 * @throws ServiceError, and what opening the stores throws
 */
export async function startService(configuration: Configuration, logger: Logger): Promise<Service> {
  const stores = await openStores(configuration)
  const closing: (() => Promise<void>)[] = [() => stores.close()]
  // Last opened, first closed.
  const stop = async () => {
    for (const close of closing.splice(0).reverse()) await close()
  }
  try {
    for (const notice of stores.notices) logger.warn(notice)
    const { started, failed } = await startParts(configuration, stores, logger, (close) => closing.push(close))
    return { started, failed, stop }
  } catch (error) {
    await stop()
    throw error
  }
}

async function startParts(
  configuration: Configuration,
  stores: Stores,
  logger: Logger,
  onStop: (close: () => Promise<void>) => void,
): Promise<Omit<Service, 'stop'>> {
  const { eventStore, readModels, box } = stores
  const clock = () => new Date().toISOString()
  const directory = new MerchantDirectory(eventStore, box, clock, (err) => logger.error({ err }, 'merchant directory'))
  await directory.start()
  onStop(() => directory.stop())
  checkMasterKey(directory, logger)

  const { port, release } =
    configuration.port === 0 ? await reservePort(configuration.host) : { port: configuration.port, release: undefined }
  if (release) onStop(release)
  const baseUrl = configuration.publicUrl ?? `http://${reachableHost(configuration.host)}:${port}`
  const context = { actor: sandboxActor, $correlationId: randomUUID(), $causationId: randomUUID() }
  const merchants = new MerchantCommands(eventStore, clock, box)
  const goingLive = await closeSandboxWhenLive({ configuration, directory, merchants, context, logger })
  onStop(() => goingLive.stop())
  const inSandbox = () => configuration.sandbox !== 'off' && isSandbox(directory)
  const parts = { configuration, eventStore, readModels, box, clock, isSandbox: inSandbox }
  const { wallet, accounts, outbox } = createWallet(parts)
  const sandboxParts = { directory, merchants, accounts, box, context, logger }
  const sandbox =
    configuration.sandbox === 'off' || !configuration.roles.has('api')
      ? undefined
      : await offerSandbox(configuration.dataDirectory, sandboxParts)

  const warnings = () => (isSandbox(directory) ? [] : messageWarnings(configuration))
  const { background, failed } = startBackground(configuration, stores, logger)
  onStop(() => background.stop())
  const transfers = new TransferCommands(eventStore, clock, async (id) => directory.settingsOf(id))
  const { paymentMethods, currency } = configuration
  const about = { directory, box, paymentMethods, publicUrl: baseUrl, clock, logger }
  const payments = { store: eventStore, wallet, transfers, ...about }
  const metrics = new ServiceRegistry(() => background.metrics())
  const securityLog = createSecurityLog(logger, metrics, () => performance.now())
  onStop(async () => securityLog.close())
  const app = await buildApp({
    transfers,
    walletPayments: createWalletPayments(payments),
    callbacks: new CallbackCommands(eventStore, clock),
    directory,
    secretKeyUse: new SecretKeyUse(merchants, clock),
    readModels,
    secretBox: box,
    currency,
    paymentMethods,
    publicUrl: baseUrl,
    trustedProxies: configuration.trustedProxies,
    connections: { ...configuration, requestTimeoutMs },
    clock,
    monotonicMs: () => performance.now(),
    logger,
    securityLog,
    metrics,
    readiness: async () => [background.problem() ?? []].flat(),
    details: async () => [...warnings(), ...(await openProblems(readModels, directory)).map(sentence)],
    merchantsServed: configuration.roles.has('api'),
    outbox: async (token) => (inSandbox() && isSame(token, sandbox?.outboxToken) ? outbox.list() : undefined),
  })
  onStop(() => app.close())
  await release?.()
  await listen(app, configuration.host, port)
  logger.info({ host: configuration.host, port, baseUrl, roles: [...configuration.roles] }, 'listening')
  const roles = [...configuration.roles]
  return {
    started: {
      baseUrl,
      roles,
      currency,
      directory: configuration.dataDirectory,
      sandbox,
      notices: [...stores.notices, ...warnings()],
    },
    failed,
  }
}

interface SandboxParts {
  readonly directory: MerchantDirectory
  readonly merchants: MerchantCommands
  readonly accounts: WalletAccounts | undefined
  readonly box: SecretBox
  readonly context: CommandContext
  readonly logger: Logger
}

function offerSandbox(dataDirectory: string, parts: SandboxParts): Promise<SandboxCredentials | undefined> {
  const { directory, merchants, accounts, box, context, logger } = parts
  const openWallet = async () => {
    try {
      return accounts && (await ensureSandboxWallet(accounts, box, context))
    } catch (error) {
      // One to try payments with is no reason not to start.
      if (!(error instanceof UnreadableEventError)) throw error
      logger.error({ err: error }, "the sandbox's wallet account cannot be read")
      return undefined
    }
  }
  return ensureSandboxMerchant(dataDirectory, merchants, directory, context, openWallet, box)
}

const noBackground: BackgroundThread = {
  problem: () => undefined,
  metrics: async () => '',
  stop: async () => undefined,
}

function startBackground(configuration: Configuration, stores: Stores, logger: Logger) {
  let giveUp: (reason: Error) => void
  const failed = new Promise<Error>((resolve) => {
    giveUp = resolve
  })
  const { roles } = configuration
  if (!roles.has('projections') && !roles.has('callbacks')) return { background: noBackground, failed }
  const background = startBackgroundThread({
    data: () => {
      const eventStore = stores.shareEventStore()
      const data = { configuration, masterKey: stores.masterKey, eventStore }
      return { data, transfer: eventStore ? [eventStore.port] : [] }
    },
    logger,
    onGivenUp: (reason) => giveUp(reason),
  })
  return { background, failed }
}

/**
 * A wrong master key would otherwise show as failures of one merchant after the other. One that opens any merchant's is right:
 * what it does not open is damaged, and that merchant's own trouble. @throws ServiceError
 */
function checkMasterKey(directory: MerchantDirectory, logger: Logger): void {
  const merchants = directory.all()
  const failed = merchants.flatMap((merchant) => {
    try {
      directory.secrets(merchant, 'secretKey')
      return []
    } catch (error) {
      return [{ merchantId: merchant.merchantId, error: error as Error }]
    }
  })
  if (failed[0] && failed.length === merchants.length)
    throw new ServiceError(`the secrets in the log cannot be opened: ${failed[0].error.message}`)
  for (const { merchantId, error } of failed) logger.error({ err: error, merchantId }, 'secrets cannot be opened')
}

function sentence(problem: OpenProblem): string {
  return `${placeOf(problem)} cannot be read: ${problem.reason} (transferd events problems)`
}

/** In the same time, however much of it is right. */
function isSame(given: string, expected: string | undefined): boolean {
  const [a, b] = [given, expected ?? ''].map((text) => hash('sha256', text, 'buffer'))
  return timingSafeEqual(a!, b!) && expected !== undefined
}

/** Any address the host name stands for would do for the URL; the wildcards stand for this machine. */
function reachableHost(host: string): string {
  if (host === '0.0.0.0' || host === '::') return '127.0.0.1'
  return host.includes(':') ? `[${host}]` : host
}

async function listen(app: FastifyInstance, host: string, port: number): Promise<void> {
  try {
    await app.listen({ host, port })
  } catch (error) {
    throw explained(error, host, port)
  }
}

/**
 * A free port, held until it is released, as what is free now may be another's a moment later. Asked for before the app is
 * built, as URLs in its answers name it.
 */
function reservePort(host: string): Promise<{ readonly port: number; readonly release: () => Promise<void> }> {
  return new Promise((resolve, reject) => {
    const holder = createServer((socket) => socket.destroy())
    holder.once('error', (error) => reject(explained(error, host, 0)))
    holder.listen(0, host, () => {
      const { port } = holder.address() as { port: number }
      const release = () => new Promise<void>((released) => holder.close(() => released()))
      resolve({ port, release })
    })
  })
}

function explained(error: unknown, host: string, port: number): unknown {
  switch ((error as NodeJS.ErrnoException).code) {
    case 'EADDRINUSE':
      return new ServiceError(
        `port ${port} is in use on ${host}: another program listens there; set PORT to another one`,
      )
    case 'EACCES':
      return new ServiceError(`port ${port} on ${host} may not be used by this user; set PORT to another one`)
    case 'EADDRNOTAVAIL':
    case 'ENOTFOUND':
      return new ServiceError(`HOST ${host} is no address of this machine`)
    default:
      return error
  }
}
