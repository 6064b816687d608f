import { randomUUID } from 'node:crypto'
import {
  ConsumerDroppedError,
  comparePositions,
  MaximumSubscribersReachedError,
  type NackAction,
  type Position,
  StoreUnavailableError,
  WrongExpectedRevisionError,
} from '../../event-store.js'
import type { ProcessLock } from '../process-lock.js'
import { readCheckpoint, writeCheckpoint } from './checkpoints.js'
import { Consumer, type ConsumerGroup } from './consumer.js'
import { Group, type Park } from './group.js'
import type { GroupLog } from './log.js'
import type { ParkedEvents } from './parked-events.js'
import type { StoredGroup } from './stored-groups.js'
import { Task } from './task.js'

const tickMs = 1_000
const replayPageSize = 100
/** Events looked at in one tick, at most, to learn how many did not match. */
const maxCountedPerTick = 500

/** Runs one group over the log: reads, delivers, ticks, and writes down what must survive. */
export class RunningGroup implements ConsumerGroup {
  readonly #group: Group
  readonly #consumers = new Map<number, Consumer>()
  #joined = 0
  #dropped = false
  #running: AbortController | undefined
  #timer: NodeJS.Timeout | undefined
  #lastConsumerLeftMs: number | undefined

  readonly #watching = this.#task(() => this.#watch())
  readonly #reading = this.#task(() => this.#readOn())
  readonly #parking = this.#task(() => this.#writeParks())
  readonly #checkpointing = this.#task(() => this.#writeCheckpoint())
  readonly #replaying = this.#task(() => this.#replay())
  readonly #finishing = this.#task(() => this.#writeReplaysDone())
  readonly #counting = this.#task(() => this.#countPassed())
  readonly #tasks = [
    this.#watching,
    this.#reading,
    this.#parking,
    this.#checkpointing,
    this.#replaying,
    this.#finishing,
    this.#counting,
  ]

  readonly #parks: { readonly park: Park; readonly id: string }[] = []
  #replaysDone: number[] = []
  #replayNext = 0
  #replayUntil = 0
  /** Up to here it is known how many events did not match. */
  #countedThrough: Position | undefined

  private constructor(
    private readonly log: GroupLog,
    readonly stored: StoredGroup,
    private readonly parked: ParkedEvents,
    private lock: ProcessLock,
    private readonly onTick: (group: RunningGroup) => void,
    checkpoint: Position | undefined,
  ) {
    this.#group = new Group(stored.settings, { after: stored.startAfter, checkpoint })
    this.#countedThrough = this.#group.through
    this.#lastConsumerLeftMs = performance.now()
    this.#start()
  }

  static async load(
    log: GroupLog,
    stored: StoredGroup,
    parked: ParkedEvents,
    lock: ProcessLock,
    onTick: (group: RunningGroup) => void,
  ): Promise<RunningGroup> {
    await parked.refresh()
    // What an earlier holder had begun to replay and did not finish is parked again.
    if (parked.startedUntil > 0 && parked.requestedUntil === 0) await parked.startReplay(0)
    return new RunningGroup(log, stored, parked, lock, onTick, readCheckpoint(log, stored))
  }

  get checkpoint(): Position | undefined {
    return this.#group.checkpoint
  }

  get inFlight(): number {
    return this.#group.inFlight
  }

  get consumers(): number {
    return this.#consumers.size
  }

  get epoch(): number {
    return this.lock.epoch
  }

  get isRunning(): boolean {
    return this.#running !== undefined
  }

  get isDropped(): boolean {
    return this.#dropped
  }

  /** For how long it has had no consumer. */
  idleMs(): number {
    return this.#lastConsumerLeftMs === undefined ? 0 : performance.now() - this.#lastConsumerLeftMs
  }

  join(bufferSize: number): Consumer {
    const { maxSubscriberCount } = this.stored.settings
    if (maxSubscriberCount !== 0 && this.#consumers.size >= maxSubscriberCount) {
      throw new MaximumSubscribersReachedError(`group ${this.stored.group} takes ${maxSubscriberCount} consumers`)
    }
    const consumer = new Consumer(this.#joined, this)
    this.#joined += 1
    this.#consumers.set(consumer.id, consumer)
    this.#lastConsumerLeftMs = undefined
    this.#group.join(consumer.id, bufferSize)
    this.#work()
    return consumer
  }

  leave(consumer: Consumer): void {
    if (!this.#consumers.delete(consumer.id)) return
    this.#group.leave(consumer.id)
    if (this.#consumers.size === 0) this.#lastConsumerLeftMs = performance.now()
    this.#work()
  }

  ack(ackIds: readonly string[]): void {
    if (!this.#running) return
    this.#group.ack(ackIds)
    this.#work()
  }

  nack(action: NackAction, reason: string, ackIds: readonly string[]): void {
    if (!this.#running) return
    this.#group.nack(action, reason, ackIds)
    this.#work()
  }

  /** Looks for replays that were asked for. */
  noticeReplays(): void {
    if (this.#running) this.#replaying.start()
  }

  /** Cuts everybody off, for good. What was not checkpointed comes again when the group is loaded anew. */
  async drop(error: ConsumerDroppedError): Promise<void> {
    if (this.#dropped) return
    this.#dropped = true
    for (const consumer of this.#consumers.values()) consumer.end(error)
    this.#consumers.clear()
    if (!this.#running) return
    await this.#stop()
    this.lock.release()
  }

  /**
   * Gives the group free to other processes, leaving a checkpoint behind whatever the counts, so that as little as
   * possible comes again. {@link resume} goes on if nobody took it meanwhile.
   */
  async suspend(): Promise<void> {
    for (const consumer of [...this.#consumers.values()]) await consumer.close()
    if (!this.#running) return
    await this.#stop()
    const checkpoint = this.#group.lastCheckpoint(performance.now())
    try {
      if (checkpoint) await this.#write(checkpoint)
    } finally {
      this.lock.release()
    }
  }

  resume(lock: ProcessLock): void {
    this.lock = lock
    this.#start()
    this.#group.wake()
    this.#work()
  }

  #task(body: () => Promise<void>): Task {
    return new Task(body, (error) => {
      // The log is away just now, or somebody was quicker: the next tick tries again. All else would fail for ever.
      if (error instanceof StoreUnavailableError || error instanceof WrongExpectedRevisionError) return
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
    this.#group.tick(performance.now())
    this.#work()
    if (!this.#watching.isActive) this.#watching.start() // it broke off: the log could not be read
    this.#replaying.start()
    this.#counting.start()
    this.onTick(this)
  }

  /** Does whatever the group wants done after an input. */
  #work(): void {
    if (!this.#running) return
    for (const { consumer, event, retryCount, ackId } of this.#group.dispatch(performance.now())) {
      this.#consumers.get(consumer)?.push({ event, retryCount, ackId })
    }
    for (const park of this.#group.takeParks()) this.#parks.push({ park, id: randomUUID() })
    if (this.#parks.length > 0) this.#parking.start()
    this.#replaysDone.push(...this.#group.takeReplaysDone())
    if (this.#replaysDone.length > 0) this.#finishing.start()
    if (this.#group.isCheckpointDue) this.#checkpointing.start()
    this.#reading.start()
    if (this.#replayNext < this.#replayUntil && this.#hasRoomForReplays) this.#replaying.start()
  }

  async #watch(): Promise<void> {
    const signal = this.#running?.signal
    let seen: Position | undefined
    while (signal && !signal.aborted) {
      await this.log.waitForCommit(seen, signal)
      seen = this.log.lastPosition()
      this.#group.wake()
      this.#reading.start()
    }
  }

  async #readOn(): Promise<void> {
    const { streamPrefixes } = this.stored.settings
    while (this.#running) {
      const request = this.#group.nextRead()
      if (!request) return
      try {
        const page = await this.log.readAll({
          maxCount: request.maxCount,
          ...(request.after && { after: request.after }),
          ...(streamPrefixes.length > 0 && { streamPrefixes }),
        })
        this.#group.loaded(page)
      } catch (error) {
        this.#group.readFailed()
        throw error
      }
      this.#work()
    }
  }

  async #writeParks(): Promise<void> {
    for (;;) {
      const first = this.#parks[0]
      if (!first) break
      await this.parked.park(first.park, first.id)
      this.#parks.shift()
      this.#group.parked(first.park)
    }
    this.#work()
  }

  async #writeCheckpoint(): Promise<void> {
    const checkpoint = this.#group.checkpointToWrite(performance.now())
    if (!checkpoint) return
    await this.#write(checkpoint)
    this.#countedThrough = later(this.#countedThrough, checkpoint)
    this.#work()
  }

  async #write(checkpoint: Position): Promise<void> {
    try {
      await writeCheckpoint(this.log, this.stored, checkpoint)
    } catch (error) {
      this.#group.checkpointFailed()
      throw error
    }
    this.#group.checkpointWritten()
  }

  get #hasRoomForReplays(): boolean {
    return this.#group.waitingForRetry < replayPageSize
  }

  async #replay(): Promise<void> {
    if (this.#replayNext >= this.#replayUntil) {
      await this.parked.refresh()
      if (this.parked.requestedUntil > 0) {
        const until = Math.max(this.#replayUntil, this.parked.requestedUntil)
        await this.parked.startReplay(until)
        this.#replayUntil = until
      }
    }
    while (this.#running && this.#replayNext < this.#replayUntil && this.#hasRoomForReplays) {
      const { events, next } = await this.parked.toReplay(this.#replayNext, this.#replayUntil, replayPageSize)
      this.#replayNext = next
      this.#group.replay(events)
      this.#work()
    }
  }

  async #writeReplaysDone(): Promise<void> {
    const done = this.#replaysDone
    if (done.length === 0) return
    this.#replaysDone = []
    try {
      await this.parked.replayDone(done)
    } catch (error) {
      this.#replaysDone.unshift(...done) // the next tick writes them
      throw error
    }
  }

  /**
   * Counts what the group passed over, as a checkpoint falls due by that count as well. System events do not count:
   * a checkpoint is one, and would call for the next for ever.
   */
  async #countPassed(): Promise<void> {
    const { streamPrefixes, minCheckpointCount } = this.stored.settings
    const { through } = this.#group
    if (streamPrefixes.length === 0 || !through || this.#checkpointing.isActive) return
    if (this.#countedThrough && comparePositions(this.#countedThrough, through) >= 0) return
    const page = await this.log.readAll({
      maxCount: Math.min(maxCountedPerTick, Math.max(1, minCheckpointCount)),
      ...(this.#countedThrough && { after: this.#countedThrough }),
    })
    const passed = page.events.filter(
      ({ stream, position }) =>
        comparePositions(position, through) <= 0 && !streamPrefixes.some((prefix) => stream.startsWith(prefix)),
    )
    const seen = page.checkpoint && comparePositions(page.checkpoint, through) < 0 ? page.checkpoint : through
    this.#countedThrough = later(this.#countedThrough, seen)
    this.#group.passed(passed.length)
    this.#work()
  }
}

function later(a: Position | undefined, b: Position): Position {
  return a && comparePositions(a, b) > 0 ? a : b
}
