import { randomUUID } from 'node:crypto'
import {
  ConsumerDroppedError,
  MaximumSubscribersReachedError,
  type NackAction,
  StoreUnavailableError,
} from '../event-log-types.js'
import { Task } from './coalesced-task.js'
import { type Delivered, Group } from './group.js'
import { readCheckpoint, writeCheckpoint } from './group-checkpoints.js'
import { placeBefore, type StoredGroup } from './group-definition.js'
import type { GroupLog } from './group-log.js'
import { rulesOf } from './group-rules.js'
import type { GroupSource } from './group-source.js'
import type { ParkedEvents } from './parked-events.js'

const tickMs = 1_000
const replayPageSize = 100
/** Events looked at in one tick, at most, to learn how many did not match. */
const maxCountedPerTick = 500

/** Who consumes a group. */
export interface GroupConsumer<E> {
  readonly bufferSize: number
  /** Before anything is delivered. */
  joined(membership: Membership<E>): void
  /** Never more of them in flight than `bufferSize`. */
  deliver(delivered: Delivered<E>): void
  /** Nothing more will come. */
  end(error?: ConsumerDroppedError): void
}

/** A consumer's place in its group. */
export interface Membership<E> {
  readonly consumer: GroupConsumer<E>
  readonly inFlight: number
  ack(ackIds: readonly string[]): void
  nack(action: NackAction, reason: string, ackIds: readonly string[]): void
  leave(): void
}

/** What keeps a group from others; {@link ProcessLock}, unless all groups of its kind are kept together. */
interface Hold {
  readonly epoch: number
  release(): void
}

export interface GroupParts<E> {
  readonly log: GroupLog
  readonly stored: StoredGroup
  readonly source: GroupSource<E>
  readonly parked: ParkedEvents
  readonly hold: Hold
  readonly onTick: (group: RunningGroup<E>) => void
  readonly onFault: (error: unknown) => void
}

/** Runs one group over the log: reads, delivers, ticks, and writes down what must survive. */
export class RunningGroup<E> {
  readonly stored: StoredGroup
  readonly #parts: GroupParts<E>
  /** How it stands; its inputs are this class's. */
  readonly group: Group<E>
  readonly #members = new Map<number, Membership<E>>()
  #hold: Hold
  #joined = 0
  #totalItems = 0
  #dropped = false
  #running: AbortController | undefined
  #timer: NodeJS.Timeout | undefined
  #idleSinceMs: number | undefined = performance.now()

  readonly #watching = this.#task(() => this.#watch())
  readonly #reading = this.#task(() => this.#readOn())
  readonly #writing = this.#task(() => this.#write())
  readonly #replaying = this.#task(() => this.#replay())
  readonly #counting = this.#task(() => this.#countUnmatched())
  readonly #tasks = [this.#watching, this.#reading, this.#writing, this.#replaying, this.#counting]

  /** Of the park that is being written; the same again after a failure, as it may have been written. */
  #parkId: string | undefined
  #replayNext = 0
  #replayUntil = 0
  /** Up to here it is known how many events did not match. */
  #countedThrough: number

  private constructor(parts: GroupParts<E>) {
    const { log, stored, parked, hold } = parts
    const rules = rulesOf(stored)
    this.#parts = parts
    this.stored = stored
    this.#hold = hold
    this.group = new Group(stored.settings, rules, {
      after: stored.startAfter ?? placeBefore(stored, log.reader),
      checkpoint: readCheckpoint(log, stored),
    })
    if (rules.resumesReplays) this.#replayUntil = parked.startedUntil
    this.#countedThrough = this.group.progress.through
    this.#start()
  }

  static async load<E>(parts: GroupParts<E>): Promise<RunningGroup<E>> {
    const { parked, stored } = parts
    await parked.refresh()
    const isInterrupted = parked.startedUntil > 0 && parked.requestedUntil === 0
    if (isInterrupted && !rulesOf(stored).resumesReplays) await parked.startReplay(0)
    return new RunningGroup(parts)
  }

