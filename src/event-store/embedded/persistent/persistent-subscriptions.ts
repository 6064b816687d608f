import {
  ConsumerDroppedError,
  GroupHeldElsewhereError,
  InvalidSettingsError,
  type ParkedEvent,
  type PersistentConsumer,
  type PersistentSubscriptionInfo,
  PersistentSubscriptionMissingError,
  type PersistentSubscriptionSettings,
  type PersistentSubscriptions,
  StoreUnavailableError,
} from '../../event-store.js'
import { readCheckpoint } from './checkpoints.js'
import type { GroupLog } from './log.js'
import { ParkedEvents } from './parked-events.js'
import { RunningGroup } from './running-group.js'
import { type StoredGroup, StoredGroups } from './stored-groups.js'

/** Without consumers a group is kept from other processes this long, so that one which reconnects finds it as it was. */
const lingerMs = 5_000

/**
 * The persistent subscriptions of an embedded log. A group runs where it is consumed, in one thread of one process;
 * all else works anywhere, through the log: the holder looks for changes and requested replays once a second.
 */
export class EmbeddedPersistentSubscriptions implements PersistentSubscriptions {
  readonly #stored: StoredGroups
  readonly #running = new Map<string, RunningGroup>()
  readonly #parked = new Map<string, { readonly generation: string; readonly events: ParkedEvents }>()
  /** The last thing under way for each group: starting and stopping it must not overlap. */
  readonly #queues = new Map<string, Promise<unknown>>()
  #closed = false

  constructor(private readonly log: GroupLog) {
    this.#stored = new StoredGroups(log)
  }

  async create(group: string, settings: PersistentSubscriptionSettings): Promise<void> {
    await this.#stored.create(group, settings)
  }

  async update(group: string, settings: PersistentSubscriptionSettings): Promise<void> {
    await this.#stored.update(group, settings)
    await this.#inTurn(group, () => this.#dropIfChanged(group))
  }

  async delete(group: string): Promise<void> {
    await this.#stored.delete(group)
    await this.#inTurn(group, () => this.#dropIfChanged(group))
  }

  async info(group: string): Promise<PersistentSubscriptionInfo> {
    const stored = this.#stored.get(group)
    const running = this.#runningOf(stored)
    const parked = await this.#parkedOf(stored)
    const checkpoint = running?.checkpoint ?? readCheckpoint(this.log, stored)
    return {
      group,
      settings: stored.settings,
      ...(checkpoint && { checkpoint }),
      inFlight: running?.inFlight ?? 0,
      parkedCount: parked.count(this.#isHeld(stored)),
      consumers: running?.consumers ?? 0,
    }
  }

  async consume(
    group: string,
    { bufferSize, signal }: { readonly bufferSize: number; readonly signal: AbortSignal },
  ): Promise<PersistentConsumer> {
    if (!Number.isSafeInteger(bufferSize) || bufferSize < 0) {
      throw new InvalidSettingsError(`a buffer of ${bufferSize} events cannot be`)
    }
    return this.#inTurn(group, async () => {
      const running = await this.#run(this.#stored.get(group))
      const consumer = running.join(bufferSize)
      consumer.closeOn(signal)
      return consumer
    })
  }

  async listParked(group: string, options: { readonly maxCount: number }): Promise<readonly ParkedEvent[]> {
    const stored = this.#stored.get(group)
    const parked = await this.#parkedOf(stored)
    return parked.list(this.#isHeld(stored), options.maxCount)
  }

  async replayParked(group: string, options: { readonly stopAt?: number } = {}): Promise<void> {
    const stored = this.#stored.get(group)
    const { stopAt = Number.POSITIVE_INFINITY } = options
    if (stopAt < 0) throw new InvalidSettingsError(`cannot stop at ${stopAt}`)
    const parked = await this.#parkedOf(stored)
    if (parked.count(this.#isHeld(stored)) === 0) return
    const until = Math.min(stopAt, parked.end)
    if (until === 0) return
    await parked.requestReplay(until)
    this.#runningOf(stored)?.noticeReplays()
  }

  /** Ends all consumers and gives the groups free. */
  async close(): Promise<void> {
    this.#closed = true
    const groups = new Set([...this.#running.keys(), ...this.#queues.keys()])
    const closing = [...groups].map((group) =>
      this.#inTurn(group, async () => {
        const running = this.#running.get(group)
        this.#running.delete(group)
        await running?.suspend()
      }),
    )
    // Where a last checkpoint could not be written more comes again; the groups are free all the same.
    await Promise.allSettled(closing)
  }

  #inTurn<T>(group: string, work: () => Promise<T>): Promise<T> {
    const before = this.#queues.get(group) ?? Promise.resolve()
    const run = before.then(work, work)
    this.#queues.set(group, run)
    const forget = () => {
      if (this.#queues.get(group) === run) this.#queues.delete(group)
    }
    run.then(forget, forget)
    return run
  }

  async #run(stored: StoredGroup): Promise<RunningGroup> {
    if (this.#closed) throw new StoreUnavailableError('the store is closed')
    await this.#dropIfChanged(stored.group)
    const known = this.#running.get(stored.group)
    if (known?.isRunning) return known
    const lock = this.log.tryLock(lockOf(stored.group))
    if (!lock) throw new GroupHeldElsewhereError(`group ${stored.group} is consumed by another thread or process`)
    try {
      if (known && !known.isDropped && lock.epoch === known.epoch + 1) {
        known.resume(lock)
        return known
      }
      const onTick = (running: RunningGroup) => this.#lookAfter(running)
      const running = await RunningGroup.load(this.log, stored, await this.#parkedOf(stored), lock, onTick)
      this.#running.set(stored.group, running)
      return running
    } catch (error) {
      lock.release()
      throw error
    }
  }

  /** Changes that another thread or process made are noticed here. */
  #lookAfter(running: RunningGroup): void {
    const { group } = running.stored
    this.#inTurn(group, async () => {
      await this.#dropIfChanged(group)
      if (this.#running.get(group) === running && running.idleMs() > lingerMs) await running.suspend()
    }).catch(() => {}) // the log cannot be read just now: the next tick looks again
  }

  async #dropIfChanged(group: string): Promise<void> {
    const running = this.#running.get(group)
    if (!running) return
    const stored = this.#storedOrMissing(group)
    if (stored?.version === running.stored.version) return
    this.#running.delete(group)
    await running.drop(new ConsumerDroppedError(`group ${group} was ${stored ? 'updated' : 'deleted'}`))
  }

  #storedOrMissing(group: string): StoredGroup | undefined {
    try {
      return this.#stored.get(group)
    } catch (error) {
      if (error instanceof PersistentSubscriptionMissingError) return undefined
      throw error
    }
  }

  #runningOf(stored: StoredGroup): RunningGroup | undefined {
    const running = this.#running.get(stored.group)
    return running?.isRunning && running.stored.version === stored.version ? running : undefined
  }

  #isHeld(stored: StoredGroup): boolean {
    return this.#runningOf(stored) !== undefined || this.log.isLocked(lockOf(stored.group))
  }

  async #parkedOf(stored: StoredGroup): Promise<ParkedEvents> {
    let known = this.#parked.get(stored.group)
    if (known?.generation !== stored.generation) {
      known = { generation: stored.generation, events: new ParkedEvents(this.log, stored) }
      this.#parked.set(stored.group, known)
    }
    await known.events.refresh()
    return known.events
  }
}

/** The operating system lets go of it when the holder dies, so nobody waits for a lease to run out. */
function lockOf(group: string): string {
  return `persistent-subscription ${group}`
}
