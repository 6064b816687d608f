import {
  ConsumerDroppedError,
  GroupHeldElsewhereError,
  InvalidSettingsError,
  type ParkedEvent,
  StoreUnavailableError,
} from '../event-log-types.js'
import { metadataStream, softDeletedText } from '../file/stream-metadata.js'
import {
  type GroupDefinition,
  type GroupName,
  type GroupSettings,
  groupStream,
  keyOf,
  type StoredGroup,
} from './group-definition.js'
import { appendNext, type GroupLog, jsonEvent, readCheckpoint, rulesOf } from './group-rules.js'
import type { GroupSource } from './group-source.js'
import { ParkedEvents } from './parked-events.js'
import { type GroupConsumer, RunningGroup } from './running-group.js'
import { StoredGroups } from './stored-groups.js'

/** The time for which a group without consumers keeps its lock, so that a reconnecting consumer finds its state unchanged. */
const lingerMs = 5_000

export interface GroupInfo<E> {
  readonly stored: StoredGroup
  readonly checkpoint: number | undefined
  readonly parkedCount: number
  /** The running group, or `undefined` if it does not run in this process. */
  readonly running: RunningGroup<E> | undefined
}

interface GroupsOptions<E> {
  readonly log: GroupLog
  readonly sourceOf: (stored: StoredGroup) => GroupSource<E>
  /** Whether this process runs all groups that run in a server, consumed or not. */
  readonly isServer: boolean
  readonly onFault: (error: unknown) => void
}

/**
 * The persistent subscriptions of a log. A group runs where it is consumed, in one thread of one process, or in a server (see
 * {@link Rules}). All other operations work in any process, through the log: the process that runs a group checks for changes and
 * requested replays once a second.
 */
export class Groups<E> {
  readonly #log: GroupLog
  readonly #stored: StoredGroups
  readonly #running = new Map<string, RunningGroup<E>>()
  readonly #parked = new Map<string, { readonly generation: string; readonly events: ParkedEvents }>()
  /** The last queued task of each group. Starting and stopping a group must not overlap. */
  readonly #queues = new Map<string, Promise<unknown>>()
  #isClosed = false

  constructor(private readonly options: GroupsOptions<E>) {
    this.#log = options.log
    this.#stored = new StoredGroups(options.log)
  }

  /** Starts the groups that run permanently. */
  async start(): Promise<void> {
    for (const stored of this.#stored.all()) {
      try {
        await this.#queueChanges(stored)
      } catch (error) {
        this.options.onFault(error) // a group that cannot be loaded must not affect the others
      }
    }
  }

  all(): readonly StoredGroup[] {
    return this.#stored.all()
  }

  find(name: GroupName): StoredGroup | undefined {
    return this.#stored.find(name)
  }

  /** @throws PersistentSubscriptionExistsError, InvalidSettingsError */
  async create(definition: GroupDefinition): Promise<void> {
    await this.#stored.create(definition)
    await this.#queueChanges(definition)
  }

  /** Changes the given settings, drops the consumers and reloads the group. @throws PersistentSubscriptionMissingError, InvalidSettingsError */
  async update(name: GroupName, settings: Partial<GroupSettings>): Promise<void> {
    await this.#stored.update(name, settings)
    await this.#queueChanges(name)
  }