  get members(): readonly Membership<E>[] {
    return [...this.#members.values()]
  }

  /** Delivered since it was loaded. */
  get totalItems(): number {
    return this.#totalItems
  }

  get isRunning(): boolean {
    return this.#running !== undefined
  }

  /** For how long it has had no consumer. */
  get idleMs(): number {
    return this.#idleSinceMs === undefined ? 0 : performance.now() - this.#idleSinceMs
  }

  /** @throws MaximumSubscribersReachedError */
  join(consumer: GroupConsumer<E>): void {
    const { maxSubscriberCount } = this.stored.settings
    if (maxSubscriberCount !== 0 && this.#members.size >= maxSubscriberCount) {
      throw new MaximumSubscribersReachedError(`group ${this.stored.group} takes ${maxSubscriberCount} consumers`)
    }
    this.#joined += 1
    const id = this.#joined
    const membership = this.#membership(id, consumer)
    if (this.#parts.source.isOver) {
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
      ack: (ackIds) => this.#answered(() => group.ack(ackIds)),
      nack: (action, reason, ackIds) => this.#answered(() => group.nack(action, reason, ackIds)),
      leave: () => this.#leave(id),
    }
  }

  #answered(answer: () => void): void {
    if (!this.#running) return
    answer()
    this.#proceed()
  }

  #leave(id: number): void {
    if (!this.#members.delete(id)) return
    this.group.leave(id)
    if (this.#members.size === 0) this.#idleSinceMs = performance.now()
    this.#proceed()
  }

  /** Looks for replays that were asked for; until they are queued, as far as there is room. */
  async noticeReplays(): Promise<void> {
    if (!this.#running) return
    this.#replaying.start()
    await this.#replaying.settled()
  }

  /** Cuts everybody off, for good. What was not checkpointed comes again when the group is loaded anew. */
  async drop(error: ConsumerDroppedError): Promise<void> {
    if (this.#dropped) return
    this.#dropped = true
    for (const { consumer } of this.#members.values()) consumer.end(error)
    this.#members.clear()
    if (!this.#running) return
    await this.#stop()
    this.#hold.release()
  }

  /**
   * Releases the group to other processes, leaving a checkpoint behind whatever the counts, so that as little as
   * possible comes again. {@link resume} goes on if nobody took it meanwhile.
   */
  async suspend(): Promise<void> {
    for (const { consumer, leave } of this.members) {
      consumer.end()
      leave()
    }
    if (!this.#running) return
    await this.#stop()
    try {
      await this.#writeCheckpoint(this.group.progress.lastCheckpoint(performance.now()))
    } finally {
      this.#hold.release()
    }
  }

  /** False where it must be loaded anew: it was dropped, or somebody had it in between. */
  resume(hold: Hold): boolean {
    if (this.#dropped || hold.epoch !== this.#hold.epoch + 1) return false
    this.#hold = hold
    this.#start()
    this.group.readAhead.wake()
    this.#proceed()
    return true
  }

  #task(body: () => Promise<void>): Task {
    return new Task(body, (error) => {
      if (error instanceof StoreUnavailableError) return // the next tick tries again; all else would fail for ever
      if (this.#running) this.#parts.onFault(error)
      const reason = error instanceof Error ? error.message : String(error)
      void this.drop(new ConsumerDroppedError(`group ${this.stored.group} cannot go on: ${reason}`, { cause: error }))
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
    if (!this.#watching.isActive) this.#watching.start() // it broke off: the log could not be read
    this.#replaying.start()
    this.#counting.start()
    this.#parts.onTick(this)
  }

  /** Does what the group wants done after an input. */
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
    await this.#parts.source.listen(() => {
      this.group.readAhead.wake()
      this.#reading.start()
    }, signal)
  }

  async #readOn(): Promise<void> {
    while (this.#running) {
      const request = this.group.nextRead()
      if (!request) return
      try {
        this.group.loaded(await this.#parts.source.read(request.after, request.maxCount))
      } catch (error) {
        this.group.readAhead.failed()
        throw error
      }
      this.#proceed()
    }
  }

  /** What could not be written stays with the group: the next tick goes on with it. */
  async #write(): Promise<void> {
    const { parked, source } = this.#parts
    for (let park = this.group.nextPark; park; park = this.group.nextPark) {
      this.#parkId ??= randomUUID()
      await parked.park(source, park, this.#parkId)
      this.#parkId = undefined
      this.group.parked()
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
      await writeCheckpoint(this.#parts.log, this.stored, checkpoint)
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
    const { parked, source } = this.#parts
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

  /** A checkpoint falls due by the count of what did not match as well. */
  async #countUnmatched(): Promise<void> {
    const { source } = this.#parts
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
