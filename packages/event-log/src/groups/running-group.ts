import { randomUUID } from 'node:crypto'
import {
  ConsumerDroppedError,
  MaximumSubscribersReachedError,
  type NackAction,
  StoreUnavailableError,
} from '../event-log-types.js'
import type { ProcessLock } from '../file/process-lock.js'
import { CoalescedTask } from './coalesced-task.js'
import { type Delivered, Group } from './group.js'
import { type StoredGroup, startPosition } from './group-definition.js'
import { type GroupLog, readCheckpoint, rulesOf, writeCheckpoint } from './group-rules.js'
import type { GroupSource } from './group-source.js'
import type { ParkedEvents } from './parked-events.js'

const tickMs = 1_000
const replayPageSize = 100
/** The maximum number of events to scan per tick when counting those that did not match. */
const maxCountedPerTick = 500

/** A consumer of a group. */
export interface GroupConsumer<E> {
  readonly bufferSize: number
  /** Called before the first delivery. */
  joined(membership: Membership<E>): void
  /** Delivers an event. There are never more than `bufferSize` events in flight. */
  deliver(delivered: Delivered<E>): void
  /** Called after the last delivery. */
  end(error?: ConsumerDroppedError): void
}

/** The membership of a consumer in its group. */
export interface Membership<E> {
  readonly consumer: GroupConsumer<E>
  readonly inFlight: number
  ack(ackIds: readonly string[]): void
  nack(action: NackAction, reason: string, ackIds: readonly string[]): void
  leave(): void
}

interface RunningGroupOptions<E> {
  readonly log: GroupLog
  readonly stored: StoredGroup
  readonly source: GroupSource<E>
  readonly parked: ParkedEvents
  /** The group's lock. If one lock covers all groups, this one does nothing. */
  readonly lock: ProcessLock
  readonly onTick: (group: RunningGroup<E>) => void
  readonly onFault: (error: unknown) => void
}

/** Runs a group on the log: it reads, delivers, checks timeouts and stores the group's progress. */
export class RunningGroup<E> {
  readonly stored: StoredGroup
  /** The state of the group. Only this class changes it. */
  readonly group: Group<E>
  readonly #options: RunningGroupOptions<E>
  readonly #members = new Map<number, Membership<E>>()
  #lock: ProcessLock
  #lastMemberId = 0
  #totalItems = 0
  #isDropped = false
  #running: AbortController | undefined
  #timer: NodeJS.Timeout | undefined
  #idleSinceMs: number | undefined = performance.now()

  readonly #watching = this.#task(() => this.#watch())
  readonly #reading = this.#task(() => this.#read())
  readonly #writing = this.#task(() => this.#write())
  readonly #replaying = this.#task(() => this.#replay())
  readonly #counting = this.#task(() => this.#countUnmatched())
  readonly #tasks = [this.#watching, this.#reading, this.#writing, this.#replaying, this.#counting]

  /** The id of the parked event that is being written. A retry uses the same id, because the failed attempt may have succeeded. */
  #parkId: string | undefined
  #replayNext = 0
  #replayUntil = 0
  /** The position up to which the events that did not match are counted. */
  #countedThrough: number

  private constructor(options: RunningGroupOptions<E>) {
    const { log, stored, parked, lock } = options
    const rules = rulesOf(stored)
    this.#options = options
    this.stored = stored
    this.#lock = lock
    this.group = new Group(stored.settings, rules, {
      after: stored.startAfter ?? startPosition(stored, log.reader),
      checkpoint: readCheckpoint(log, stored),
    })
    if (rules.resumesReplays) this.#replayUntil = parked.startedUntil
    this.#countedThrough = this.group.progress.through
    this.#start()
  }

  static async load<E>(options: RunningGroupOptions<E>): Promise<RunningGroup<E>> {
    const { parked, stored } = options
    await parked.refresh()
    const isInterrupted = parked.startedUntil > 0 && parked.requestedUntil === 0
    if (isInterrupted && !rulesOf(stored).resumesReplays) await parked.startReplay(0)
    return new RunningGroup(options)
  }