  /** @throws PersistentSubscriptionMissingError */
  async delete(name: GroupName): Promise<void> {
    const { hidesObsoleteEvents } = rulesOf(this.#stored.get(name))
    await this.#stored.delete(name)
    await this.#queueChanges(name)
    if (!hidesObsoleteEvents) return
    for (const kind of ['checkpoint', 'parked'] as const) await this.#softDelete(groupStream(name, kind))
  }

  /** @throws PersistentSubscriptionMissingError */
  async info(name: GroupName): Promise<GroupInfo<E>> {
    const stored = this.#stored.get(name)
    const running = this.#runningOf(stored)
    const parked = await this.#parkedOf(stored)
    return {
      stored,
      running,
      checkpoint: running ? running.group.progress.checkpoint : readCheckpoint(this.#log, stored),
      parkedCount: parked.count(this.#isHeld(stored)),
    }
  }

  /** @throws PersistentSubscriptionMissingError, MaximumSubscribersReachedError, GroupHeldElsewhereError */
  consume(name: GroupName, consumer: GroupConsumer<E>): Promise<void> {
    return this.#enqueue(keyOf(name), async () => (await this.#load(this.#stored.get(name))).join(consumer))
  }

  /** Returns the parked events, oldest first. @throws PersistentSubscriptionMissingError */
  async listParked(name: GroupName, maxCount: number): Promise<readonly ParkedEvent[]> {
    const stored = this.#stored.get(name)
    const parked = await this.#parkedOf(stored)
    return parked.list(this.#isHeld(stored), maxCount)
  }

  /**
   * Redelivers all parked events, or those before `stopAt`.
   * @throws PersistentSubscriptionMissingError, InvalidSettingsError
   */
  async replayParked(name: GroupName, stopAt = Number.POSITIVE_INFINITY): Promise<void> {
    const stored = this.#stored.get(name)
    if (stopAt < 0) throw new InvalidSettingsError(`cannot stop at ${stopAt}`)
    const parked = await this.#parkedOf(stored)
    if (parked.count(this.#isHeld(stored)) === 0) return
    const until = Math.min(stopAt, parked.end)
    if (until === 0) return
    await parked.requestReplay(until)
    await this.#runningOf(stored)?.startReplays()
    await parked.refresh()
  }

  /** Reloads all groups that run in this process, as a restart would. */
  async restart(): Promise<void> {
    const reason = new ConsumerDroppedError('the persistent subscriptions are being restarted')
    await this.#stopAll((running) => running.drop(reason))
    await this.start()
  }

  /** Ends all consumers and releases the groups. */
  async close(): Promise<void> {
    this.#isClosed = true
    await this.#stopAll((running) => running.suspend())
  }

  /** Stops all groups, even if a final checkpoint cannot be written. Then more events are redelivered. */
  async #stopAll(stop: (running: RunningGroup<E>) => Promise<void>): Promise<void> {
    const keys = new Set([...this.#running.keys(), ...this.#queues.keys()])
    const stopping = [...keys].map((key) =>
      this.#enqueue(key, async () => {
        const running = this.#running.get(key)
        this.#running.delete(key)
        if (running) await stop(running)
      }),
    )
    await Promise.allSettled(stopping)
  }

  #enqueue<T>(key: string, task: () => Promise<T>): Promise<T> {
    const previous = this.#queues.get(key) ?? Promise.resolve()
    const run = previous.then(task, task)
    this.#queues.set(key, run)
    const forget = () => {
      if (this.#queues.get(key) === run) this.#queues.delete(key)
    }
    run.then(forget, forget)
    return run
  }

  #runsPermanently(stored: StoredGroup): boolean {
    return rulesOf(stored).runsInServer && this.options.isServer
  }

  async #load(stored: StoredGroup): Promise<RunningGroup<E>> {
    if (this.#isClosed) throw new StoreUnavailableError('the store is closed')
    await this.#dropIfChanged(stored)
    const known = this.#running.get(keyOf(stored))
    if (known?.isRunning) return known
    const lock = this.#tryLock(stored)
    if (!lock) throw new GroupHeldElsewhereError(`group ${stored.group} runs in another thread or process`)
    try {
      if (known?.resume(lock)) return known
      const running = await RunningGroup.load({
        log: this.#log,
        stored,
        source: this.options.sourceOf(stored),
        parked: await this.#parkedOf(stored),
        lock,
        onTick: (group) => this.#onTick(group),
        onFault: this.options.onFault,
      })
      this.#running.set(keyOf(stored), running)
      return running
    } catch (error) {
      lock.release()
      throw error
    }
  }

  /** Reserves the group. The operating system releases the lock when its holder dies, so no process waits for a lease to expire. */
  #tryLock(stored: StoredGroup) {
    if (this.#runsPermanently(stored)) return { epoch: 0, release: () => {} }
    const { runsInServer, lockOf } = rulesOf(stored)
    return runsInServer ? undefined : this.#log.locks.tryTake(lockOf(stored))
  }

  /** Applies changes by other threads or processes, and suspends an idle group. */
  #onTick(running: RunningGroup<E>): void {
    const { stored } = running
    const key = keyOf(stored)
    this.#enqueue(key, async () => {
      await this.#applyChanges(stored)
      const isIdle = !this.#runsPermanently(stored) && running.idleMs > lingerMs
      if (isIdle && this.#running.get(key) === running) await running.suspend()
    }).catch(() => {}) // the log is currently unreadable: the next tick tries again
  }

  #queueChanges(name: GroupName): Promise<void> {
    return this.#enqueue(keyOf(name), () => this.#applyChanges(name))
  }

  /** Stops a group that runs with an old definition, and starts a permanent group with the new one. */
  async #applyChanges(name: GroupName): Promise<void> {
    await this.#dropIfChanged(name)
    const stored = this.#stored.find(name)
    if (stored && this.#runsPermanently(stored) && !this.#isClosed) await this.#load(stored)
  }

  async #dropIfChanged(name: GroupName): Promise<void> {
    const key = keyOf(name)
    const running = this.#running.get(key)
    const stored = this.#stored.find(name)
    if (!stored) this.#parked.delete(key)
    if (!running || stored?.version === running.stored.version) return
    this.#running.delete(key)
    await running.drop(new ConsumerDroppedError(`group ${name.group} was ${stored ? 'updated' : 'deleted'}`))
  }

  #runningOf(stored: StoredGroup): RunningGroup<E> | undefined {
    const running = this.#running.get(keyOf(stored))
    return running?.isRunning && running.stored.version === stored.version ? running : undefined
  }

  #isHeld(stored: StoredGroup): boolean {
    if (this.#runningOf(stored) !== undefined) return true
    return this.#log.locks.isTaken(rulesOf(stored).lockOf(stored))
  }

  async #parkedOf(stored: StoredGroup): Promise<ParkedEvents> {
    const key = keyOf(stored)
    let known = this.#parked.get(key)
    if (known?.generation !== stored.generation) {
      known = { generation: stored.generation, events: new ParkedEvents(this.#log, stored) }
      this.#parked.set(key, known)
    }
    await known.events.refresh()
    return known.events
  }

  async #softDelete(stream: string): Promise<void> {
    if (this.#log.reader.lastRevision(stream) < 0) return
    const event = { ...jsonEvent('$metadata', {}), data: Buffer.from(`{"$tb":${softDeletedText}}`) }
    await appendNext(this.#log, metadataStream(stream), event)
  }
}
