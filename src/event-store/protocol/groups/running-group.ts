import { randomUUID } from 'node:crypto'
import { Task } from '../../embedded/persistent/task.js'
import { tombstoneRevision } from '../../embedded/streams/stream-metadata.js'
import { asFollowed, type StoredEvent, type StreamView } from '../../embedded/streams/stream-reader.js'
import type { StreamStore } from '../../embedded/streams/stream-store.js'
import { matcherOf } from '../event-filter.js'
import { resolve } from '../recorded-event.js'
import { positionAtOrBehind, positionText } from '../wire.js'
import { checkpointStream, type GroupDefinition, parkedStream, wholeLog } from './group-settings.js'
import { type Entry, type GroupMember, GroupState, type Park } from './group-state.js'
import { ParkedStream } from './parked-stream.js'

const tickMs = 1_000
/** What the real server reads when a group's readBatchSize makes no sense. */
const fallbackBatchSize = 20
/** Events looked at in one go. */
const scanEvents = 500
const replaysQueued = 1_000
/** Written by groups of the whole log; another such group is never given them. */
const ownStreams = `$persistentsubscription-${wholeLog}::`

export type NackAction = 'retry' | 'park' | 'skip'

/** Runs a group over the log: reads, delivers, and writes down what must survive. */
export class RunningGroup {
  readonly state: GroupState
  readonly #parked: ParkedStream
  readonly #isOfAll: boolean
  readonly #matches: ((event: StoredEvent) => boolean) | undefined
  readonly #stopping = new AbortController()
  readonly #reading: Task
  readonly #parking: Task
  readonly #checkpointing: Task
  readonly #replaying: Task
  #stopListening: (() => void) | undefined
  #timer: NodeJS.Timeout | undefined
  #parks: Park[] = []
  /** Revision or position to be read next. */
  #next: number
  #isCaughtUp = false
  /** The stream was tombstoned before the group was loaded: it will never have anything to give. */
  #isDead = false
  #checkpoint: number | undefined
  #checkpointSequence = 0
  #checkpointedAtMs: number | undefined
  #replayNext = 0
  #replayUntil = 0
  /** Replayed events nobody was given yet. */
  readonly #undelivered = new Set<Entry['parkedRevision']>()

