import {
  ConsumerDroppedError,
  GroupHeldElsewhereError,
  InvalidSettingsError,
  type ParkedEvent,
  StoreUnavailableError,
} from '../event-log-types.js'
import { metadataStream, softDeletedText } from '../file/stream-metadata.js'
import { readCheckpoint } from './group-checkpoints.js'
import {
  type GroupDefinition,
  type GroupName,
  type GroupSettings,
  groupStream,
  keyOf,
  type StoredGroup,
} from './group-definition.js'
import { appendNext, type GroupLog, jsonEvent } from './group-log.js'
import { rulesOf } from './group-rules.js'
import type { GroupSource } from './group-source.js'
import { ParkedEvents } from './parked-events.js'
import { type GroupConsumer, RunningGroup } from './running-group.js'
import { StoredGroups } from './stored-groups.js'

/** Without consumers a group is kept from other processes this long, so that one which reconnects finds it as it was. */
const lingerMs = 5_000

export interface GroupInfo<E> {
  readonly stored: StoredGroup
  readonly checkpoint: number | undefined
  readonly parkedCount: number
  /** Undefined where it does not run here. */
  readonly running: RunningGroup<E> | undefined
}

export interface GroupsOptions<E> {
  readonly log: GroupLog
  readonly sourceOf: (stored: StoredGroup) => GroupSource<E>
  /** Runs the groups that run in a server, all of them, consumed or not. */
  readonly isServer: boolean
  readonly onFault: (error: unknown) => void
}

/**
 * The persistent subscriptions of a log. A group runs where it is consumed, in one thread of one process, or in a server
 * (see {@link Rules}). All else works anywhere, through the log: the holder looks for changes and requested replays once
 * a second.
 */
export class Groups<E> {
  readonly #options: GroupsOptions<E>
  readonly #log: GroupLog
  readonly #stored: StoredGroups
  readonly #running = new Map<string, RunningGroup<E>>()
  readonly #parked = new Map<string, { readonly generation: string; readonly events: ParkedEvents }>()
  /** The last thing under way for each group: starting and stopping it must not overlap. */
  readonly #queues = new Map<string, Promise<unknown>>()
  #closed = false

  constructor(options: GroupsOptions<E>) {
    this.#options = options
    this.#log = options.log
    this.#stored = new StoredGroups(options.log)
  }

  /** Runs the groups that run all the time. */
  async start(): Promise<void> {
    for (const stored of this.#stored.all()) {
      try {
        await this.#follow(stored)
      } catch (error) {
        this.#options.onFault(error) // the others need not suffer for one that cannot be loaded
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
    await this.#follow(definition)
  }

  /** Drops the consumers and loads the group anew. @throws PersistentSubscriptionMissingError, InvalidSettingsError */
  async update(name: GroupName, settings: GroupSettings): Promise<void> {
    await this.#stored.update(name, settings)
    await this.#follow(name)
  }

  /** @throws PersistentSubscriptionMissingError */
  async delete(name: GroupName): Promise<void> {
    const { hidesWhatIsOver } = rulesOf(this.#stored.get(name))
    await this.#stored.delete(name)
    await this.#follow(name)
    if (hidesWhatIsOver) for (const kind of ['checkpoint', 'parked'] as const) await this.#hide(groupStream(name, kind))
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
    return this.#inTurn(name, async () => (await this.#loaded(this.#stored.get(name))).join(consumer))
  }

  /** Oldest first. @throws PersistentSubscriptionMissingError */
  async listParked(name: GroupName, maxCount: number): Promise<readonly ParkedEvent[]> {
    const stored = this.#stored.get(name)
    const parked = await this.#parkedOf(stored)
    return parked.list(this.#isHeld(stored), maxCount)
  }

  /** Delivers parked events again, before `stopAt` or all there are. @throws PersistentSubscriptionMissingError, InvalidSettingsError */
  async replayParked(name: GroupName, stopAt = Number.POSITIVE_INFINITY): Promise<void> {
    const stored = this.#stored.get(name)
    if (stopAt < 0) throw new InvalidSettingsError(`cannot stop at ${stopAt}`)
    const parked = await this.#parkedOf(stored)
    if (parked.count(this.#isHeld(stored)) === 0) return
    const until = Math.min(stopAt, parked.end)
    if (until === 0) return
    await parked.requestReplay(until)
    await this.#runningOf(stored)?.noticeReplays()
    await parked.refresh()
  }

  /** Loads all that run here anew, as a restart would. */
  async restart(): Promise<void> {
    await this.#each(async (key, running) => {
      this.#running.delete(key)
      await running.drop(new ConsumerDroppedError('the persistent subscriptions are being restarted'))
    })
    await this.start()
  }

  /** Ends all consumers and releases the groups. */
  async close(): Promise<void> {
    this.#closed = true
    await this.#each(async (key, running) => {
      this.#running.delete(key)
      await running.suspend()
    })
  }

  /** Where a last checkpoint cannot be written more comes again; the groups are free all the same. */
  async #each(stop: (key: string, running: RunningGroup<E>) => Promise<void>): Promise<void> {
    const keys = new Set([...this.#running.keys(), ...this.#queues.keys()])
    const stopping = [...keys].map((key) =>
      this.#queued(key, async () => {
        const running = this.#running.get(key)
        if (running) await stop(key, running)
      }),
    )
    await Promise.allSettled(stopping)
  }

  #inTurn<T>(name: GroupName, task: () => Promise<T>): Promise<T> {
    return this.#queued(keyOf(name), task)
  }

