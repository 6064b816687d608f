import { randomUUID } from 'node:crypto'
import type { Test } from 'tap'
import {
  comparePositions,
  defaultPersistentSubscriptionSettings,
  type EventLog,
  type NackAction,
  type ParkedEvent,
  type PersistentConsumer,
  type PersistentDelivery,
  type PersistentSubscriptionSettings,
  type Position,
  type RecordedEvent,
} from '../../src/event-log-types.js'

/** A rule, which receives the test and a group that no other rule uses. */
export type Rule = (t: Test, scene: GroupScene) => Promise<void>

/** The rules by their test titles. */
export interface Rules {
  readonly [sentence: string]: Rule
}

export type Settings = Partial<PersistentSubscriptionSettings>

/** The settings for a checkpoint with each ack. */
export const each: Settings = { minCheckpointCount: 1, maxCheckpointCount: 1 }
/** The settings for no checkpoint within a test. */
export const never: Settings = { minCheckpointCount: 1_000, maxCheckpointCount: 1_000 }

export function sleep(ms: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, ms))
}

/** Waits until `check` returns true, or until the timeout. The caller compares afterwards. */
export async function until(check: () => Promise<boolean> | boolean, timeoutMs = 30_000): Promise<void> {
  const end = Date.now() + timeoutMs
  while (Date.now() < end && !(await check())) await sleep(10)
}

export function numberOf(delivery: PersistentDelivery): number {
  return delivery.event.data.n as number
}

/** Iterates a consumer and keeps its deliveries. */
export class TestConsumer {
  readonly deliveries: PersistentDelivery[] = []
  readonly atMs: number[] = []
  ended = false
  error: Error | undefined

  constructor(
    readonly consumer: PersistentConsumer,
    public onDelivery?: (delivery: PersistentDelivery, client: TestConsumer) => Promise<void>,
  ) {
    void this.#take()
  }

  async #take(): Promise<void> {
    try {
      for await (const delivery of this.consumer) {
        this.deliveries.push(delivery)
        this.atMs.push(Date.now())
        await this.onDelivery?.(delivery, this)
      }
      this.ended = true
    } catch (error) {
      this.error = error as Error
    }
  }

  get numbers(): number[] {
    return this.deliveries.map(numberOf)
  }

  get attempts(): [number, number][] {
    return this.deliveries.map((d) => [numberOf(d), d.retryCount])
  }

  async count(count: number, timeoutMs?: number): Promise<this> {
    await until(() => this.deliveries.length >= count || this.error !== undefined, timeoutMs)
    return this
  }

  /** Waits for a time in which no further delivery is expected. */
  async quiet(ms = 200): Promise<this> {
    await sleep(ms)
    return this
  }

  async ack(...indexes: number[]): Promise<void> {
    await this.consumer.ack(...this.#ids(indexes))
  }

  async nack(action: NackAction, ...indexes: number[]): Promise<void> {
    await this.consumer.nack(action, 'because', ...this.#ids(indexes))
  }

  async ackAll(): Promise<void> {
    await this.consumer.ack(...this.deliveries.map((d) => d.ackId))
  }

  #ids(indexes: readonly number[]): string[] {
    return indexes.map((i) => this.deliveries[i]?.ackId ?? `no delivery ${i}`)
  }
}

export const acking = (delivery: PersistentDelivery, client: TestConsumer) => client.consumer.ack(delivery.ackId)

/** A group with its own streams, in a store that may contain others. */
export class GroupScene {
  #next = 0
  #parked = 0
  #ownEvents: readonly RecordedEvent[] = []
  readonly #created = new Set<string>()

  constructor(
    readonly store: EventLog,
    readonly prefix = `c${randomUUID()}-`,
    readonly group = `g${prefix}`,
  ) {}

  get groups() {
    return this.store.persistentSubscriptions
  }

  settings(changes: Settings = {}): PersistentSubscriptionSettings {
    return { ...defaultPersistentSubscriptionSettings, streamPrefixes: [this.prefix], ...changes }
  }

  async create(changes: Settings = {}, group = this.group): Promise<void> {
    await this.groups.create(group, this.settings(changes))
    this.#created.add(group)
  }

