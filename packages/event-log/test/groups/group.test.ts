import fc from 'fast-check'
import t from 'tap'
import { defaultPersistentSubscriptionSettings } from '../../src/event-log-types.js'
import { Group, type Delivered as OfGroup } from '../../src/groups/group.js'
import type { Creator, GroupSettings } from '../../src/groups/group-definition.js'
import { rulesOf } from '../../src/groups/group-rules.js'
import type { Item } from '../../src/groups/group-source.js'

interface TestEvent {
  readonly id: string
  readonly stream: string
}

type Delivered = OfGroup<TestEvent>

const { streamPrefixes: _, consumerStrategy: __, startFrom: ___, ...defaults } = defaultPersistentSubscriptionSettings
const settingsOf = (changes: Partial<GroupSettings>): GroupSettings => ({
  ...defaults,
  startFrom: 'start',
  resolveLinks: false,
  extraStatistics: false,
  strategy: 'RoundRobin',
  ...changes,
})

const positionOf = (n: number) => n + 1

/** Returns event number n, with its number as its id. */
function itemOf(n: number, stream = 's'): Item<TestEvent> {
  return { event: { id: `${n}`, stream }, id: `${n}`, position: positionOf(n), lane: stream, size: 0 }
}

/** A group with its log and its outputs. */
class Scene {
  readonly group: Group<TestEvent>
  readonly log: Item<TestEvent>[] = []
  readonly delivered: Delivered[] = []
  readonly parked: [string, string][] = []
  readonly checkpoints: number[] = []
  nowMs = 0
  #seen = 0

  constructor(changes: Partial<GroupSettings> = {}, checkpoint?: number, madeBy: Creator = 'service') {
    this.group = new Group(settingsOf(changes), rulesOf({ madeBy }), { after: 0, checkpoint })
  }

  given(count: number, streamOf: (n: number) => string = () => 's'): this {
    for (let i = 0; i < count; i += 1) this.log.push(itemOf(this.log.length, streamOf(this.log.length)))
    this.group.readAhead.wake()
    return this.settle()
  }

  join(consumer: number, bufferSize = 10): this {
    this.group.join(consumer, bufferSize)
    return this.settle()
  }

  leave(consumer: number): this {
    this.group.leave(consumer)
    return this.settle()
  }

  ack(...ids: number[]): this {
    this.group.ack(ids.map(String))
    return this.settle()
  }

  nack(action: Parameters<Group<TestEvent>['nack']>[0], ...ids: number[]): this {
    this.group.nack(action, 'because', ids.map(String))
    return this.settle()
  }

  tick(afterMs = 1_000): this {
    this.nowMs += afterMs
    this.group.tick(this.nowMs)
    return this.settle()
  }

  replay(...parked: [parkedRevision: number, n: number][]): this {
    this.group.replay(
      parked.map(([parkedRevision, n]) => ({
        event: itemOf(n).event,
        lane: 's',
        parkedRevision,
        parkedId: `${1_000 + parkedRevision}`,
      })),
    )
    return this.settle()
  }

  settle(): this {
    for (;;) {
      this.delivered.push(...this.group.dispatch(this.nowMs))
      for (let park = this.group.nextPark; park; park = this.group.nextPark) {
        this.parked.push([park.event.id, park.reason])
        this.group.parkWritten()
      }
      const checkpoint = this.group.progress.dueCheckpoint(this.nowMs)
      if (checkpoint !== undefined) {
        this.checkpoints.push(checkpoint - 1)
        this.group.progress.written()
      }
      const request = this.group.nextRead()
      if (!request) return this
      const { after: from } = request
      const items = this.log.slice(from, from + request.maxCount)
      const through = items.at(-1)?.position ?? from
      this.group.addPage({ items, through, unmatched: 0, atEnd: from + items.length >= this.log.length })
    }
  }

