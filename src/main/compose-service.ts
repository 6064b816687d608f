import { hash, randomUUID, timingSafeEqual } from 'node:crypto'
import type { MessagePort } from 'node:worker_threads'
import type { Logger } from 'pino'
import type { Registry } from 'prom-client'
import { createHostResolver } from '../callbacks/deliver/endpoint-connection.js'
import { createTestEventSender } from '../callbacks/deliver/test-event.js'
import { IntegrityCommands } from '../commands/integrity/integrity-commands.js'
import { callbackNetworks } from '../commands/merchant/callback-networks.js'
import { SecretKeyUse } from '../commands/merchant/merchant-commands.js'
import { isInSandbox, MerchantDirectory } from '../commands/merchant/merchant-directory.js'
import { createSignIn } from '../commands/user/login-guard.js'
import { UserCommands, UserDirectory } from '../commands/user/user-commands.js'
import { isManual } from '../domain/payment-method.js'
import type { HttpServices } from '../http/services.js'
import type { Clock } from '../kernel/time.js'
import { evidencePackages, integrityDetails, proofs, sealingOf } from '../operations/audit/audit-tree.js'
import { createCommands } from '../operations/commands.js'
import type { Configuration } from '../operations/configuration/configuration.js'
import { onceRestored } from '../operations/files/restored-mark.js'
import { createSecurityLog } from '../operations/logging/security-log-writer.js'
import type { Stores } from '../operations/stores/stores.js'
import { allProjections } from '../projections/all-projections.js'
import { problemDetails } from '../projections/event-problems.js'
import { projectionLags } from '../projections/projection-status.js'
import { projectionDetails } from '../projections/projection-tasks.js'
import { Readers } from '../readers/readers.js'
import { messageWarnings } from '../sandbox/sandbox.js'
import { ScenarioPlayer } from '../sandbox/scenario-player.js'
import { createPasswords, type Passwords } from '../security/passwords.js'
import { WalletCollections } from '../wallet/payments/collections.js'
import { createWalletLogin } from '../wallet/payments/wallet-logins.js'
import { WalletPayments } from '../wallet/payments/wallet-payments.js'
import { withTestCustomer } from '../wallet/test-customer.js'
import type { Wallet } from '../wallet/wallet.js'
import { createWallet, limitCodes, type TakeCode } from './compose-wallet.js'
import { ServiceError } from './listening.js'

const requestTimeoutMs = 30_000

/** The parts of a service. Tests replace the clocks, the stores and the wallet. */
export interface Ports {
  readonly stores: Pick<Stores, 'eventStore' | 'rawEventStore' | 'customerKeys' | 'readModels' | 'box'>
  readonly clock: Clock
  readonly monotonicMs: () => number
  /** The URL that merchants and customers use, without a trailing slash. */
  readonly publicUrl: string
  readonly installationName: string
  readonly logger: Logger
  readonly metrics: Registry
  /** The configured wallet by default. */
  readonly wallet?: Wallet | undefined
  readonly takeCode?: TakeCode | undefined
  readonly passwords?: Passwords
  /** Sentences if the background work is not done. */
  readonly backgroundProblems: () => readonly string[]
  /** `undefined` without a sandbox. */
  readonly outboxToken: () => string | undefined
  /** Starts a thread that serves reads, and returns its port. */
  readonly startReader: () => MessagePort
}

export type ComposedService = Awaited<ReturnType<typeof composeService>>

/**
 * Composes the commands and the HTTP dependencies of the main thread, and starts the directories. `onStop` receives the functions that stop
 * them, in start order. @throws ServiceError if the master key is wrong, StoreUnavailableError
 */
