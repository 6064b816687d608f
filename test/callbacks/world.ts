import { randomBytes, randomUUID } from 'node:crypto'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { pino } from 'pino'
import type { CallbackMetrics } from '../../src/callbacks/callback-metrics.js'
import { type CallbackTiming, defaultCallbackTiming } from '../../src/callbacks/callback-timing.js'
import { startCallbacks } from '../../src/callbacks/callbacks.js'
import type { DeliveryDependencies } from '../../src/callbacks/deliver/delivery-worker.js'
import { onlyNeeded } from '../../src/callbacks/needed-events.js'
import { CallbackCommands } from '../../src/commands/callback/callback-commands.js'
import { CallbackNetworks } from '../../src/commands/merchant/callback-networks.js'
import { type IssuedCredentials, MerchantCommands } from '../../src/commands/merchant/merchant-commands.js'
import { MerchantDirectory } from '../../src/commands/merchant/merchant-directory.js'
import type { TransferCommands } from '../../src/commands/transfer/transfers.js'
import type { MerchantSettings } from '../../src/domain/merchant/merchant-events.js'
import { defaultSettings } from '../../src/domain/merchant/merchant-settings.js'
import { callbackStream } from '../../src/domain/streams.js'
import type { EventStore, Page, RecordedEvent } from '../../src/event-store/event-store.js'
import { collections, indexes } from '../../src/read-models/documents.js'
import type { ReadModels } from '../../src/read-models/read-models.js'
import { createSecretBox } from '../../src/security/secret-box.js'
import { follow } from '../../src/subscriptions/follow.js'
import { depositRequest } from '../domain/transfer-samples.js'
import { openTestEventStore } from '../support/event-store.js'
import { openTestReadModels, removeTestReadModels } from '../support/read-models.js'
import { transferCommands } from '../support/transfer-commands.js'
import { until } from '../support/until.js'
import { accepts, startReceiver, type Teardown } from './receiver.js'

export const context = { actor: 'test', $correlationId: 'test', $causationId: 'test' }

/** The system time plus an offset. */
class TestClock {
  #offsetMs = 0
  /** The number of times that the clock was read. Delivery reads it at each check for due callbacks. */
  reads = 0

  now = () => {
    this.reads++
    return new Date(this.nowMs()).toISOString()
  }

  nowMs(): number {
    return Date.now() + this.#offsetMs
  }

  forward(ms: number): void {
    this.#offsetMs += ms
  }
}

interface Counts extends CallbackMetrics {
  readonly attempts: { delivered: number; failed: number; parked: number }
  readonly records: { subscription: number; sweep: number }
  disabledCount: number
}

function countingMetrics(): Counts {
  const counts: Counts = {
    attempts: { delivered: 0, failed: 0, parked: 0 },
    records: { subscription: 0, sweep: 0 },
    disabledCount: 0,
    observeAttempt: (_merchantId, outcome) => void counts.attempts[outcome]++,
    observeWait: () => undefined,
    countRecorded: (by, count) => {
      counts.records[by] += count
    },
    countDisabled: () => void counts.disabledCount++,
  }
  return counts
}

export interface World {
  readonly path: string
  readonly masterKey: Buffer
  readonly store: EventStore
  readonly readModels: ReadModels
  readonly merchants: MerchantCommands
  readonly directory: MerchantDirectory
  readonly transfers: TransferCommands
  readonly callbacks: CallbackCommands
  readonly clock: TestClock
  readonly counts: Counts
  readonly logLines: string[]
  /** Starts recording and delivery. */
  start(overrides?: Partial<DeliveryDependencies>): { stop(): Promise<void> }
  /** Resolves when delivery has looked for due callbacks several times. */
  dueChecks(): Promise<void>
  /** Registers a sandbox merchant whose callbacks go to the URL. */
  merchant(callbackUrl: string, settings?: Partial<MerchantSettings>): Promise<IssuedCredentials>
  /** Creates a pending deposit and returns its trackingId. */
  deposit(merchantId: string, amountMinor?: bigint): Promise<string>
  /** Creates and completes a deposit and returns its trackingId. */
  completed(merchantId: string): Promise<string>
  deliveryLog(trackingId: string): Promise<readonly RecordedEvent[]>
}

export const quickTiming: CallbackTiming = {
  ...defaultCallbackTiming,
  attemptTimeoutMs: 5_000,
  sweepDelayMs: 0,
  consumeRetryMs: 50,
  recordRetryMs: 50,
  dueCheckMs: 5,
  searchMs: 50,
  historyMs: 50,
  reportDelayMs: 1,
  reportRetryMs: 10,
}

interface WorldOptions {
  readonly timing?: Partial<CallbackTiming>
  readonly wrapStore?: (store: EventStore) => EventStore
  /** Whether the world maintains the read model of callbacks, which is the default. */
  readonly project?: boolean
}

