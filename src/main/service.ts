import { randomUUID } from 'node:crypto'
import type { Logger } from 'pino'
import { buildApp } from '../http/app.js'
import { systemClock } from '../kernel/time.js'
import { witnessesOf } from '../operations/audit/audit-tree.js'
import type { BackgroundRole, Configuration } from '../operations/configuration/configuration.js'
import { explainedFullDisk } from '../operations/files/directory-access.js'
import { installationMetrics, logMetrics, ServiceRegistry } from '../operations/metrics.js'
import { startHeartbeat } from '../operations/node-heartbeat.js'
import { openStores } from '../operations/stores/stores.js'
import type { Started } from '../sandbox/banner.js'
import {
  closeSandboxWhenLive,
  offerSandbox,
  offerSandboxUsers,
  type SandboxCredentials,
  sandboxActor,
} from '../sandbox/sandbox.js'
import { isWithoutTransfers, seedNotice, startSeeding } from '../sandbox/seed/seed.js'
import { tracedStore } from '../tracing/tracing.js'
import { type BackgroundThread, startBackgroundThread } from './background-thread.js'
import { composeService } from './compose-service.js'
import { listen, reserveAddress } from './listening.js'
import { ReaderThread } from './reader-thread.js'
import { startTracing } from './start-tracing.js'

interface Service {
  readonly started: Started
  /** Resolves with the reason when the service can no longer run. */
  readonly failed: Promise<Error>
  /** Rejects new requests, finishes the ones in progress, and closes the stores. */
  stop(): Promise<void>
}

/** `seed` adds sample transfers to a sandbox that has none. */
type ServiceOptions = { readonly seed?: boolean | undefined }

/** The last one stops first, so that the tree, which the role \`projections\` maintains, also seals the outcomes of the last attempts. */
const backgroundRoles: readonly BackgroundRole[] = ['projections', 'callbacks']

type OnStop = (close: () => Promise<void>) => void

/**
 * Starts HTTP and commands in this thread, and a background thread for each other role of the node.
 * @throws ServiceError, and the errors of {@link openStores}
 */
export async function startService(
  configuration: Configuration,
  logger: Logger,
  options: ServiceOptions = {},
): Promise<Service> {
  const closing: (() => Promise<void>)[] = []
  const stop = async () => {
    for (const close of closing.splice(0).reverse()) await close()
  }
  try {
    return { ...(await startParts(configuration, logger, options, (close) => closing.push(close))), stop }
  } catch (error) {
    await stop()
    throw explainedFullDisk(error, configuration.dataDirectory)
  }
}

async function startParts(
  configuration: Configuration,
  logger: Logger,
  { seed }: ServiceOptions,
  onStop: OnStop,
): Promise<Omit<Service, 'stop'>> {
  const { dataDirectory, currency } = configuration
  const roles = [...configuration.roles]
  const clock = systemClock()
  witnessesOf(configuration)
  onStop(await startTracing(configuration, logger))
  const opened = await openStores(configuration)
  onStop(() => opened.close())
  const stores = configuration.traced ? { ...opened, eventStore: tracedStore(opened.eventStore) } : opened
  for (const notice of stores.notices) logger.warn(notice)
  const { eventStore, readModels, box } = stores
  const address = await reserveAddress(configuration)
  onStop(address.release)
  const { baseUrl, installationName } = address

  const background: BackgroundThread[] = []
  let sandbox: SandboxCredentials | undefined
  const metrics = new ServiceRegistry(() => Promise.all(background.map((thread) => thread.metrics())))
  installationMetrics(metrics, configuration)
  logMetrics(metrics)
  const threadData = () => {
    const eventStore = stores.shareEventStore()
    const data = { configuration, installationName, keyRing: stores.keyRing, eventStore }
    return { data, transfer: eventStore ? [eventStore.port] : [] }
  }
  const reader = new ReaderThread({ data: threadData, logger })
  onStop(() => reader.stop())
  const service = await composeService(
    configuration,
    {
      stores,
      clock,
      logger,
      metrics,
      publicUrl: baseUrl,
      installationName,
      monotonicMs: () => performance.now(),
      backgroundProblems: () => background.flatMap((thread) => thread.problems()),
      outboxToken: () => sandbox?.outboxToken,
      startReader: () => reader.start(),
    },
    onStop,
  )
  const { directory, merchants, users, inSandbox } = service
  const context = { actor: sandboxActor, $correlationId: randomUUID(), $causationId: randomUUID() }
  const sandboxParts = { dataDirectory, directory, merchants, users, box, context, logger }
  const goingLive = await closeSandboxWhenLive(configuration, sandboxParts)
  onStop(() => goingLive.stop())
  if (configuration.roles.has('api') && inSandbox())
    sandbox = await offerSandbox(sandboxParts, service.accounts, baseUrl)
  const failed = new Promise<Error>((onGivenUp) => {
    for (const role of backgroundRoles) {
      if (!configuration.roles.has(role)) continue
      const thread = startBackgroundThread({ role, data: threadData, logger, onGivenUp })
      background.push(thread)
      onStop(() => thread.stop())
    }
  })
  const app = await buildApp(service.http)
  onStop(() => app.close())
  await listen(app, address)
  const heartbeat = startHeartbeat({ readModels, clock, logger }, roles)
  onStop(() => heartbeat.stop())
  logger.info({ host: address.host, port: address.port, baseUrl, roles }, 'listening')
  const seeds = seed && sandbox && (await isWithoutTransfers(eventStore))
  if (seeds) {
    const onRegistered = async () => {
      await directory.catchUp()
      await offerSandboxUsers(sandboxParts)
    }
    const seedParts = { store: eventStore, box, clock, frame: configuration, shouldContinue: inSandbox, onRegistered }
    const seeding = startSeeding(seedParts, logger)
    onStop(() => seeding.stop())
  }
  const notices = [...stores.notices, ...service.warnings(), ...(seeds ? [seedNotice] : [])]
  return { started: { baseUrl, roles, currency, directory: dataDirectory, sandbox, notices }, failed }
}