export async function composeService(
  configuration: Configuration,
  ports: Ports,
  onStop: (close: () => Promise<void>) => void,
) {
  const { stores, clock, monotonicMs, publicUrl, installationName, logger, metrics } = ports
  const { eventStore, rawEventStore, customerKeys, readModels, box } = stores
  const directory = new MerchantDirectory(eventStore, box, clock, (err) => logger.error({ err }, 'merchant directory'))
  await directory.start()
  onStop(() => directory.stop())
  checkMasterKey(directory, logger)
  const userDirectory = new UserDirectory(eventStore, (err) => logger.error({ err }, 'user directory'))
  await userDirectory.start()
  onStop(() => userDirectory.stop())

  const { passwords = createPasswords() } = ports
  const settingsOf = async (merchantId: string) => directory.settingsOf(merchantId)
  const decided = createCommands(configuration, { store: eventStore, box, clock, settingsOf })
  const { merchants, transfers, bank } = decided
  const isMerchant = (id: string) => directory.byId(id) !== undefined
  const hasThreshold = async (merchantIds: readonly string[] | null) => {
    // Another node may have just set the threshold.
    await directory.catchUp()
    const concerned = directory.all().filter(({ merchantId }) => merchantIds?.includes(merchantId) ?? true)
    return concerned.some(
      ({ settings }) => settings.approvalAboveMinor !== null || settings.withdrawalLimits.length > 0,
    )
  }
  const userParts = { store: eventStore, directory: userDirectory, clock, box, passwords, isMerchant, hasThreshold }
  const users = new UserCommands(userParts)
  await onceRestored(configuration.dataDirectory, () => endAllSessions(users, userDirectory))
  const inSandbox = () => isInSandbox(configuration, directory)
  const walletParts = { configuration, installationName, eventStore, readModels, box, clock, passwords }
  const configured = createWallet({ ...walletParts, isSandbox: inSandbox })
  const wallet = withTestCustomer(ports.wallet ?? configured.wallet, (url) => scenarios.confirmSoon(url))
  const collecting = { store: eventStore, wallet, transfers, settingsOf, clock }
  const hasNoWallet = (code: number) => isManual(configuration.paymentMethods, code)
  const walletPayments = new WalletPayments({
    ...collecting,
    box,
    publicUrl,
    takeCode: ports.takeCode ?? limitCodes(monotonicMs),
    isManual: hasNoWallet,
    onUnavailable: (cause, { merchantId, trackingId }) =>
      logger.error({ merchantId, trackingId, cause }, 'the wallet cannot be used'),
    collections: new WalletCollections(collecting),
    logIn: createWalletLogin(eventStore, box, clock),
  })
  const scenarios = new ScenarioPlayer({
    transfers,
    payments: walletPayments,
    isManual: hasNoWallet,
    clock,
    logger,
    isSandbox: (merchantId) => directory.settingsOf(merchantId)?.sandbox ?? false,
  })
  onStop(() => scenarios.stop())
  const securityLog = createSecurityLog(logger, metrics, monotonicMs)
  onStop(async () => securityLog.close())
  const readers = new Readers(ports.startReader, monotonicMs)
  onStop(async () => readers.close())

  const unreadable = () => [...directory.problems().map(({ problem }) => problem), ...userDirectory.problems()]
  const names = allProjections.map(({ name }) => name)
  const readiness = () => [
    ...ports.backgroundProblems(),
    ...(directory.isBehind ? ['the directory of merchants cannot follow the log (see the log of this node)'] : []),
    ...(userDirectory.isBehind ? ['the directory of users cannot follow the log (see the log of this node)'] : []),
  ]
  const warnings = () => (directory.isSandbox() ? [] : messageWarnings(configuration))
  const networks = callbackNetworks(configuration, directory)
  const resolveHost = createHostResolver()
  const commands = { ...decided, directory, userDirectory, users, walletPayments }
  const { paymentMethods, currency, trustedProxies, roles, traced } = configuration
  const http: HttpServices = {
    ...commands,
    clock,
    monotonicMs,
    publicUrl,
    logger,
    metrics,
    securityLog,
    readModels,
    readers,
    inSandbox,
    installationName,
    paymentMethods,
    currency,
    trustedProxies,
    traced,
    eventStore,
    secretBox: box,
    connections: { ...configuration, requestTimeoutMs },
    merchantsServed: roles.has('api'),
    scenarios,
    signIn: createSignIn(eventStore, box, clock, users),
    secretKeyUse: new SecretKeyUse(merchants, clock),
    networks,
    resolveHost,
    testEndpoint: createTestEventSender({
      merchants: directory,
      resolve: resolveHost,
      networks,
      clock,
      timeoutMs: configuration.callbackTimeoutMs,
    }),
    unreadableEvents: unreadable,
    projectionLags: () => projectionLags({ store: rawEventStore, readModels }, clock),
    privacy: { store: eventStore, raw: rawEventStore, keys: customerKeys, box, readModels, transfers, bank, clock },
    proofOf: proofs(configuration, stores),
    evidence: evidencePackages(configuration, stores, clock),
    exportSealing: sealingOf(configuration, stores),
    outbox: async (token) => (inSandbox() && isSame(token, ports.outboxToken()) ? configured.outbox.list() : undefined),
    readiness: async () => readiness(),
    details: [
      {
        what: 'the integrity of the log',
        read: () => integrityDetails(new IntegrityCommands(eventStore, clock), readModels),
      },
      { what: 'the projections', read: () => projectionDetails(readModels, names) },
      { what: 'unreadable events', read: () => problemDetails(readModels, unreadable()) },
      { what: 'the configuration', read: async () => warnings() },
    ],
    checks: async () => {
      // Loaded on request, because operators rarely open the page.
      const { backgroundCheck, serverChecks } = await import('../operations/doctor/doctor.js')
      const sources = { store: eventStore, rawEventStore, box, readModels, directory, known: unreadable, clock }
      return [backgroundCheck(readiness()), ...(await serverChecks(configuration, sources))]
    },
  }
  /** The warnings are sentences for the operator that depend on the merchants. */
  return { ...commands, accounts: configured.accounts, inSandbox, warnings, http }
}

/**
 * With a wrong master key, requests of one merchant after another would fail. A key that opens the secrets of any merchant is correct: secrets
 * that it does not open are damaged, and only their merchant is affected. @throws ServiceError
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

/** Ends the sessions of every user: after a restore, a session may have ended, or its user may have been disabled, after the backup. */
async function endAllSessions(users: UserCommands, directory: UserDirectory): Promise<void> {
  const id = randomUUID()
  const context = { actor: 'system:restore', $correlationId: id, $causationId: id }
  for (const { userId } of directory.all()) await users.execute(userId, { type: 'EndSessions' }, context)
}

/** Compares in constant time. */
function isSame(given: string, expected: string | undefined): boolean {
  const [a, b] = [given, expected ?? ''].map((text) => hash('sha256', text, 'buffer'))
  return timingSafeEqual(a!, b!) && expected !== undefined
}