  get members(): readonly Membership<E>[] {
    return [...this.#members.values()]
  }

  get totalItems(): number {
    return this.#totalItems
  }

  get isRunning(): boolean {
    return this.#running !== undefined
  }

  /** The time for which the group has had no consumer. */
  get idleMs(): number {
    return this.#idleSinceMs === undefined ? 0 : performance.now() - this.#idleSinceMs
  }

  /** @throws MaximumSubscribersReachedError */
  join(consumer: GroupConsumer<E>): void {
    const { maxSubscriberCount } = this.stored.settings
    if (maxSubscriberCount !== 0 && this.#members.size >= maxSubscriberCount) {
      const { group } = this.stored
      throw new MaximumSubscribersReachedError(`group ${group} accepts at most ${maxSubscriberCount} consumers`)
    }
    this.#lastMemberId += 1
    const id = this.#lastMemberId
    const membership = this.#membership(id, consumer)
    if (this.#options.source.hasEnded) {
      consumer.joined(membership)
      consumer.end(new ConsumerDroppedError(`${this.stored.source} has ended`))
      return
    }
    this.#members.set(id, membership)
    this.#idleSinceMs = undefined
    this.group.join(id, consumer.bufferSize)
    consumer.joined(membership)
    this.#proceed()
  }

  #membership(id: number, consumer: GroupConsumer<E>): Membership<E> {
    const group = this.group
    return {
      consumer,
      get inFlight() {
        return group.inFlightOf(id)
      },
      ack: (ackIds) => this.#respond(() => group.ack(ackIds)),
      nack: (action, reason, ackIds) => this.#respond(() => group.nack(action, reason, ackIds)),
      leave: () => this.#leave(id),
    }
  }

  #respond(response: () => void): void {
    if (!this.#running) return
    response()
    this.#proceed()
  }

