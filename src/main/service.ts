import { hash, randomUUID, timingSafeEqual } from 'node:crypto'
import type { FastifyInstance } from 'fastify'
import type { Logger } from 'pino'
import { createTestEventSender } from '../callbacks/deliver/callback-test-event.js'
import { createHostResolver } from '../callbacks/deliver/host-resolver.js'
import { CallbackCommands } from '../commands/callback/callback-commands.js'
import { IntegrityCommands } from '../commands/integrity/integrity-commands.js'
import { MerchantCommands } from '../commands/merchant/merchant-commands.js'
import { MerchantDirectory } from '../commands/merchant/merchant-directory.js'
import { SecretKeyUse } from '../commands/merchant/secret-key-use.js'
import { TransferCommands } from '../commands/transfer/transfers.js'
import { SignIns } from '../commands/user/sign-ins.js'
import { UserCommands } from '../commands/user/user-commands.js'
import { UserDirectory } from '../commands/user/user-directory.js'
import type { UnreadableEventError } from '../event-store/event-codec.js'
import { buildApp, type HttpDependencies } from '../http/app.js'
import { systemClock } from '../kernel/clock.js'
import { readAuditCheckpoint } from '../operations/audit/audit-checkpoint.js'
import { witnessesOf } from '../operations/audit/audit-witnesses.js'
import { integrityDetails } from '../operations/audit/integrity-details.js'
import { proofs } from '../operations/audit/transfer-proofs.js'
import type { Configuration } from '../operations/configuration/configuration.js'
import { createSecurityLog } from '../operations/logging/security-log-writer.js'
import { installationMetrics, ServiceRegistry } from '../operations/metrics.js'
import { openStores, type Stores } from '../operations/stores/stores.js'
import { allProjections } from '../projections/all-projections.js'
import { type OpenProblem, openProblems, placeOf } from '../projections/open-problems.js'
import { projectionLags } from '../projections/projection-status.js'
import { pausedProjections } from '../projections/tasks/projection-tasks.js'
import type { ReadModels } from '../read-models/read-models.js'
import type { Started } from '../sandbox/banner.js'
import { closeSandboxWhenLive, messageWarnings } from '../sandbox/going-live.js'
import { isSandbox, offerSandbox, offerSandboxUsers } from '../sandbox/sandbox.js'
import { sandboxActor } from '../sandbox/sandbox-actor.js'
import { isWithoutTransfers, seedNotice, startSeeding } from '../sandbox/seed/seed.js'
import { createPasswords } from '../security/passwords.js'
import { tracedStore } from '../tracing/traced-store.js'
import { type BackgroundThread, startBackgroundThread } from './background-thread.js'
import { listen, reserveAddress, ServiceError } from './listening.js'
import { startSigns } from './node-heartbeat.js'
import { createProjectionControls } from './projection-controls.js'
import { startTracing } from './start-tracing.js'
import { createWalletPayments } from './wallet-payments-wiring.js'
import { createWallet, type WalletParts } from './wallet-wiring.js'

const requestTimeoutMs = 30_000

export interface Service {
  readonly started: Started
  /** Resolves, with the reason, when the service cannot go on by itself. */
  readonly failed: Promise<Error>
  /** Accepts no more, finishes what was begun, closes the stores. */
  stop(): Promise<void>
}

export interface ServiceOptions {
  /** A sandbox without transfers is filled with made-up ones. */
  readonly seed?: boolean | undefined
}

/**
 * The main thread's composition: HTTP and commands here; projections, callbacks and expiry in the background thread, which
 * a node without those roles has not.
 * @throws ServiceError, and what opening the stores throws
 */
export async function startService(
  configuration: Configuration,
  logger: Logger,
  options: ServiceOptions = {},
): Promise<Service> {
  const closing: (() => Promise<void>)[] = []
  // Last opened, first closed.
  const stop = async () => {
    for (const close of closing.splice(0).reverse()) await close()
  }
  try {
    return { ...(await startParts(configuration, logger, options, (close) => closing.push(close))), stop }
  } catch (error) {
    await stop()
    throw error
  }
}

