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
} from '../../src/event-log-types.js'

/** What a rule is given: something to assert with, and a group that nobody else knows. */
export type Rule = (t: Test, scene: GroupScene) => Promise<void>

/** Rules by the sentence that states them. */
export interface Rules {
  readonly [sentence: string]: Rule
}

export type Settings = Partial<PersistentSubscriptionSettings>

/** A checkpoint with each ack. */
export const each: Settings = { minCheckpointCount: 1, maxCheckpointCount: 1 }
/** None within a test. */
export const never: Settings = { minCheckpointCount: 1_000, maxCheckpointCount: 1_000 }

export function sleep(ms: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, ms))
}

/** Waits until `look` answers true, at most so long, as a busy machine is slow; then whoever asked finds out by their own comparison. */
export async function until(look: () => Promise<boolean> | boolean, timeoutMs = 30_000): Promise<void> {
  const end = Date.now() + timeoutMs
  while (Date.now() < end && !(await look())) await sleep(10)
}

export function numberOf(delivery: PersistentDelivery): number {
  return delivery.event.data.n as number
}

/** Iterates a consumer and keeps what comes. */
export class Taker {
  readonly got: PersistentDelivery[] = []
  readonly atMs: number[] = []
  ended = false
  error: Error | undefined

  constructor(
    readonly consumer: PersistentConsumer,
    public answer?: (delivery: PersistentDelivery, taker: Taker) => Promise<void>,
  ) {
    void this.#take()
  }

  async #take(): Promise<void> {
    try {
      for await (const delivery of this.consumer) {
        this.got.push(delivery)
        this.atMs.push(Date.now())
        await this.answer?.(delivery, this)
      }
      this.ended = true
    } catch (error) {
      this.error = error as Error
    }
  }

  get numbers(): number[] {
    return this.got.map(numberOf)
  }

  get tries(): [number, number][] {
    return this.got.map((d) => [numberOf(d), d.retryCount])
  }

  async count(count: number, timeoutMs?: number): Promise<this> {
    await until(() => this.got.length >= count || this.error !== undefined, timeoutMs)
    return this
  }

  /** Waits a while in which nothing more should come. */
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
    await this.consumer.ack(...this.got.map((d) => d.ackId))
  }

  #ids(indexes: readonly number[]): string[] {
    return indexes.map((i) => this.got[i]?.ackId ?? `nothing came as ${i}`)
  }
}

export const acking = (delivery: PersistentDelivery, taker: Taker) => taker.consumer.ack(delivery.ackId)

/** A group over streams of its own, in a store that may hold others. */
export class GroupScene {
  #next = 0
  #parked = 0
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

  /** Leaves nothing behind that goes on working; rules that delete a group themselves are done with it. */
  async end(): Promise<void> {
    for (const group of this.#created) await this.groups.delete(group).catch(() => {})
  }

  async update(changes: Settings = {}): Promise<void> {
    await this.groups.update(this.group, this.settings(changes))
  }

  /** Appends numbered events, `count` of them, to one stream or to the streams that `streamOf` tells. */
  async put(count: number, streamOf: (n: number) => string = () => 'a'): Promise<void> {
    for (let i = 0; i < count; i += 1) await this.putTo(`${this.prefix}${streamOf(this.#next)}`)
  }

  async putTo(stream: string): Promise<void> {
    const last = (await this.store.readStream(stream)).at(-1)
    const event = { id: randomUUID(), type: 'T', data: { n: this.#next }, metadata: {} }
    this.#next += 1
    await this.store.append(stream, last ? last.revision : 'no_stream', [event])
  }

  /** As {@link put}, in one append to a stream of its own. */
  async putAtOnce(count: number, stream: string = randomUUID()): Promise<void> {
    const events = Array.from({ length: count }, (_, i) => {
      return { id: randomUUID(), type: 'T', data: { n: this.#next + i }, metadata: {} }
    })
    this.#next += count
    await this.store.append(`${this.prefix}${stream}`, 'no_stream', events)
  }

  /** Appends events that the group does not match. */
  async putOthers(count: number): Promise<void> {
    const event = () => ({ id: randomUUID(), type: 'T', data: {}, metadata: {} })
    await this.store.append(`x${this.prefix}${randomUUID()}`, 'no_stream', Array.from({ length: count }, event))
  }

  async consume(bufferSize = 10, answer?: Taker['answer'], group = this.group): Promise<Taker> {
    const { signal } = new AbortController()
    return new Taker(await this.groups.consume(group, { bufferSize, signal }), answer)
  }

  async inFlight(): Promise<number> {
    return (await this.groups.info(this.group)).inFlight
  }

  async untilInFlight(count: number): Promise<void> {
    await until(async () => (await this.inFlight()) === count)
  }

  async stop(taker: Taker): Promise<void> {
    const before = (await this.groups.info(this.group)).consumers
    await taker.consumer.close()
    await until(async () => (await this.groups.info(this.group)).consumers < before)
  }

  /** How many of the first put events of stream `a` the checkpoint covers; undefined without a checkpoint. */
  async covered(): Promise<number | undefined> {
    const { checkpoint } = await this.groups.info(this.group)
    if (!checkpoint) return undefined
    const events = await this.store.readStream(`${this.prefix}a`)
    return events.filter((event) => comparePositions(event.position, checkpoint) <= 0).length
  }

  /** The same once it is what is expected, or after a while. */
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

  /** Parks one after the other, so that the order is known. */
  async park(taker: Taker, ...indexes: number[]): Promise<void> {
    for (const index of indexes) {
      this.#parked += 1
      await taker.nack('park', index)
      await this.untilParked(this.#parked)
    }
  }

  async replay(stopAt?: number): Promise<void> {
    await this.groups.replayParked(this.group, stopAt === undefined ? {} : { stopAt })
    this.#parked = stopAt === undefined ? 0 : this.#parked
  }
}
