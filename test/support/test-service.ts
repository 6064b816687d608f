import { randomBytes, randomUUID } from 'node:crypto'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { FastifyInstance } from 'fastify'
import { pino } from 'pino'
import { Registry } from 'prom-client'
import { createTestEventSender } from '../../src/callbacks/deliver/callback-test-event.js'
import { createHostResolver } from '../../src/callbacks/deliver/host-resolver.js'
import { CallbackCommands } from '../../src/commands/callback/callback-commands.js'
import { type IssuedCredentials, MerchantCommands } from '../../src/commands/merchant/merchant-commands.js'
import { MerchantDirectory } from '../../src/commands/merchant/merchant-directory.js'
import { SecretKeyUse } from '../../src/commands/merchant/secret-key-use.js'
import { TransferCommands } from '../../src/commands/transfer/transfers.js'
import { SignIns } from '../../src/commands/user/sign-ins.js'
import { UserCommands } from '../../src/commands/user/user-commands.js'
import { UserDirectory } from '../../src/commands/user/user-directory.js'
import type { MerchantSettings } from '../../src/domain/merchant/merchant-events.js'
import { isManual, type PaymentMethod } from '../../src/domain/payment-method.js'
import type { EventStore, RecordedEvent } from '../../src/event-store/event-store.js'
import { skipEvents } from '../../src/event-store/skipped-events.js'
import { buildApp, type HttpDependencies } from '../../src/http/app.js'
import { createProjectionControls } from '../../src/main/projection-controls.js'
import { createSecurityLog } from '../../src/operations/logging/security-log-writer.js'
import { CustomerKeys } from '../../src/privacy/customer-keys.js'
import { openEmbeddedKeyStore } from '../../src/privacy/embedded/embedded-key-store.js'
import { sealing } from '../../src/privacy/sealing-store.js'
import { startProjections } from '../../src/projections/start-projections.js'
import type { ReadModels } from '../../src/read-models/read-models.js'
import { hashCode } from '../../src/security/hash-code.js'
import { createPasswords } from '../../src/security/passwords.js'
import { createSecretBox, type SecretBox } from '../../src/security/secret-box.js'
import { WalletCollections } from '../../src/wallet/payments/collections.js'
import { WalletLogIns } from '../../src/wallet/payments/wallet-logins.js'
import { WalletPayments } from '../../src/wallet/payments/wallet-payments.js'
import type { Wallet } from '../../src/wallet/wallet.js'
import { openTestEventStore } from './event-store.js'
import { MemoryWallet } from './memory-wallet.js'
import { openTestReadModels, removeTestReadModels } from './read-models.js'

const context = { actor: 'test', $correlationId: 'test', $causationId: 'test' }

export const paymentMethods: readonly PaymentMethod[] = [
  {
    code: 1,
    name: 'Wallet',
    kinds: ['deposit', 'withdrawal'],
    paidBy: 'wallet',
    minAmountMinor: 1n,
    maxAmountMinor: 99_999_999n,
  },
  {
    code: 2,
    name: 'Bank transfer',
    kinds: ['withdrawal'],
    paidBy: 'manual',
    minAmountMinor: 100n,
    maxAmountMinor: 5_000_000n,
  },
]

export const merchantSettings: MerchantSettings = {
  name: 'Shop',
  callbackUrl: 'http://127.0.0.1:1/callback',
  allowIps: ['127.0.0.1'],
  sandbox: true,
  autoCancelMismatch: false,
  mismatchToleranceMinor: 0n,
  manualControlAboveMinor: null,
  approvalAboveMinor: null,
  rateLimitPerSecond: 10_000,
  depositExpiryMinutes: 30,
  minAmountMinor: 1n,
  maxAmountMinor: 99_999_999n,
  requireNativeHash: false,
  requireSignature: 'none',
  callbackOnCreate: false,
  returnUrl: null,
  frameAncestors: [],
  paymentInstructions: [],
}

export const paths = {
  hosted: '/Transaction/CreateDeposit',
  native: '/api/services/app/TransactionRequests/CreateDeposit',
  withdrawal: '/api/services/app/TransactionRequests/CreateWithdraw',
} as const

export const walletPaths = {
  logIn: '/api/services/app/TransactionRequests/WalletCustomerLogin',
  code: '/api/services/app/TransactionRequests/Wallet2Fa',
  device: '/api/services/app/TransactionRequests/WalletValidateUserDevice',
} as const