  constructor(
    private readonly store: StreamStore,
    readonly definition: GroupDefinition,
    onFault: (error: unknown) => void,
  ) {
    const { source, filter, settings } = definition
    const failed = (error: unknown) => {
      // The log is away just now: the next tick tries again.
      if (!this.#stopping.signal.aborted) onFault(error)
    }
    this.#isOfAll = source === wholeLog
    this.#matches = filter && matcherOf(filter)
    this.#parked = new ParkedStream(store, parkedStream(definition))
    this.#checkpoint = this.#readCheckpoint()
    this.#next = this.#checkpoint === undefined ? this.#startPlace() : this.#checkpoint + 1
    this.state = new GroupState(settings, this.#checkpoint)
    this.#isDead = !this.#isOfAll && store.reader.view(source).isTombstoned
    this.#reading = new Task(() => this.#read(), failed)
    this.#parking = new Task(() => this.#writeParks(), failed)
    this.#checkpointing = new Task(() => this.#writeCheckpoint(), failed)
    this.#replaying = new Task(() => this.#replayOn(), failed)
  }

  start(): void {
    const { source } = this.definition
    if (this.#isOfAll) void this.#watch()
    else this.#stopListening = this.store.activity.listen(source, () => this.#reading.start())
    this.#timer = setInterval(() => this.#tick(), tickMs)
    const interrupted = this.#parked.interrupted
    if (interrupted) {
      this.#replayNext = interrupted.from
      this.#replayUntil = interrupted.until
      this.#replaying.start()
    }
    this.#reading.start()
  }

  /** Drops the consumers; what was not checkpointed comes again when the group is loaded anew. */
  async stop(): Promise<void> {
    this.#stopping.abort()
    this.#stopListening?.()
    clearInterval(this.#timer)
    for (const member of [...this.state.members]) member.drop()
    await Promise.all(
      [this.#reading, this.#parking, this.#checkpointing, this.#replaying].map((task) => task.settled()),
    )
  }

  get status(): string {
    return this.#isCaughtUp ? 'Live' : 'Behind'
  }

  get checkpoint(): number | undefined {
    return this.#checkpoint
  }

  get parkedCount(): number {
    return Math.max(0, this.#parked.range.until - Math.max(this.#parked.range.from, this.#replayUntil))
  }

  get isFull(): boolean {
    const { maxSubscriberCount } = this.definition.settings
    return maxSubscriberCount !== 0 && this.state.members.length >= maxSubscriberCount
  }

  join(member: GroupMember): void {
    if (this.#isDead) {
      member.drop()
      return
    }
    this.state.join(member)
    this.#work()
  }

  leave(member: GroupMember): void {
    this.state.leave(member)
    this.#work()
  }

  ack(ids: readonly string[]): void {
    this.state.ack(ids)
    this.#work()
  }

  nack(action: NackAction, reason: string, ids: readonly string[]): void {
    switch (action) {
      case 'retry':
        this.state.retry(ids)
        break
      case 'park':
        this.state.park(ids, `Client explicitly NAK'ed message.\n${reason}`)
        break
      case 'skip':
        this.state.ack(ids)
        break
      default:
        action satisfies never
    }
    this.#work()
  }

  /** A replayed event was given to somebody. */
  delivered({ parkedRevision }: Entry): void {
    if (parkedRevision === undefined || !this.#undelivered.delete(parkedRevision)) return
    if (this.#undelivered.size === 0 && this.#replayNext >= this.#replayUntil) this.#replaying.start()
  }

  /** Delivers parked events again, before a parked revision or all there are. Resolves when they count as replayed. */
  async replay(stopAt: number | undefined): Promise<void> {
    const { from, until } = this.#parked.range
    const end = Math.min(stopAt ?? until, until)
    const begin = Math.max(from, this.#replayUntil)
    if (end <= begin) return
    const replayedFrom = this.#undelivered.size > 0 || this.#replayNext < this.#replayUntil ? this.#replayNext : begin
    if (this.#replayNext >= this.#replayUntil) this.#replayNext = begin
    this.#replayUntil = end
    await this.#parked.truncate(end, replayedFrom)
    this.#replaying.start()
  }

  #work(): void {
    if (this.#stopping.signal.aborted) return
    this.state.dispatch(performance.now())
    this.#parks.push(...this.state.takeParks())
    if (this.#parks.length > 0) this.#parking.start()
    if (this.#isCountReached()) this.#checkpointing.start()
    this.#reading.start()
    if (this.#replayNext < this.#replayUntil) this.#replaying.start()
  }

  #tick(): void {
    this.state.expire(performance.now())
    if (this.#isTimeReached()) this.#checkpointing.start()
    this.#work()
  }

  async #watch(): Promise<void> {
    const { signal } = this.#stopping
    while (!signal.aborted) {
      try {
        await this.store.waitForCommit(this.#next - 1, signal)
        this.#reading.start()
        await this.#reading.settled()
        // With a full buffer there is always something behind it.
        if (!this.#isCaughtUp) await new Promise((resolve) => setTimeout(resolve, 50))
      } catch {
        await new Promise((resolve) => setTimeout(resolve, tickMs))
      }
    }
  }

  async #read(): Promise<void> {
    const { historyBufferSize, readBatchSize } = this.definition.settings
    const capacity = Math.max(1, historyBufferSize)
    const batch = readBatchSize > 0 ? readBatchSize : fallbackBatchSize
    while (!this.#stopping.signal.aborted) {
      const room = capacity - this.state.buffered
      if (room <= 0) {
        this.#isCaughtUp = false
        return
      }
      const more = this.#isOfAll ? this.#readAll(room) : this.#readStream(Math.min(batch, room))
      this.state.dispatch(performance.now())
      this.#parks.push(...this.state.takeParks())
      if (this.#isCountReached()) this.#checkpointing.start()
      if (!more) {
        this.#isCaughtUp = true
        return
      }
      await new Promise(setImmediate)
    }
  }

  /** False when the end was reached. */
  #readStream(maxCount: number): boolean {
    const { reader } = this.store
    const { source } = this.definition
    const view = reader.view(source)
    if (this.#isDead) return false
    if (view.isTombstoned) {
      const end = this.#next === tombstoneRevision + 1 ? undefined : reader.tombstone(source)
      this.#next = tombstoneRevision + 1
      if (end) this.state.add({ event: end }, tombstoneRevision)
      return false
    }
    if (view.isMissing) return this.#reachedEnd(view)
    const events = reader.streamPage(this.#isCaughtUp ? asFollowed(view) : view, 'forwards', this.#next, maxCount)
    for (const event of events) {
      this.state.add(this.#resolved(event), event.revision)
      this.#next = event.revision + 1
    }
    // A page may end before it is full, by its bytes.
    return events.length > 0 ? this.#next <= view.current : this.#reachedEnd(view)
  }

  /** What is hidden now stays so; what comes is followed. */
  #reachedEnd({ current }: StreamView): false {
    this.#next = Math.max(this.#next, current + 1)
    return false
  }

  #readAll(room: number): boolean {
    const events = this.store.reader.allPage('forwards', this.#next, scanEvents)
    let taken = 0
    for (const event of events) {
      const isOwn = event.stream.startsWith(ownStreams) || event.stream.startsWith(`$$${ownStreams}`)
      if (isOwn || (this.#matches !== undefined && !this.#matches(event))) {
        this.state.pass(event.position, !isOwn)
      } else {
        if (taken === room) return true
        this.state.add(this.#resolved(event), event.position)
        taken += 1
      }
      this.#next = event.position + 1
    }
    return events.length > 0
  }

  #resolved(event: StoredEvent) {
    return this.definition.settings.resolveLinks ? resolve(event, this.store.reader) : { event }
  }

  async #writeParks(): Promise<void> {
    for (;;) {
      const first = this.#parks[0]
      if (first === undefined) break
      await this.#parked.add(first.entry.resolved, first.reason)
      this.#parks.shift()
      this.state.finish(first.entry)
    }
    this.#work()
  }

  async #replayOn(): Promise<void> {
    if (this.#replayNext < this.#replayUntil) {
      for (const { resolved, revision } of this.#parked.between(this.#replayNext, this.#replayUntil)) {
        if (this.state.waitingForRetry >= replaysQueued) return
        this.#undelivered.add(revision)
        this.state.replay(resolved, revision)
        this.#replayNext = revision + 1
      }
      this.#replayNext = this.#replayUntil
      this.state.dispatch(performance.now())
    }
    // All of it was given to somebody: from now on it is theirs.
    if (this.#undelivered.size === 0 && this.#parked.interrupted)
      await this.#parked.truncate(this.#replayUntil, undefined)
  }

  #isCountReached(): boolean {
    return this.#doneCount() >= Math.max(1, this.definition.settings.maxCheckpointCount)
  }

  #isTimeReached(): boolean {
    const { minCheckpointCount, checkpointAfterMs } = this.definition.settings
    if (checkpointAfterMs <= 0 || this.#doneCount() < Math.max(1, minCheckpointCount)) return false
    return this.#checkpointedAtMs === undefined || performance.now() - this.#checkpointedAtMs >= checkpointAfterMs
  }

  /** Looked at and done with since the last checkpoint. */
  #doneCount(): number {
    return this.state.place.sequence - this.#checkpointSequence
  }

  async #writeCheckpoint(): Promise<void> {
    const { at, sequence } = this.state.place
    if (at === undefined || (this.#checkpoint !== undefined && at <= this.#checkpoint)) return
    const text = this.#isOfAll ? `C:${positionText(at)}/P:${positionText(at)}` : `${at}`
    const event = {
      id: randomUUID(),
      type: 'SubscriptionCheckpoint',
      isJson: true,
      data: Buffer.from(JSON.stringify(text)),
      metadata: new Uint8Array(0),
    }
    await this.store.append(checkpointStream(this.definition), 'any', [event])
    this.#checkpoint = at
    this.#checkpointSequence = sequence
    this.#checkpointedAtMs = performance.now()
    if (this.#isCountReached()) this.#checkpointing.start()
  }

  #readCheckpoint(): number | undefined {
    const { reader } = this.store
    const stream = checkpointStream(this.definition)
    const last = reader.view(stream).isMissing ? undefined : reader.last(stream)
    if (last === undefined) return undefined
    // JSON text of a text: not an object.
    const [, commit, revision] = /^"(?:C:(\d+)\/P:\d+|(\d+))"$/.exec(Buffer.from(last.data).toString()) ?? []
    if (this.#isOfAll) return commit === undefined ? undefined : positionAtOrBehind(commit)
    return revision === undefined ? undefined : Number(revision)
  }

  /** Inclusive. */
  #startPlace(): number {
    const { source, settings } = this.definition
    switch (settings.startFrom) {
      case 'start':
        return this.#isOfAll ? 1 : 0
      case 'end':
        return (this.#isOfAll ? this.store.reader.lastPosition() : this.store.reader.view(source).current) + 1
      default:
        return this.#isOfAll
          ? Math.max(1, positionAtOrBehind(settings.startFrom.split('/')[0] ?? '0'))
          : Number(settings.startFrom)
    }
  }
}