async function startParts(
  configuration: Configuration,
  logger: Logger,
  { seed }: ServiceOptions,
  onStop: (close: () => Promise<void>) => void,
): Promise<Omit<Service, 'stop'>> {
  const { dataDirectory, currency } = configuration
  witnessesOf(configuration)
  onStop(await startTracing(configuration, logger))
  const opened = await openStores(configuration)
  onStop(() => opened.close())
  const stores = configuration.traced ? { ...opened, eventStore: tracedStore(opened.eventStore) } : opened
  for (const notice of stores.notices) logger.warn(notice)
  const { eventStore, box } = stores
  const directory = new MerchantDirectory(eventStore, box, clock, (err) => logger.error({ err }, 'merchant directory'))
  await directory.start()
  onStop(() => directory.stop())
  checkMasterKey(directory, logger)
  const userDirectory = new UserDirectory(eventStore, (err) => logger.error({ err }, 'user directory'))
  await userDirectory.start()
  onStop(() => userDirectory.stop())
  const address = await reserveAddress(configuration)
  onStop(address.release)

  const merchants = new MerchantCommands(eventStore, clock, box)
  const passwords = createPasswords()
  const isMerchant = (id: string) => directory.byId(id) !== undefined
  const parts = { store: eventStore, directory: userDirectory, clock, box, passwords, isMerchant }
  const users = new UserCommands(parts)
  const context = { actor: sandboxActor, $correlationId: randomUUID(), $causationId: randomUUID() }
  const sandboxParts = { dataDirectory, directory, merchants, users, box, context, logger }
  const goingLive = await closeSandboxWhenLive(configuration, sandboxParts)
  onStop(() => goingLive.stop())
  const inSandbox = () => configuration.sandbox !== 'off' && isSandbox(directory)
  const wallets = createWallet({ configuration, ...stores, clock, passwords, isSandbox: inSandbox })
  const roles = [...configuration.roles]
  const sandbox = roles.includes('api') && inSandbox() ? await offerSandbox(sandboxParts, wallets.accounts) : undefined

  const known = () => [...directory.problems().map(({ problem }) => problem), ...userDirectory.problems()]
  const warnings = () => (isSandbox(directory) ? [] : messageWarnings(configuration))
  const { background, failed } = startBackground(configuration, stores, logger)
  onStop(() => background.stop())
  const metrics = new ServiceRegistry(() => background.metrics())
  installationMetrics(metrics, configuration)
  const securityLog = createSecurityLog(logger, metrics, () => performance.now())
  onStop(async () => securityLog.close())
  const { baseUrl } = address
  const app = await composeApp({
    ...{ configuration, stores, directory, merchants, wallets, baseUrl, logger, metrics, securityLog },
    ...{ userDirectory, users, inSandbox, known },
    readiness: async () => [background.problem() ?? []].flat(),
    details: async () => [
      ...warnings(),
      ...(await openProblems(stores.readModels, known())).map(sentence),
      ...(await pauseDetails(stores.readModels)),
      ...(await integrityDetails(new IntegrityCommands(eventStore, clock), stores.readModels)),
    ],
    checks: async () => {
      // Asked for by people, now and then.
      const { serverChecks } = await import('../operations/doctor/doctor.js')
      return serverChecks(configuration, { store: eventStore, readModels: stores.readModels, directory, known, clock })
    },
    isOutboxToken: (token) => inSandbox() && isSame(token, sandbox?.outboxToken),
  })
  onStop(() => app.close())
  await listen(app, address)
  const signs = startSigns({ readModels: stores.readModels, clock, logger }, roles)
  onStop(() => signs.stop())
  logger.info({ host: address.host, port: address.port, baseUrl, roles }, 'listening')
  const seeds = seed && sandbox && (await isWithoutTransfers(eventStore))
  if (seeds) {
    const onRegistered = async () => {
      await directory.catchUp()
      await offerSandboxUsers(sandboxParts)
    }
    const seedParts = { store: eventStore, box, clock, frame: configuration, goesOn: inSandbox, onRegistered }
    const seeding = startSeeding(seedParts, logger)
    onStop(() => seeding.stop())
  }
  const notices = [...stores.notices, ...warnings(), ...(seeds ? [seedNotice] : [])]
  return { started: { baseUrl, roles, currency, directory: dataDirectory, sandbox, notices }, failed }
}