  /** Returns the deliveries since the last call, as [event, retryCount]. */
  received(consumer?: number): [number, number][] {
    const some = this.delivered.slice(this.#seen).filter((d) => consumer === undefined || d.consumer === consumer)
    if (consumer === undefined) this.#seen = this.delivered.length
    return some.map((d) => [Number(d.event.id), d.retryCount])
  }

  forget(): this {
    this.#seen = this.delivered.length
    return this
  }
}

const first = (...ids: number[]) => ids.map((n) => [n, 0])
const numbers = (list: [number, number][]) => list.map(([n]) => n)

t.test('delivery', async (t) => {
  t.test('is in order and never exceeds the buffer of a consumer', async (t) => {
    const scene = new Scene().given(30).join(1, 5)
    t.same(scene.received(), first(0, 1, 2, 3, 4))
    t.same(scene.ack(1, 3).received(), first(5, 6), 'each ack frees a slot')
  })

  t.test('does not wait for an ack if the consumer accepts more events than the group buffers', async (t) => {
    const scene = new Scene({ historyBufferSize: 10, readBatchSize: 5, liveBufferSize: 10 }).given(100).join(1, 64)
    t.equal(scene.received().length, 64)
  })

  t.test('limits the buffered events without consumers and loses none', async (t) => {
    const scene = new Scene({ historyBufferSize: 20, readBatchSize: 10, liveBufferSize: 10 })
    for (let i = 0; i < 15; i += 1) scene.given(20)
    t.equal(scene.group.progress.through, 20, 'read 20 of 300')
    scene.join(1, 5)
    const seen: number[] = []
    for (let list = scene.received(); list.length > 0; list = scene.received()) {
      seen.push(...numbers(list))
      scene.ack(...numbers(list))
    }
    t.same(
      seen,
      Array.from({ length: 300 }, (_, i) => i),
    )
  })

  t.test('works with buffers and batches of 0', async (t) => {
    const scene = new Scene({ liveBufferSize: 0, readBatchSize: 0 }).given(3).join(1)
    t.same(scene.received(), first(0, 1, 2))
    t.same(scene.given(2).received(), first(3, 4))
  })

  t.test('delivers nothing to a consumer with a buffer of 0', async (t) => {
    t.same(new Scene().given(3).join(1, 0).received(), [])
  })

  t.test('distinguishes two events with the same id', async (t) => {
    const scene = new Scene({ minCheckpointCount: 1, maxCheckpointCount: 1 })
    scene.log.push(itemOf(0), { ...itemOf(1, 'other'), id: '0' })
    scene.join(1)
    t.equal(scene.delivered.length, 2)
    scene.group.ack([scene.delivered[1]?.ackId ?? ''])
    t.same(scene.settle().checkpoints, [], 'the first event is not acknowledged')
    t.same(scene.ack(0).checkpoints, [1])
  })

  t.test('acknowledges one of two events with the same id for each ack of a protocol client', async (t) => {
    const scene = new Scene({ minCheckpointCount: 1, maxCheckpointCount: 1 }, undefined, 'protocol')
    scene.log.push(itemOf(0), { ...itemOf(1, 'other'), id: '0' })
    scene.join(1)
    t.equal(scene.ack(0).group.inFlight, 1)
    t.equal(scene.ack(0).group.inFlight, 0)
    t.same(scene.checkpoints, [0, 1])
  })
})

t.test('acks', async (t) => {
  t.test('of unknown, repeated and premature ids do nothing', async (t) => {
    const scene = new Scene().given(4).join(1, 2).forget()
    t.same(scene.ack(77).ack(3).received(), [])
    t.same(scene.ack(0).ack(0).ack(0, 0).received(), first(2))
    t.same(scene.ack(1, 2).received(), [[3, 0]], 'an event that was acked before its delivery is delivered')
  })

  t.test('apply to the whole group, regardless of the consumer that sends them', async (t) => {
    const scene = new Scene().given(1).join(1).join(2).forget().ack(0)
    t.equal(scene.group.inFlight, 0)
    t.same(scene.leave(1).received(), [])
  })

  t.test('after a timeout acknowledge the redelivery', async (t) => {
    const scene = new Scene({ messageTimeoutMs: 1_000 }).given(1).join(1).tick().ack(0).tick().tick()
    t.same(scene.received(), [
      [0, 0],
      [0, 1],
    ])
  })
})

t.test('retries', async (t) => {
  t.test('are delivered immediately, in order, before buffered events', async (t) => {
    const scene = new Scene().given(8).join(1, 4).forget()
    t.same(scene.nack('retry', 3, 0, 2).received(), [
      [0, 1],
      [2, 1],
      [3, 1],
    ])
    t.same(scene.nack('retry', 1).received(), [[1, 1]])
  })

  t.test('park the event after maxRetryCount redeliveries', async (t) => {
    const scene = new Scene({ maxRetryCount: 2 }).given(1).join(1)
    scene.nack('retry', 0).nack('retry', 0).nack('retry', 0)
    t.same(scene.received(), [
      [0, 0],
      [0, 1],
      [0, 2],
    ])
    t.same(scene.parked, [['0', 'Reached retry count of 2']])
  })

  t.test('measure the timeout from the delivery, not while the event is buffered', async (t) => {
    const scene = new Scene({ messageTimeoutMs: 1_500, maxRetryCount: 0 }).given(2).tick().tick().tick().join(1, 1)
    t.same(scene.tick().parked, [])
    t.same(scene.tick().parked, [['0', 'Reached retry count of 0']])
    t.same(scene.received(), first(0, 1))
  })

  t.test('with a timeout of 0 are delivered at the next tick', async (t) => {
    const scene = new Scene({ messageTimeoutMs: 0 }).given(1).join(1).tick().tick()
    t.same(scene.received(), [
      [0, 0],
      [0, 1],
      [0, 2],
    ])
  })

  t.test('after a disconnect count but never park; the next retry parks', async (t) => {
    const scene = new Scene({ maxRetryCount: 1 }).given(2).join(1).leave(1).join(2).leave(2).join(3)
    t.same(scene.received(3), [
      [0, 2],
      [1, 2],
    ])
    t.same(scene.parked, [])
    scene.nack('retry', 0)
    t.same(scene.parked, [['0', 'Reached retry count of 1']])
  })

  t.test('of a consumer that left are delivered before new events', async (t) => {
    const scene = new Scene().given(20).join(1, 4).leave(1).forget().join(2, 2)
    t.same(scene.received(), [
      [0, 1],
      [1, 1],
    ])
    t.same(scene.ack(0, 1).ack(2, 3).received(), [
      [2, 1],
      [3, 1],
      [4, 0],
      [5, 0],
    ])
  })
})

t.test('nack', async (t) => {
  t.test('park parks in the given order with the reason and frees the slots', async (t) => {
    const scene = new Scene().given(5).join(1, 3).forget().nack('park', 2, 1)
    t.same(scene.parked, [
      ['2', "Client explicitly NAK'ed message.\nbecause"],
      ['1', "Client explicitly NAK'ed message.\nbecause"],
    ])
    t.same(scene.received(), first(3, 4))
    t.same(scene.nack('park', 2).ack(2).parked.length, 2, 'the parked event is no longer in flight')
  })

  t.test('skip is an ack', async (t) => {
    const scene = new Scene({ minCheckpointCount: 1, maxCheckpointCount: 1 }).given(2).join(1)
    t.same(scene.nack('skip', 0).nack('skip', 1).checkpoints, [0, 1])
    t.same(scene.parked, [])
  })

  t.test('park holds back the checkpoint until the parked event is durable', async (t) => {
    const scene = new Scene({ minCheckpointCount: 1, maxCheckpointCount: 1 }).given(2).join(1)
    const { group } = scene
    group.nack('park', '', ['0'])
    t.equal(group.nextPark?.event.id, '0')
    group.ack(['1'])
    t.equal(group.progress.dueCheckpoint(0), undefined)
    group.parkWritten()
    t.same(scene.settle().checkpoints, [1])
  })

  t.test('park stops deliveries while the parked stream cannot be written', async (t) => {
    const settings = settingsOf({ historyBufferSize: 10_000, readBatchSize: 5_000 })
    const group = new Group<TestEvent>(settings, rulesOf({ madeBy: 'service' }), { after: 0, checkpoint: undefined })
    group.join(1, 1_000)
    group.addPage({
      items: Array.from({ length: 3_000 }, (_, i) => itemOf(i)),
      through: 3_000,
      unmatched: 0,
      atEnd: true,
    })
    const ids = group.dispatch(0).map((d) => d.ackId)
    group.nack('park', '', ids)
    t.equal(ids.length, 1_000)
    t.same(group.dispatch(0), [])
    while (group.nextPark) group.parkWritten()
    t.equal(group.dispatch(0).length, 1_000)
  })
})

t.test('replays', async (t) => {
  t.test('are delivered in parked order, after retries and before buffered events, with retryCount 0', async (t) => {
    const scene = new Scene().given(6).join(1, 1).nack('park', 0).nack('park', 1).forget()
    scene.replay([0, 0], [1, 1]).nack('retry', 2).ack(2).ack(1_000).ack(1_001)
    t.same(scene.received(), [
      [2, 1],
      [0, 0],
      [1, 0],
      [3, 0],
    ])
    t.same(scene.group.replaysDone, [0, 1])
  })

  t.test('are acknowledged by the id of the parked event, not of the original', async (t) => {
    const scene = new Scene().given(1).join(1).nack('park', 0).replay([0, 0]).ack(0)
    t.equal(scene.group.inFlight, 1)
    t.equal(scene.ack(1_000).group.inFlight, 0)
  })

  t.test('do not hold back the checkpoint and remain when their consumer leaves', async (t) => {
    const scene = new Scene({ minCheckpointCount: 1, maxCheckpointCount: 1 }).given(3).join(1)
    scene.nack('park', 0).ack(1, 2).replay([0, 0]).given(1).ack(3)
    t.equal(scene.checkpoints.at(-1), 3)
    t.same(scene.forget().leave(1).join(2).received(), [[0, 1]])
  })

  t.test('that are parked again replace the earlier parked event', async (t) => {
    const scene = new Scene({ maxRetryCount: 0 }).given(1).join(1).nack('park', 0).replay([4, 0])
    scene.group.nack('retry', '', ['1004'])
    t.equal(scene.group.nextPark?.replaces, 4)
    scene.group.parkWritten()
    t.equal(scene.group.nextPark, undefined)
    t.same(scene.group.replaysDone, [])
  })
})

t.test('checkpoints', async (t) => {
  const each = { minCheckpointCount: 1, maxCheckpointCount: 1 }

  t.test('never pass the first event in flight', async (t) => {
    const scene = new Scene(each).given(5).join(1).ack(1, 2).tick()
    t.same(scene.checkpoints, [])
    t.same(scene.ack(0).checkpoints, [2])
    t.same(scene.ack(4).tick().checkpoints, [2])
    t.same(scene.ack(3).checkpoints, [2, 4])
  })

  t.test('never pass the first event that waits for a retry', async (t) => {
    const scene = new Scene(each).given(3).join(1).ack(1, 2).leave(1).tick()
    t.same(scene.checkpoints, [])
    t.same(scene.join(2).ack(0).checkpoints, [2])
  })

  t.test('never pass a buffered event, even if many others did not match', async (t) => {
    const scene = new Scene({ minCheckpointCount: 1, maxCheckpointCount: 5 })
    scene.group.addPage({ items: [itemOf(3)], through: positionOf(60), unmatched: 0, atEnd: true })
    scene.group.progress.countUnmatched(60)
    t.same(scene.tick().checkpoints, [])
    t.same(scene.join(1).ack(3).checkpoints, [60])
  })

  t.test('count the unmatched events of a page that they can pass', async (t) => {
    const scene = new Scene({ minCheckpointCount: 1, maxCheckpointCount: 5 })
    const first = { ...itemOf(3), unmatchedBefore: { count: 3, through: positionOf(2) } }
    const second = { ...itemOf(9), unmatchedBefore: { count: 8, through: positionOf(8) } }
    scene.group.addPage({ items: [first, second], through: positionOf(60), unmatched: 58, atEnd: true })
    t.same(scene.join(1).checkpoints, [], 'three are too few, and the events after the first do not count')
    t.same(scene.tick().checkpoints, [2], 'up to the first')
    t.same(scene.ack(3).checkpoints, [2, 8], 'the first event and the five before the second')
    t.same(scene.ack(9).checkpoints, [2, 8, 60])
  })

  t.test('are written immediately at the maximum count, and not before', async (t) => {
    const scene = new Scene({ minCheckpointCount: 100, maxCheckpointCount: 4, checkpointAfterMs: 60_000 })
      .given(9)
      .join(1)
    t.same(scene.ack(0, 1, 2).tick().checkpoints, [])
    t.same(scene.ack(3).checkpoints, [3])
    t.same(scene.ack(4, 5, 6).tick().checkpoints, [3])
    t.same(scene.ack(7).checkpoints, [3, 7])
  })

  t.test('are written on a tick at the minimum count; the first one does not wait for the interval', async (t) => {
    const scene = new Scene({ minCheckpointCount: 2, checkpointAfterMs: 3_000 }).given(9).join(1)
    t.same(scene.ack(0).tick().tick().checkpoints, [])
    t.same(scene.ack(1).tick().checkpoints, [1])
    t.same(scene.ack(2, 3).tick().tick().checkpoints, [1])
    t.same(scene.tick().checkpoints, [1, 3])
  })

  t.test('are never written on a tick if checkpointAfterMs is 0', async (t) => {
    const scene = new Scene({ minCheckpointCount: 1, maxCheckpointCount: 3, checkpointAfterMs: 0 }).given(4).join(1)
    t.same(scene.ack(0, 1).tick().tick().checkpoints, [])
    t.same(scene.ack(2).checkpoints, [2])
  })

  t.test('that become due during a write are written afterwards', async (t) => {
    const { group } = new Scene(each).given(50).join(1, 50)
    group.ack(['0'])
    t.same(group.progress.dueCheckpoint(0), positionOf(0))
    for (let i = 1; i < 50; i += 1) group.ack([`${i}`])
    t.equal(group.progress.dueCheckpoint(0), undefined, 'one at a time')
    group.progress.written()
    t.same(group.progress.dueCheckpoint(0), positionOf(49))
  })

  t.test('that could not be written are due again at the next tick', async (t) => {
    const { group } = new Scene(each).given(3).join(1)
    group.ack(['0'])
    group.progress.dueCheckpoint(0)
    group.progress.failed()
    t.notOk(group.progress.isCheckpointDue)
    group.tick(1_000)
    t.same(group.progress.dueCheckpoint(1_000), positionOf(0))
  })

  t.test('cause a redelivery of all later events after a load, with retryCount 0', async (t) => {
    const before = new Scene(each).given(6).join(1).ack(0, 1, 3, 4)
    const scene = new Scene({}, before.group.progress.checkpoint)
    scene.given(6).join(1)
    t.same(scene.received(), first(2, 3, 4, 5))
  })
})

t.test('strategies', async (t) => {
  t.test('RoundRobin alternates and skips full consumers', async (t) => {
    const scene = new Scene().join(1, 2).join(2, 10).given(8)
    t.same(numbers(scene.received(1)), [0, 2])
    t.same(numbers(scene.received(2)), [1, 3, 4, 5, 6, 7])
    t.same(scene.forget().nack('retry', 1).received(1), [])
    t.same(scene.received(2), [[1, 1]])
  })

  t.test('RoundRobin delivers a retry to the next consumer', async (t) => {
    const scene = new Scene().join(1).join(2).given(1).nack('retry', 0)
    t.same(scene.received(1), [[0, 0]])
    t.same(scene.received(2), [[0, 1]])
  })

  t.test('RoundRobin distributes the events of a consumer that left', async (t) => {
    const scene = new Scene().join(1).join(2).join(3).given(9).ack(0).forget().leave(1)
    t.same(scene.received(2).length + scene.received(3).length, 2)
    t.same(scene.received(2).length, 1)
  })

  t.test('DispatchToSingle keeps using the consumer that replaced a full one', async (t) => {
    const scene = new Scene({ strategy: 'DispatchToSingle' }).join(1, 2).join(2, 5).given(3).ack(0, 1).given(2)
    t.same(numbers(scene.received(1)), [0, 1])
    t.same(numbers(scene.received(2)), [2, 3, 4])
  })

  t.test('DispatchToSingle does not use the second consumer while the first acks in time', async (t) => {
    const scene = new Scene({ strategy: 'DispatchToSingle' }).join(1).join(2)
    for (let i = 0; i < 20; i += 1) scene.given(1).ack(i)
    t.equal(scene.received(1).length, 20)
    t.same(scene.given(3).leave(1).received(2), [
      [20, 1],
      [21, 1],
      [22, 1],
    ])
  })

  const owners = (scene: Scene, from = 0) => {
    const map = new Map<string, Set<number>>()
    for (const d of scene.delivered.slice(from)) {
      map.set(d.event.stream, (map.get(d.event.stream) ?? new Set()).add(d.consumer))
    }
    return map
  }
  const pinned = { strategy: 'Pinned' } as const
  const twelve = (n: number) => `p${n % 12}`

  t.test('Pinned delivers a stream to one consumer', async (t) => {
    const scene = new Scene(pinned).join(1, 20).join(2, 20).given(12)
    t.same([scene.received(1).length, scene.received(2).length].sort(), [0, 12])
  })

  t.test('Pinned distributes streams, each to one consumer', async (t) => {
    const scene = new Scene(pinned).join(1, 100).join(2, 100).given(60, twelve)
    t.equal(scene.delivered.length, 60)
    t.ok([...owners(scene).values()].every((consumers) => consumers.size === 1))
    t.equal(new Set(scene.delivered.map((d) => d.consumer)).size, 2)
  })

  t.test('Pinned only delays the streams of a full consumer', async (t) => {
    const scene = new Scene(pinned).join(1, 2).join(2, 100).given(48, twelve)
    t.equal(scene.received(1).length, 2)
    t.ok(scene.received(2).length > 2)
    for (let i = 0; i < 48; i += 1) scene.ack(...scene.delivered.map((d) => Number(d.ackId)))
    t.equal(scene.delivered.length, 48)
    t.ok([...owners(scene).values()].every((consumers) => consumers.size === 1))
  })

  t.test('Pinned moves the streams of a consumer that left, in order', async (t) => {
    const scene = new Scene(pinned)
      .join(1, 100)
      .join(2, 100)
      .given(24, (n) => `p${n % 8}`)
    const lost = numbers(scene.received(1))
    t.same(
      scene.forget().leave(1).received(2),
      lost.map((n) => [n, 1]),
    )
  })

  t.test('Pinned assigns idle streams to a new consumer, and busy ones when they become idle', async (t) => {
    const scene = new Scene(pinned)
      .join(1, 200)
      .given(32, (n) => `p${n % 16}`)
      .join(2, 200)
    const from = scene.delivered.length
    scene.ack(...Array.from({ length: 32 }, (_, i) => i)).given(48, (n) => `p${n % 16}`)
    const consumers = new Set(scene.delivered.slice(from).map((d) => d.consumer))
    t.equal(consumers.size, 2)
    t.ok([...owners(scene, from).values()].every((c) => c.size === 1))
  })
})

type Step =
  | { readonly kind: 'append' | 'ack' | 'skip' | 'park' | 'retry' | 'join' | 'leave'; readonly pick: number }
  | { readonly kind: 'tick' | 'restart' | 'write' | 'failWrite' }

const step: fc.Arbitrary<Step> = fc.oneof(
  fc.record({
    kind: fc.constantFrom('append', 'ack', 'ack', 'skip', 'park', 'retry', 'join', 'leave'),
    pick: fc.nat(1_000),
  }),
  fc.record({ kind: fc.constantFrom('tick', 'restart', 'write', 'failWrite') }),
)

const matches = ({ event }: Item<TestEvent>) => event.stream !== 's0'

/** Runs steps against a log with events that do not match, and checks the invariants after each step. */
class Model {
  readonly log: Item<TestEvent>[] = []
  readonly finished = new Set<string>()
  readonly #lastFirst = new Map<number | string, number>()
  /** The delivered events that are neither finished nor timed out. */
  readonly #inFlight = new Map<string, Delivered & { readonly atMs: number }>()
  readonly #consumers: number[] = []
  #group: Group<TestEvent>
  #stored: number | undefined
  #writing: number | undefined
  #nowMs = 0
  #joined = 0