  #leave(id: number): void {
    if (!this.#members.delete(id)) return
    this.group.leave(id)
    if (this.#members.size === 0) this.#idleSinceMs = performance.now()
    this.#proceed()
  }

  /** Starts the requested replays and waits until as many events as fit are queued. */
  async startReplays(): Promise<void> {
    if (!this.#running) return
    this.#replaying.start()
    await this.#replaying.settled()
  }

  /** Ends all consumers permanently. Events after the checkpoint are redelivered when the group is loaded again. */
  async drop(error: ConsumerDroppedError): Promise<void> {
    if (this.#isDropped) return
    this.#isDropped = true
    for (const { consumer } of this.#members.values()) consumer.end(error)
    this.#members.clear()
    if (!this.#running) return
    await this.#stop()
    this.#lock.release()
  }

  /**
   * Releases the group to other processes. It writes a checkpoint regardless of the counts, so that few events are redelivered.
   * {@link resume} continues if no other process has taken the group.
   */
  async suspend(): Promise<void> {
    for (const { consumer, leave } of this.members) {
      consumer.end()
      leave()
    }
    if (!this.#running) return
    await this.#stop()
    try {
      await this.#writeCheckpoint(this.group.progress.finalCheckpoint(performance.now()))
    } finally {
      this.#lock.release()
    }
  }

  /** Resumes the group. Returns `false` if it must be loaded again because it was dropped or another process had it. */
  resume(lock: ProcessLock): boolean {
    if (this.#isDropped || lock.epoch !== this.#lock.epoch + 1) return false
    this.#lock = lock
    this.#start()
    this.group.readAhead.wake()
    this.#proceed()
    return true
  }

  #task(body: () => Promise<void>): CoalescedTask {
    return new CoalescedTask(body, (error) => {
      if (error instanceof StoreUnavailableError) return // the next tick tries again; any other error would recur forever
      if (this.#running) this.#options.onFault(error)
      const reason = error instanceof Error ? error.message : String(error)
      void this.drop(
        new ConsumerDroppedError(`group ${this.stored.group} cannot continue: ${reason}`, { cause: error }),
      )
    })
  }

  #start(): void {
    this.#running = new AbortController()
    this.#timer = setInterval(() => this.#tick(), tickMs)
    this.#watching.start()
    this.#reading.start()
    this.#replaying.start()
  }

  async #stop(): Promise<void> {
    this.#running?.abort()
    this.#running = undefined
    clearInterval(this.#timer)
    while (this.#tasks.some((task) => task.isActive)) await Promise.all(this.#tasks.map((task) => task.settled()))
  }

  #tick(): void {
    this.group.tick(performance.now())
    this.#proceed()
    if (!this.#watching.isActive) this.#watching.start() // it failed because the log was unreadable
    this.#replaying.start()
    this.#counting.start()
    this.#options.onTick(this)
  }

  /** Processes the group's outputs after an input. */
  #proceed(): void {
    if (!this.#running) return
    for (const delivered of this.group.dispatch(performance.now())) {
      this.#totalItems += 1
      this.#members.get(delivered.consumer)?.consumer.deliver(delivered)
    }
    const { nextPark, replaysDone, progress } = this.group
    if (nextPark || replaysDone.length > 0 || progress.isCheckpointDue) this.#writing.start()
    this.#reading.start()
    if (this.#replayNext < this.#replayUntil && this.#hasRoomForReplays) this.#replaying.start()
  }

  async #watch(): Promise<void> {
    const signal = this.#running?.signal
    if (!signal) return
    await this.#options.source.listen(() => {
      this.group.readAhead.wake()
      this.#reading.start()
    }, signal)
  }

  async #read(): Promise<void> {
    while (this.#running) {
      const request = this.group.nextRead()
      if (!request) return
      try {
        this.group.addPage(await this.#options.source.read(request.after, request.maxCount))
      } catch (error) {
        this.group.readAhead.readFailed()
        throw error
      }
      this.#proceed()
    }
  }

  /** Writes parked events, finished replays and the checkpoint. After a failure, the next tick continues. */
  async #write(): Promise<void> {
    const { parked, source } = this.#options
    for (let park = this.group.nextPark; park; park = this.group.nextPark) {
      this.#parkId ??= randomUUID()
      await parked.park(source, park, this.#parkId)
      this.#parkId = undefined
      this.group.parkWritten()
      await this.#writeCheckpoint(this.group.progress.dueCheckpoint(performance.now()))
    }
    const { replaysDone } = this.group
    if (replaysDone.length > 0) {
      await parked.replayDone(replaysDone)
      this.group.replaysDoneWritten(replaysDone.length)
    }
    await this.#writeCheckpoint(this.group.progress.dueCheckpoint(performance.now()))
    this.#proceed()
  }

  async #writeCheckpoint(checkpoint: number | undefined): Promise<void> {
    if (checkpoint === undefined) return
    try {
      await writeCheckpoint(this.#options.log, this.stored, checkpoint)
    } catch (error) {
      this.group.progress.failed()
      throw error
    }
    this.group.progress.written()
    this.#countedThrough = Math.max(this.#countedThrough, checkpoint)
  }

  get #hasRoomForReplays(): boolean {
    return this.group.waitingForRetry < replayPageSize
  }

  async #replay(): Promise<void> {
    const { parked, source } = this.#options
    if (this.#replayNext >= this.#replayUntil) {
      await parked.refresh()
      if (parked.requestedUntil > 0) {
        const until = Math.max(this.#replayUntil, parked.requestedUntil)
        await parked.startReplay(until)
        this.#replayUntil = until
      }
    }
    while (this.#running && this.#replayNext < this.#replayUntil && this.#hasRoomForReplays) {
      const range = { from: this.#replayNext, until: this.#replayUntil, maxCount: replayPageSize }
      const { events, next } = await parked.toReplay(source, range)
      this.#replayNext = next
      this.group.replay(events)
      this.#proceed()
    }
  }

  /** Counts the events that did not match, which also make a checkpoint due. */
  async #countUnmatched(): Promise<void> {
    const { source } = this.#options
    const { through } = this.group.progress
    if (!source.countUnmatched || this.#writing.isActive || this.#countedThrough >= through) return
    const { minCheckpointCount } = this.stored.settings
    const maxCount = Math.min(maxCountedPerTick, Math.max(1, minCheckpointCount))
    const { count, seen } = await source.countUnmatched(this.#countedThrough, through, maxCount)
    this.#countedThrough = Math.max(this.#countedThrough, seen)
    this.group.progress.countUnmatched(count)
    this.#proceed()
  }
}
