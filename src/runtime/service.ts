import { hash, randomUUID, timingSafeEqual } from 'node:crypto'
import type { FastifyInstance } from 'fastify'
import type { Logger } from 'pino'
import { CallbackCommands } from '../commands/callbacks.js'
import { MerchantDirectory } from '../commands/merchant-directory.js'
import { MerchantCommands } from '../commands/merchants.js'
import { SecretKeyUse } from '../commands/secret-key-use.js'
import { TransferCommands } from '../commands/transfers.js'
import { buildApp, type HttpDependencies } from '../http/app.js'
import { type OpenProblem, openProblems, placeOf } from '../projections/open-problems.js'
import { type BackgroundThread, startBackgroundThread } from './background-thread.js'
import type { Started } from './banner.js'
import type { Configuration } from './configuration.js'
import { closeSandboxWhenLive, messageWarnings } from './going-live.js'
import { listen, reserveAddress, ServiceError } from './listening.js'
import { ServiceRegistry } from './metrics.js'
import { isSandbox, offerSandbox, sandboxActor } from './sandbox.js'
import { createSecurityLog } from './security-log.js'
import { openStores, type Stores } from './stores.js'
import { createWallet, type WalletParts } from './wallet.js'
import { createWalletPayments } from './wallet-payments.js'

const requestTimeoutMs = 30_000

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
  const closing: (() => Promise<void>)[] = []
  // Last opened, first closed.
  const stop = async () => {
    for (const close of closing.splice(0).reverse()) await close()
  }
  try {
    return { ...(await startParts(configuration, logger, (close) => closing.push(close))), stop }
  } catch (error) {
    await stop()
    throw error
  }
}

async function startParts(
  configuration: Configuration,
  logger: Logger,
  onStop: (close: () => Promise<void>) => void,
): Promise<Omit<Service, 'stop'>> {
  const { dataDirectory, currency } = configuration
  const stores = await openStores(configuration)
  onStop(() => stores.close())
  for (const notice of stores.notices) logger.warn(notice)
  const { eventStore, box } = stores
  const directory = new MerchantDirectory(eventStore, box, clock, (err) => logger.error({ err }, 'merchant directory'))
  await directory.start()
  onStop(() => directory.stop())
  checkMasterKey(directory, logger)
  const address = await reserveAddress(configuration)
  onStop(address.release)

  const merchants = new MerchantCommands(eventStore, clock, box)
  const context = { actor: sandboxActor, $correlationId: randomUUID(), $causationId: randomUUID() }
  const sandboxParts = { dataDirectory, directory, merchants, box, context, logger }
  const goingLive = await closeSandboxWhenLive(configuration, sandboxParts)
  onStop(() => goingLive.stop())
  const inSandbox = () => configuration.sandbox !== 'off' && isSandbox(directory)
  const wallets = createWallet({ configuration, ...stores, clock, isSandbox: inSandbox })
  const roles = [...configuration.roles]
  const sandbox = roles.includes('api') && inSandbox() ? await offerSandbox(sandboxParts, wallets.accounts) : undefined

  const warnings = () => (isSandbox(directory) ? [] : messageWarnings(configuration))
  const { background, failed } = startBackground(configuration, stores, logger)
  onStop(() => background.stop())
  const metrics = new ServiceRegistry(() => background.metrics())
  const securityLog = createSecurityLog(logger, metrics, () => performance.now())
  onStop(async () => securityLog.close())
  const { baseUrl } = address
  const app = await composeApp({
    ...{ configuration, stores, directory, merchants, wallets, baseUrl, logger, metrics, securityLog },
    readiness: async () => [background.problem() ?? []].flat(),
    details: async () => [...warnings(), ...(await openProblems(stores.readModels, directory)).map(sentence)],
    isOutboxToken: (token) => inSandbox() && isSame(token, sandbox?.outboxToken),
  })
  onStop(() => app.close())
  await listen(app, address)
  logger.info({ host: address.host, port: address.port, baseUrl, roles }, 'listening')
  const notices = [...stores.notices, ...warnings()]
  return { started: { baseUrl, roles, currency, directory: dataDirectory, sandbox, notices }, failed }
}

const clock = () => new Date().toISOString()

interface AppParts extends Pick<HttpDependencies, 'logger' | 'metrics' | 'securityLog' | 'readiness' | 'details'> {
  readonly configuration: Configuration
  readonly stores: Stores
  readonly directory: MerchantDirectory
  readonly merchants: MerchantCommands
  readonly wallets: WalletParts
  readonly baseUrl: string
  /** Never without a sandbox. */
  readonly isOutboxToken: (token: string) => boolean
}

/** HTTP, and the commands behind it. */
function composeApp(parts: AppParts): Promise<FastifyInstance> {
  const { configuration, stores, merchants, wallets, baseUrl: publicUrl, isOutboxToken, ...others } = parts
  const { eventStore, readModels, box } = stores
  const { directory, logger } = others
  const { paymentMethods, currency, trustedProxies } = configuration
  const transfers = new TransferCommands(eventStore, clock, async (id) => directory.settingsOf(id))
  const payments = { store: eventStore, wallet: wallets.wallet, transfers, directory, box, paymentMethods }
  return buildApp({
    ...others,
    transfers,
    walletPayments: createWalletPayments({ ...payments, publicUrl, clock, logger }),
    callbacks: new CallbackCommands(eventStore, clock),
    secretKeyUse: new SecretKeyUse(merchants, clock),
    readModels,
    secretBox: box,
    currency,
    paymentMethods,
    publicUrl,
    trustedProxies,
    connections: { ...configuration, requestTimeoutMs },
    clock,
    monotonicMs: () => performance.now(),
    merchantsServed: configuration.roles.has('api'),
    outbox: async (token) => (isOutboxToken(token) ? wallets.outbox.list() : undefined),
  })
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
 * A wrong master key would otherwise show as failures of one merchant after the other. A key that opens the secrets of any merchant is
 * the right one: secrets that it does not open are damaged, which concerns that merchant alone. @throws ServiceError
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