const clock = systemClock()

interface AppParts
  extends Pick<
    HttpDependencies,
    'checks' | 'logger' | 'metrics' | 'securityLog' | 'readiness' | 'details' | 'userDirectory' | 'users' | 'inSandbox'
  > {
  readonly configuration: Configuration
  readonly stores: Stores
  readonly directory: MerchantDirectory
  readonly merchants: MerchantCommands
  readonly wallets: WalletParts
  readonly baseUrl: string
  /** What merchants and users are out of service for. */
  readonly known: () => readonly UnreadableEventError[]
  /** Never without a sandbox. */
  readonly isOutboxToken: (token: string) => boolean
}

/** HTTP, and the commands behind it. */
function composeApp(parts: AppParts): Promise<FastifyInstance> {
  const { configuration, stores, merchants, wallets, baseUrl: publicUrl, isOutboxToken, known, ...others } = parts
  const { eventStore, rawEventStore, customerKeys, readModels, box } = stores
  const { directory, logger, users } = others
  const { paymentMethods, currency, trustedProxies } = configuration
  const transfers = new TransferCommands(eventStore, clock, async (id) => directory.settingsOf(id))
  const timeoutMs = configuration.callbackTimeoutMs
  const resolve = createHostResolver()
  const payments = { store: eventStore, wallet: wallets.wallet, transfers, directory, box, paymentMethods }
  return buildApp({
    ...others,
    transfers,
    walletPayments: createWalletPayments({ ...payments, publicUrl, clock, logger }),
    callbacks: new CallbackCommands(eventStore, clock),
    signIns: new SignIns(eventStore, box, clock, users),
    store: eventStore,
    merchants,
    testEndpoint: createTestEventSender({ merchants: directory, resolve, timeoutMs, clock }),
    secretKeyUse: new SecretKeyUse(merchants, clock),
    readModels,
    eventStore,
    projectionControls: createProjectionControls({ store: eventStore, readModels }, clock, known),
    projectionLags: () => projectionLags({ store: rawEventStore, readModels }, clock),
    privacy: { store: eventStore, raw: rawEventStore, keys: customerKeys, readModels, transfers, clock },
    proofOf: proofs(configuration, stores),
    secretBox: box,
    auditCheckpoint: () => readAuditCheckpoint(configuration.audit.directory),
    currency,
    paymentMethods,
    publicUrl,
    trustedProxies,
    connections: { ...configuration, requestTimeoutMs },
    clock,
    monotonicMs: () => performance.now(),
    merchantsServed: configuration.roles.has('api'),
    traced: configuration.traced,
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
      const data = { configuration, keyRing: stores.keyRing, eventStore }
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

async function pauseDetails(readModels: ReadModels): Promise<string[]> {
  const names = allProjections.map(({ name }) => name)
  return [...(await pausedProjections(readModels, names))].map(
    ([name, { at }]) => `the projection ${name} is paused since ${at} (transferd projections resume ${name})`,
  )
}

function sentence(problem: OpenProblem): string {
  return `${placeOf(problem)} cannot be read: ${problem.reason} (transferd events problems)`
}

/** In the same time, however much of it is right. */
function isSame(given: string, expected: string | undefined): boolean {
  const [a, b] = [given, expected ?? ''].map((text) => hash('sha256', text, 'buffer'))
  return timingSafeEqual(a!, b!) && expected !== undefined
}