  /** Deletes the groups, so that none keeps running. A rule may have deleted its group already. */
  async end(): Promise<void> {
    for (const group of this.#created) await this.groups.delete(group).catch(() => {})
  }

  async update(changes: Settings = {}): Promise<void> {
    await this.groups.update(this.group, this.settings(changes))
  }

  /** Appends `count` numbered events to one stream, or to the streams that `streamOf` returns. */
  async put(count: number, streamOf: (n: number) => string = () => 'a'): Promise<void> {
    for (let i = 0; i < count; i += 1) await this.putTo(`${this.prefix}${streamOf(this.#next)}`)
  }

  async putTo(stream: string): Promise<void> {
    const last = (await this.store.readStream(stream)).at(-1)
    const event = { id: randomUUID(), type: 'T', data: { n: this.#next }, metadata: {} }
    this.#next += 1
    await this.store.append(stream, last ? last.revision : 'no_stream', [event])
  }

  /** Appends numbered events to a separate stream in a single append. */
  async putInOneAppend(count: number, stream: string = randomUUID()): Promise<void> {
    const events = Array.from({ length: count }, (_, i) => {
      return { id: randomUUID(), type: 'T', data: { n: this.#next + i }, metadata: {} }
    })
    this.#next += count
    await this.store.append(`${this.prefix}${stream}`, 'no_stream', events)
  }

  /**
   * Appends numbered events to stream `a` in a single append, and creates a group that starts with them. Earlier events of the log, and other
   * events between these, would count towards its checkpoint.
   */
  async putAndCreate(count: number, changes: Settings): Promise<void> {
    await this.putInOneAppend(count, 'a')
    await this.create({ ...changes, startFrom: (await this.ownEvents())[0]!.position })
  }

  /** Returns the events of stream `a`. */
  async ownEvents(): Promise<readonly RecordedEvent[]> {
    const known = this.#ownEvents
    const later = await this.store.readStream(`${this.prefix}a`, { fromRevision: known.length, maxCount: 1_000 })
    this.#ownEvents = [...known, ...later.filter(({ revision }) => revision >= known.length)]
    return this.#ownEvents
  }

  /** Appends events that the group does not match, and returns the position of the last one. */
  async putOthers(count: number): Promise<Position> {
    const event = () => ({ id: randomUUID(), type: 'T', data: {}, metadata: {} })
    const events = Array.from({ length: count }, event)
    return (await this.store.append(`x${this.prefix}${randomUUID()}`, 'no_stream', events)).position
  }

  /** Returns the number of events after a position that the group does not match and that can count towards its checkpoint. */
  async othersAfter(after: Position): Promise<number> {
    const { events } = await this.store.readAll({ after, streamPrefixes: ['', '$'], maxCount: 5_000 })
    const isOther = ({ stream }: RecordedEvent) =>
      !stream.startsWith(this.prefix) && !stream.startsWith('$persistentsubscription-$all::')
    return events.filter(isOther).length
  }

  async consume(bufferSize = 10, onDelivery?: TestConsumer['onDelivery'], group = this.group): Promise<TestConsumer> {
    const { signal } = new AbortController()
    return new TestConsumer(await this.groups.consume(group, { bufferSize, signal }), onDelivery)
  }

  async inFlight(): Promise<number> {
    return (await this.groups.info(this.group)).inFlight
  }

  async untilInFlight(count: number): Promise<void> {
    await until(async () => (await this.inFlight()) === count)
  }

  async stop(client: TestConsumer): Promise<void> {
    const before = (await this.groups.info(this.group)).consumers
    await client.consumer.close()
    await until(async () => (await this.groups.info(this.group)).consumers < before)
  }

  /** Returns the number of events of stream `a` that the checkpoint covers, or `undefined` if there is no checkpoint. */
  async covered(): Promise<number | undefined> {
    const { checkpoint } = await this.groups.info(this.group)
    if (!checkpoint) return undefined
    const events = await this.ownEvents()
    return events.filter((event) => comparePositions(event.position, checkpoint) <= 0).length
  }

  /** Waits until the checkpoint covers the expected number, or until a timeout, and returns the actual number. */
  async untilCovered(count: number): Promise<number | undefined> {
    await until(async () => (await this.covered()) === count)
    return this.covered()
  }

  async parkedCount(): Promise<number> {
    return (await this.groups.info(this.group)).parkedCount
  }

  async untilParked(count: number): Promise<number> {
    await until(async () => (await this.parkedCount()) === count)
    return this.parkedCount()
  }

  async parked(): Promise<readonly ParkedEvent[]> {
    return this.groups.listParked(this.group, { maxCount: 100 })
  }

  /** Parks events one at a time, so that their order is defined. */
  async park(client: TestConsumer, ...indexes: number[]): Promise<void> {
    for (const index of indexes) {
      this.#parked += 1
      await client.nack('park', index)
      await this.untilParked(this.#parked)
    }
  }

  async replay(stopAt?: number): Promise<void> {
    await this.groups.replayParked(this.group, stopAt === undefined ? {} : { stopAt })
    this.#parked = stopAt === undefined ? 0 : this.#parked
  }
}