  #queued<T>(key: string, task: () => Promise<T>): Promise<T> {
    const before = this.#queues.get(key) ?? Promise.resolve()
    const run = before.then(task, task)
    this.#queues.set(key, run)
    const forget = () => {
      if (this.#queues.get(key) === run) this.#queues.delete(key)
    }
    run.then(forget, forget)
    return run
  }

  #runsAlways(stored: StoredGroup): boolean {
    return rulesOf(stored).runsInServer && this.#options.isServer
  }

  async #loaded(stored: StoredGroup): Promise<RunningGroup<E>> {
    if (this.#closed) throw new StoreUnavailableError('the store is closed')
    await this.#dropIfChanged(stored)
    const known = this.#running.get(keyOf(stored))
    if (known?.isRunning) return known
    const hold = this.#tryHold(stored)
    if (!hold) throw new GroupHeldElsewhereError(`group ${stored.group} runs in another thread or process`)
    try {
      if (known?.resume(hold)) return known
      const running = await RunningGroup.load({
        log: this.#log,
        stored,
        source: this.#options.sourceOf(stored),
        parked: await this.#parkedOf(stored),
        hold,
        onTick: (group) => this.#lookAfter(group),
        onFault: this.#options.onFault,
      })
      this.#running.set(keyOf(stored), running)
      return running
    } catch (error) {
      hold.release()
      throw error
    }
  }

  /** The operating system lets go of a lock when the holder dies, so nobody waits for a lease to run out. */
  #tryHold(stored: StoredGroup) {
    if (this.#runsAlways(stored)) return { epoch: 0, release: () => {} }
    const { runsInServer, lockOf } = rulesOf(stored)
    return runsInServer ? undefined : this.#log.tryLock(lockOf(stored))
  }

  /** Changes that another thread or process made are noticed here. */
  #lookAfter(running: RunningGroup<E>): void {
    const { stored } = running
    this.#inTurn(stored, async () => {
      await this.#applyChanges(stored)
      const isIdle = !this.#runsAlways(stored) && running.idleMs > lingerMs
      if (isIdle && this.#running.get(keyOf(stored)) === running) await running.suspend()
    }).catch(() => {}) // the log cannot be read just now: the next tick looks again
  }

  #follow(name: GroupName): Promise<void> {
    return this.#inTurn(name, () => this.#applyChanges(name))
  }

  /** What ran by the old definition stops, and what runs all the time goes on by the new one. */
  async #applyChanges(name: GroupName): Promise<void> {
    await this.#dropIfChanged(name)
    const stored = this.#stored.find(name)
    if (stored && this.#runsAlways(stored) && !this.#closed) await this.#loaded(stored)
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
    return this.#log.isLocked(rulesOf(stored).lockOf(stored))
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

  /** As a soft delete does. */
  async #hide(stream: string): Promise<void> {
    if (this.#log.reader.lastRevision(stream) < 0) return
    const event = { ...jsonEvent('$metadata', {}), data: Buffer.from(`{"$tb":${softDeletedText}}`) }
    await appendNext(this.#log, metadataStream(stream), event)
  }
}
