import { randomBytes } from 'node:crypto'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { MessageChannel } from 'node:worker_threads'
import type { FastifyInstance } from 'fastify'
import { pino } from 'pino'
import { Registry } from 'prom-client'
import type { IssuedCredentials } from '../../src/commands/merchant/merchant-commands.js'
import type { MerchantSettings } from '../../src/domain/merchant/merchant-events.js'
import type { EventStore, RecordedEvent } from '../../src/event-store/event-store.js'
import { buildApp } from '../../src/http/app.js'
import type { HttpServices } from '../../src/http/services.js'
import { type ComposedService, composeService, type Ports } from '../../src/main/compose-service.js'
import { nameOf } from '../../src/main/listening.js'
import { type Configuration, readConfiguration } from '../../src/operations/configuration/configuration.js'
import { openLogOver } from '../../src/operations/stores/stores.js'
import { startProjections } from '../../src/projections/start-projections.js'
import type { ReadModels } from '../../src/read-models/read-models.js'
import { serveReads } from '../../src/readers/reader-server.js'
import type { SecretBox } from '../../src/security/secret-box.js'
import { WalletCollections } from '../../src/wallet/payments/collections.js'
import { cheapPasswords } from './cheap-passwords.js'
import { openTestEventStore } from './event-store.js'
import { openTestKeyStore } from './key-store.js'
import { MemoryWallet } from './memory-wallet.js'
import { merchantSettings, paymentMethods } from './merchant-requests.js'
import { openTestReadModels, removeTestReadModels } from './read-models.js'

const context = { actor: 'test', $correlationId: 'test', $causationId: 'test' }

export interface TestService extends ComposedService {
  readonly app: FastifyInstance
  readonly store: EventStore
  readonly readModels: ReadModels
  readonly collections: WalletCollections
  readonly secretBox: SecretBox
  readonly clock: () => string
  readonly logLines: string[]
  readonly path: string
  readonly masterKey: Buffer
  /** Registers a merchant and waits until its requests can be authenticated. */
  merchant(settings?: Partial<MerchantSettings>): Promise<IssuedCredentials>
  /** Waits until the directory has read the events that the condition requires. */
  until(condition: () => boolean): Promise<void>
  /** Returns the events of transfers, hashes and callbacks. */
  log(): Promise<readonly RecordedEvent[]>
  /** Builds the application of another node on the same log. */
  otherNode(overrides: Partial<HttpServices>): Promise<FastifyInstance>
  /** Stops the service and keeps its directory. */
  stop(): Promise<void>
}

export interface TestServiceOptions extends Partial<Pick<Ports, 'wallet' | 'takeCode' | 'clock'>> {
  readonly path?: string
  readonly masterKey?: Buffer
  readonly configuration?: Partial<Configuration>
  readonly overrides?: Partial<HttpServices>
  /** Wraps the store of commands and HTTP. The directories of merchants and users always read the log. */
  readonly wrapStore?: (store: EventStore) => EventStore
  /** Runs the projections, which lists and feeds need. */
  readonly projections?: boolean
}

/**
 * Composes a service as `startService` does, in its own directory, without a background thread or a listening socket.
 */
export async function startTestService(options: TestServiceOptions = {}): Promise<TestService> {
  const path = options.path ?? mkdtempSync(join(tmpdir(), 'transferd-http-'))
  const { masterKey = randomBytes(32), wallet = new MemoryWallet(), overrides = {} } = options
  const { clock = () => new Date().toISOString(), takeCode = () => 0 } = options
  const data = `embedded:${path}`
  const configuration: Configuration = {
    ...readConfiguration({ EVENT_STORE_URL: data, READ_MODEL_URL: data, CALLBACK_TIMEOUT_MS: '2000' }),
    paymentMethods,
    publicUrl: 'https://pay.example',
    ...options.configuration,
  }
  const key = { key: masterKey, from: 'the test' }
  const stores = await openLogOver(await openTestEventStore(path), configuration, [key], openTestKeyStore(path))
  const readModels = await openTestReadModels(path)
  const eventStore = options.wrapStore?.(stores.eventStore) ?? stores.eventStore
  const logLines: string[] = []
  const logger = pino({ level: 'debug' }, { write: (line: string) => logLines.push(line) })
  const closing: (() => Promise<unknown>)[] = [() => stores.close(), () => readModels.close()]
  // Reads pass through the same messages as those of the reader thread.
  const startReader = () => {
    const { port1, port2 } = new MessageChannel()
    serveReads(port2, { store: eventStore, readModels, merchants: service.directory })
    return port1
  }
  const service: ComposedService = await composeService(
    configuration,
    {
      stores: { ...stores, eventStore, readModels },
      ...{ clock, takeCode, wallet, logger, publicUrl: configuration.publicUrl!, passwords: cheapPasswords },
      installationName: configuration.installationName ?? nameOf(configuration.publicUrl!),
      monotonicMs: () => performance.now(),
      metrics: overrides.metrics ?? new Registry(),
      backgroundProblems: () => [],
      outboxToken: () => undefined,
      startReader,
    },
    (close) => closing.push(close),
  )
  const { directory, merchants, transfers } = service
  // No test asks a name server.
  const resolveHost = async () => ['8.8.8.8']
  const app = await buildApp({ ...service.http, resolveHost, ...overrides })
  closing.push(() => app.close())
  if (options.projections) {
    const projections = startProjections({ store: eventStore, readModels, clock, logger })
    closing.push(() => projections.stop())
  }
  const until = async (condition: () => boolean) => {
    for (let i = 0; i < 6_000 && !condition(); i++) await new Promise((resolve) => setTimeout(resolve, 10))
    if (!condition()) throw new Error('the condition did not become true within a minute')
  }
  return {
    ...service,
    ...{ app, store: eventStore, readModels, secretBox: stores.box, clock, logLines, path, masterKey, until },
    collections: new WalletCollections({
      ...{ store: eventStore, wallet, transfers, clock },
      settingsOf: async (id) => directory.settingsOf(id),
    }),
    async merchant(settings = {}) {
      const issued = await merchants.register({ ...merchantSettings, ...settings }, context)
      await until(() => directory.byId(issued.id) !== undefined)
      return issued
    },
    async log() {
      const streamPrefixes = ['transfer-', 'hash-', 'callback-']
      return (await eventStore.readAll({ streamPrefixes, maxCount: 10_000 })).events
    },
    async otherNode(others) {
      const node = await buildApp({ ...service.http, metrics: new Registry(), ...overrides, ...others })
      closing.push(() => node.close())
      return node
    },
    async stop() {
      for (const close of closing.splice(0).reverse()) await close()
    },
  }
}

export async function destroyTestService(service: TestService): Promise<void> {
  await service.stop()
  await removeTestReadModels(service.path)
  rmSync(service.path, { recursive: true })
}