export type CreateKind = keyof typeof paths

export interface TestService {
  readonly app: FastifyInstance
  readonly store: EventStore
  readonly readModels: ReadModels
  readonly directory: MerchantDirectory
  readonly merchants: MerchantCommands
  readonly userDirectory: UserDirectory
  readonly users: UserCommands
  readonly clock: () => string
  readonly secretBox: SecretBox
  readonly transfers: TransferCommands
  readonly callbacks: CallbackCommands
  readonly walletPayments: WalletPayments
  readonly collections: WalletCollections
  readonly logLines: string[]
  /** Registers a merchant and waits until requests can be authenticated as it. */
  merchant(settings?: Partial<MerchantSettings>): Promise<IssuedCredentials>
  /** Waits until the directory knows what the condition asks for. */
  until(condition: () => boolean): Promise<void>
  /** Everything but merchants. */
  log(): Promise<readonly RecordedEvent[]>
  /** The application of another node over the same log. */
  otherNode(overrides: Partial<HttpDependencies>): Promise<FastifyInstance>
  /** Keeps the directory on disk. */
  stop(): Promise<void>
  readonly path: string
  readonly masterKey: Buffer
}

export interface TestServiceOptions {
  readonly path?: string
  readonly masterKey?: Buffer
  readonly wrapStore?: (store: EventStore) => EventStore
  readonly overrides?: Partial<HttpDependencies>
  /** A {@link MemoryWallet} without accounts when absent. */
  readonly wallet?: Wallet
  /** Seconds until the account may be sent another code. */
  readonly takeCode?: (accountNumber: number) => number
  readonly clock?: () => string
  /** Personal data is sealed, as in a real service. */
  readonly sealed?: boolean
  /** Runs the projections, which lists and feeds need. */
  readonly projections?: boolean
}