  constructor(readonly settings: GroupSettings) {
    this.#group = new Group(settings, rulesOf({ madeBy: 'service' }), { after: 0, checkpoint: undefined })
  }

  apply(step: Step): void {
    switch (step.kind) {
      case 'append':
        for (let i = 0; i <= step.pick % 7; i += 1) this.log.push(itemOf(this.log.length, `s${(step.pick + i) % 5}`))
        this.#group.readAhead.wake()
        break
      case 'ack':
      case 'skip':
        this.#finish(step.kind, this.#some(step.pick))
        break
      case 'park':
      case 'retry': {
        const ids = this.#some(step.pick)
        for (const id of ids) this.#inFlight.delete(id)
        this.#group.nack(step.kind, '', [...ids, 'unknown'])
        break
      }
      case 'join':
        if (this.#consumers.length < 3) this.join(1 + (step.pick % 4))
        break
      case 'leave':
        this.#leave(step.pick)
        break
      case 'tick':
        this.#tick()
        break
      case 'restart':
        this.#restart()
        break
      case 'write':
        if (this.#writing !== undefined) this.#group.progress.written()
        this.#stored = this.#writing ?? this.#stored
        this.#writing = undefined
        break
      case 'failWrite':
        if (this.#writing !== undefined) this.#group.progress.failed()
        this.#writing = undefined
        break
      default:
        step satisfies never
    }
    this.#settle()
  }

  join(bufferSize: number): void {
    this.#joined += 1
    this.#consumers.push(this.#joined)
    this.#group.join(this.#joined, bufferSize)
    this.#settle()
  }

  /** Adds a consumer and acks all events until no more are delivered. */
  drain(): void {
    this.join(5)
    for (let i = 0; i < 2_000 && this.#inFlight.size > 0; i += 1) {
      this.#finish('ack', [...this.#inFlight.keys()])
      this.#settle()
    }
  }

  #finish(how: 'ack' | 'skip', ids: readonly string[]): void {
    for (const id of ids) {
      this.#inFlight.delete(id)
      this.finished.add(id)
    }
    if (how === 'ack') this.#group.ack([...ids, 'unknown', ...ids])
    else this.#group.nack('skip', '', ids)
  }

  #leave(pick: number): void {
    const [consumer] = this.#consumers.splice(pick % (this.#consumers.length || 1), 1)
    if (consumer === undefined) return
    for (const [id, d] of this.#inFlight) if (d.consumer === consumer) this.#inFlight.delete(id)
    this.#group.leave(consumer)
  }

  #tick(): void {
    this.#nowMs += 1_000
    for (const [id, d] of this.#inFlight) {
      if (this.#nowMs - d.atMs >= this.settings.messageTimeoutMs) this.#inFlight.delete(id)
    }
    this.#group.tick(this.#nowMs)
  }

  #restart(): void {
    this.#group = new Group(this.settings, rulesOf({ madeBy: 'service' }), { after: 0, checkpoint: this.#stored })
    this.#writing = undefined
    this.#inFlight.clear()
    this.#lastFirst.clear()
    this.#consumers.length = 0
  }

  #settle(): void {
    for (;;) {
      for (const d of this.#group.dispatch(this.#nowMs)) this.#take(d)
      for (let park = this.#group.nextPark; park; park = this.#group.nextPark) {
        this.finished.add(park.event.id)
        this.#group.parkWritten()
      }
      if (this.#writing === undefined) {
        this.#writing = this.#group.progress.dueCheckpoint(this.#nowMs)
        if (this.#writing !== undefined) this.#checkCheckpoint(this.#writing)
      }
      if (this.#group.inFlight !== this.#inFlight.size)
        throw new Error('the group and the model disagree on the events in flight')
      if (!this.#read()) return
    }
  }

  #read(): boolean {
    const request = this.#group.nextRead()
    if (!request) return false
    const { after: from } = request
    const scanned = this.log.slice(from, from + 2 * request.maxCount)
    const items = scanned.filter(matches).slice(0, request.maxCount)
    const isFull = items.length < scanned.filter(matches).length
    const through = (isFull ? items : scanned).at(-1)?.position ?? from
    this.#group.addPage({ items, through, unmatched: 0, atEnd: through >= this.log.length })
    return true
  }

  #take(d: Delivered): void {
    if (!this.#consumers.includes(d.consumer)) throw new Error(`delivered to ${d.consumer}, which has left`)
    if (this.#inFlight.has(d.ackId)) throw new Error(`${d.ackId} was already in flight`)
    if (d.retryCount === 0) {
      const n = Number(d.event.id)
      // Pinned only keeps the order within a stream: an event that waited for a full consumer may move to one that is ahead.
      const lane = this.settings.strategy === 'Pinned' ? d.event.stream : d.consumer
      if (n <= (this.#lastFirst.get(lane) ?? -1)) throw new Error(`${n} was delivered to ${lane} out of order`)
      this.#lastFirst.set(lane, n)
    }
    this.#inFlight.set(d.ackId, { ...d, atMs: this.#nowMs })
  }

  #checkCheckpoint(position: number): void {
    for (const item of this.log) {
      if (item.position > position) break
      if (matches(item) && !this.finished.has(item.id)) throw new Error(`the checkpoint passes ${item.id}`)
    }
  }

  #some(pick: number): string[] {
    return [...this.#inFlight.keys()].filter((_, i) => (pick >> (i % 10)) % 2 === 1)
  }
}

t.test(
  'every event is delivered in order until it is finished, and no checkpoint passes an unfinished event',
  async (t) => {
    const strategies = fc.constantFrom('RoundRobin' as const, 'DispatchToSingle' as const, 'Pinned' as const)
    const steps = fc.array(step, { minLength: 10, maxLength: 80 })
    fc.assert(
      fc.property(strategies, steps, (strategy, list) => {
        const model = new Model(
          settingsOf({
            strategy,
            liveBufferSize: 3,
            historyBufferSize: 6,
            readBatchSize: 2,
            minCheckpointCount: 1,
            maxCheckpointCount: 2,
            messageTimeoutMs: 2_000,
            maxRetryCount: 3,
          }),
        )
        for (const s of list) model.apply(s)
        model.drain()
        for (const item of model.log)
          if (matches(item) && !model.finished.has(item.id)) throw new Error(`${item.id} is lost`)
      }),
      { numRuns: 500 },
    )
    t.pass('500 runs')
  },
)