/** Opens a log, read models and commands in a new directory. The test starts and stops the callbacks. */
export async function openWorld(t: Teardown, options: WorldOptions = {}): Promise<World> {
  const path = mkdtempSync(join(tmpdir(), 'transferd-callbacks-'))
  const engine = await openTestEventStore(path)
  const store = options.wrapStore?.(engine) ?? engine
  const readModels = await openTestReadModels(path)
  await readModels.createIndexes(collections.callbacks, indexes.callbacks)
  const clock = new TestClock()
  const masterKey = randomBytes(32)
  const secretBox = createSecretBox(masterKey)
  const merchants = new MerchantCommands(engine, clock.now, secretBox)
  const directory = new MerchantDirectory(engine, secretBox, clock.now, () => undefined)
  await directory.start()
  const transfers = transferCommands(engine, clock.now, async (id) => directory.byId(id)?.settings)
  const callbacks = new CallbackCommands(store, clock.now)
  const counts = countingMetrics()
  const logLines: string[] = []
  const logger = pino({ level: 'debug' }, { write: (line: string) => logLines.push(line) })
  const projecting = new AbortController()
  const projection = options.project === false ? undefined : project(engine, readModels, callbacks, projecting.signal)
  const running = new Set<{ stop(): Promise<void> }>()

  t.teardown(async () => {
    await Promise.all([...running].map((part) => part.stop()))
    projecting.abort()
    await projection
    await directory.stop()
    await readModels.close()
    await engine.close()
    await removeTestReadModels(path)
    rmSync(path, { recursive: true, force: true })
  })

  const world: World = {
    path,
    masterKey,
    store,
    readModels,
    merchants,
    directory,
    transfers,
    callbacks,
    clock,
    counts,
    logLines,
    start(overrides = {}) {
      const part = startCallbacks({
        store,
        followed: (isNeeded) => onlyNeeded(store, isNeeded),
        readModels,
        commands: callbacks,
        merchantCommands: merchants,
        merchants: directory,
        clock: clock.now,
        random: () => 0,
        resolve: async () => [],
        networks: new CallbackNetworks([], () => true),
        logger,
        metrics: counts,
        timing: { ...quickTiming, ...options.timing },
        ...overrides,
      })
      running.add(part)
      return part
    },
    async dueChecks() {
      const reads = clock.reads
      await until(() => clock.reads >= reads + 10)
    },
    async merchant(callbackUrl, settings = {}) {
      const issued = await merchants.register(
        { ...defaultSettings(true), name: 'Shop', allowIps: [], callbackUrl, ...settings },
        context,
      )
      await until(() => directory.byId(issued.id) !== undefined)
      return issued
    },
    async deposit(merchantId, amountMinor = 100_00n) {
      const result = await transfers.create(
        {
          ...depositRequest,
          merchantId,
          referenceId: randomUUID(),
          amountMinor,
          callbackOnCreate: directory.byId(merchantId)!.settings.callbackOnCreate,
        },
        context,
      )
      if (!result.accepted) throw new Error(result.refusal.rule)
      return result.transfer.trackingId
    },
    async completed(merchantId) {
      const trackingId = await world.deposit(merchantId)
      await transfers.act(trackingId, { type: 'Complete' }, context)
      return trackingId
    },
    deliveryLog: (trackingId) => engine.readStream(callbackStream(trackingId)),
  }
  return world
}

/** Stops delivery after a first attempt that failed. The receiver accepts the next one. */
export async function stopAfterFailure(t: Teardown, world: World) {
  const receiver = await startReceiver(t, (_received, response) => void response.writeHead(500).end())
  const { id } = await world.merchant(receiver.url)
  const first = world.start()
  const trackingId = await world.completed(id)
  await until(async () => (await world.deliveryLog(trackingId)).length === 2)
  await first.stop()
  receiver.behave = accepts
  return { receiver, trackingId }
}

/** Maintains the part of the read model of callbacks that delivery reads. */
async function project(store: EventStore, readModels: ReadModels, commands: CallbackCommands, signal: AbortSignal) {
  const positions = new Map<string, number>()
  const handle = async ({ events }: Page) => {
    for (const trackingId of new Set(events.map((event) => String(event.data.trackingId)))) {
      const { merchantId, deliveries } = await commands.lane(trackingId)
      const operations = deliveries.map(({ webhookId: _id, status, attempts, waitingSince, nextAttemptAt }) => {
        const position = positions.get(_id) ?? positions.size
        positions.set(_id, position)
        const replacement = {
          _id,
          position,
          merchantId,
          trackingId,
          status,
          attempts,
          ...(status === 'waiting' ? { dueAt: nextAttemptAt, dueSince: waitingSince } : {}),
        }
        return { replaceOne: { filter: { _id }, replacement, upsert: true } }
      })
      await readModels.collection(collections.callbacks).bulkWrite(operations)
    }
  }
  await follow({
    store,
    after: undefined,
    streamPrefixes: ['callback-'],
    signal,
    onUnavailable: () => undefined,
    handle,
  })
}