/** The HTTP application over a real log and real read models in a directory of their own. */
export async function startTestService(options: TestServiceOptions = {}): Promise<TestService> {
  const path = options.path ?? mkdtempSync(join(tmpdir(), 'transferd-http-'))
  const masterKey = options.masterKey ?? randomBytes(32)
  const raw = await openTestEventStore(path)
  const readModels = await openTestReadModels(path)
  const clock = options.clock ?? (() => new Date().toISOString())
  const secretBox = createSecretBox(masterKey)
  const keys = new CustomerKeys(openEmbeddedKeyStore({ directory: path }), secretBox)
  const engine = skipEvents(options.sealed ? sealing(raw, keys) : raw)
  const store = options.wrapStore?.(engine) ?? engine
  const merchants = new MerchantCommands(engine, clock, secretBox)
  const directory = new MerchantDirectory(engine, secretBox, clock, () => {})
  await directory.start()
  const userDirectory = new UserDirectory(engine, () => {})
  await userDirectory.start()
  const transfers = new TransferCommands(store, clock, async (id) => directory.byId(id)?.settings)
  const callbacks = new CallbackCommands(store, clock)
  const settingsOf = async (id: string) => directory.byId(id)?.settings
  const wallet = options.wallet ?? new MemoryWallet()
  const collections = new WalletCollections({ store, wallet, transfers, settingsOf, clock })
  const logLines: string[] = []
  const logger = pino({ level: 'debug' }, { write: (line: string) => logLines.push(line) })
  const walletPayments = new WalletPayments({
    store,
    wallet,
    collections,
    transfers,
    settingsOf,
    isManual: (code) => isManual(options.overrides?.paymentMethods ?? paymentMethods, code),
    box: secretBox,
    publicUrl: 'https://pay.example',
    clock,
    onUnavailable: (cause) => logger.error({ cause }, 'unprepared'),
    logIns: new WalletLogIns(store, secretBox, clock),
    takeCode: options.takeCode ?? (() => 0),
  })
  const metrics = options.overrides?.metrics ?? new Registry()
  const testEvents = { merchants: directory, resolve: createHostResolver(), timeoutMs: 2_000, clock }
  const users = new UserCommands({
    ...{ store, clock, directory: userDirectory, box: secretBox, passwords: createPasswords() },
    isMerchant: (id) => directory.byId(id) !== undefined,
  })
  const dependencies: HttpDependencies = {
    transfers,
    callbacks,
    walletPayments,
    directory,
    userDirectory,
    users,
    signIns: new SignIns(store, secretBox, clock, users),
    inSandbox: () => directory.all().every(({ settings }) => settings.sandbox),
    store,
    merchants,
    testEndpoint: createTestEventSender(testEvents),
    secretKeyUse: new SecretKeyUse(merchants, clock),
    readModels,
    privacy: { store, raw, keys, readModels, transfers, clock },
    eventStore: store,
    projectionLags: async () => [],
    auditCheckpoint: async () => 'a signed checkpoint',
    projectionControls: createProjectionControls({ store, readModels }, clock, () =>
      directory.problems().map(({ problem }) => problem),
    ),
    secretBox,
    currency: { code: 'TRY', decimals: 2 },
    paymentMethods,
    publicUrl: 'https://pay.example',
    trustedProxies: [],
    connections: { requestTimeoutMs: 30_000, maxConnections: 1_000, maxConnectionsPerAddress: 1_000 },
    clock,
    monotonicMs: () => performance.now(),
    logger,
    securityLog: createSecurityLog(logger, metrics, () => performance.now()),
    metrics,
    readiness: async () => [],
    details: async () => [],
    checks: async () => [],
    merchantsServed: true,
    traced: false,
    outbox: async () => undefined,
    proofOf: async () => ({ outcome: 'unknown' }),
    ...options.overrides,
  }
  const app = await buildApp(dependencies)
  const otherNodes: FastifyInstance[] = []
  const projections = options.projections && startProjections({ store, readModels, clock, logger })
  const until = async (condition: () => boolean) => {
    for (let i = 0; i < 6_000 && !condition(); i++) await new Promise((resolve) => setTimeout(resolve, 10))
    if (!condition()) throw new Error('waited a minute in vain')
  }
  return {
    app,
    store,
    readModels,
    directory,
    merchants,
    userDirectory,
    users,
    clock,
    secretBox,
    transfers,
    callbacks,
    walletPayments,
    collections,
    logLines,
    path,
    masterKey,
    until,
    async merchant(settings = {}) {
      const issued = await merchants.register({ ...merchantSettings, ...settings }, context)
      await until(() => directory.byId(issued.id) !== undefined)
      return issued
    },
    async log() {
      const { events } = await store.readAll({ streamPrefixes: ['transfer-', 'hash-', 'callback-'], maxCount: 10_000 })
      return events
    },
    async otherNode(overrides) {
      const node = await buildApp({ ...dependencies, metrics: new Registry(), ...overrides })
      otherNodes.push(node)
      return node
    },
    async stop() {
      for (const each of [app, ...otherNodes]) await each.close()
      if (projections) await projections.stop()
      await directory.stop()
      await userDirectory.stop()
      await readModels.close()
      await engine.close()
      await keys.close()
    },
  }
}

export async function destroyTestService(service: TestService): Promise<void> {
  await service.stop()
  await removeTestReadModels(service.path)
  rmSync(service.path, { recursive: true })
}

/** A request body with a valid hashCode over `amountText`; fields may be overridden, `undefined` leaves one out. */
export function createBody(
  kind: CreateKind,
  secretKey: string,
  fields: { readonly [name: string]: unknown } = {},
  amountText = '100.50',
): string {
  const referenceId = typeof fields.referenceId === 'string' ? fields.referenceId : randomUUID()
  const body: Record<string, unknown> = {
    userId: '8412',
    name: 'Ada Lovelace',
    username: 'ada',
    referenceId,
    transactionType: kind === 'withdrawal' ? 2 : 1,
    paymentMethod: 1,
    hashCode: hashCode(secretKey, amountText, referenceId),
    ...(kind === 'withdrawal' && { accountNumber: 'TR330006100519786457841326' }),
    ...fields,
  }
  const rest = JSON.stringify(body).slice(1)
  return 'amount' in fields ? `{${rest}` : `{"amount":${amountText},${rest}`
}

export interface Post {
  readonly key?: string
  readonly contentType?: string
  readonly address?: string
  readonly headers?: { readonly [name: string]: string }
}

export async function post(app: FastifyInstance, url: string, body: string | Buffer, options: Post = {}) {
  const { key, contentType = 'application/json-patch+json', address = '127.0.0.1', headers } = options
  return app.inject({
    method: 'POST',
    url,
    remoteAddress: address,
    headers: { 'content-type': contentType, ...(key !== undefined && { webapikey: key }), ...headers },
    payload: body,
  })
}
