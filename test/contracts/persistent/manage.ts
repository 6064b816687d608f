import {
  acking,
  each,
  type Rules,
  type Settings,
  sleep,
  type TestConsumer,
  until,
} from '@transferd/event-log/test/support/group-scene'
import {
  ConsumerDroppedError,
  InvalidSettingsError,
  PersistentSubscriptionExistsError,
  PersistentSubscriptionMissingError,
} from '../../../src/event-store/event-store.js'

const exists = { name: new PersistentSubscriptionExistsError().name }
const missing = { name: new PersistentSubscriptionMissingError().name }
const invalid = { name: new InvalidSettingsError().name }

async function errorNameOf(client: TestConsumer): Promise<string | undefined> {
  await until(() => client.error !== undefined)
  return client.error?.name
}

const dropped = new ConsumerDroppedError().name

export const manageRules: Rules = {
  'does not create an existing group again, regardless of the settings': async (t, scene) => {
    await scene.create({ maxRetryCount: 3 })
    await t.rejects(scene.create({ maxRetryCount: 3 }), exists)
    await t.rejects(scene.create({ maxRetryCount: 7 }), exists)
    await t.rejects(scene.create({ readBatchSize: 500, historyBufferSize: 10 }), exists)
    t.equal((await scene.groups.info(scene.group)).settings.maxRetryCount, 3)
    await t.resolves(scene.create({}, scene.group.toUpperCase()), 'names are case-sensitive')
    await scene.groups.delete(scene.group.toUpperCase())
  },

  'every operation on a missing group throws PersistentSubscriptionMissingError': async (t, scene) => {
    const { groups, group } = scene
    await t.rejects(groups.info(group), missing)
    await t.rejects(scene.update(), missing)
    await t.rejects(scene.update({ readBatchSize: 30, historyBufferSize: 20 }), missing)
    await t.rejects(groups.delete(group), missing)
    await t.rejects(groups.replayParked(group), missing)
    await t.rejects(groups.listParked(group, { maxCount: 1 }), missing)
    await t.rejects(scene.consume(), missing)
  },

  'info returns the settings and the counts': async (t, scene) => {
    const settings: Settings = { startFrom: 'end', messageTimeoutMs: 7_000, consumerStrategy: 'Pinned' }
    await scene.create(settings)
    const info = await scene.groups.info(scene.group)
    t.same(info, {
      group: scene.group,
      settings: scene.settings(settings),
      inFlight: 0,
      parkedCount: 0,
      consumers: 0,
    })
  },

  'an omitted setting has its default at creation and is unchanged by an update': async (t, scene) => {
    const { groups, group, prefix } = scene
    await groups.create(group, { streamPrefixes: [prefix], maxRetryCount: 3 })
    t.same((await groups.info(group)).settings, scene.settings({ maxRetryCount: 3 }))
    await groups.update(group, { startFrom: 'end', consumerStrategy: 'Pinned', messageTimeoutMs: 7_000 })
    await groups.update(group, { liveBufferSize: 50 })
    const changes: Settings = { startFrom: 'end', consumerStrategy: 'Pinned', messageTimeoutMs: 7_000 }
    t.same((await groups.info(group)).settings, scene.settings({ ...changes, maxRetryCount: 3, liveBufferSize: 50 }))
    await groups.delete(group)
    await groups.create(group)
    t.same((await groups.info(group)).settings, scene.settings({ streamPrefixes: [] }))
    await groups.delete(group)
  },

  'an unknown setting, or a value of the wrong kind, is rejected by its name': async (t, scene) => {
    await scene.create()
    const wrong: [name: string, value: unknown][] = [
      ['maxRetries', 3],
      ['constructor', 3],
      ['maxRetryCount', '3'],
      ['maxRetryCount', null],
      ['readBatchSize', 1.5],
      ['messageTimeoutMs', Number.POSITIVE_INFINITY],
      ['messageTimeoutMs', 2 ** 31],
      ['startFrom', 'beginning'],
      ['startFrom', 0],
      ['startFrom', { commit: 1n, prepare: 2n }],
      ['startFrom', { commit: -1n, prepare: -1n }],
      ['streamPrefixes', 'order-'],
      ['streamPrefixes', [1]],
      ['streamPrefixes', Array.from({ length: 101 }, (_, i) => `x${i}`)],
      ['consumerStrategy', 'roundrobin'],
    ]
    for (const [name, value] of wrong) {
      const settings = { [name]: value } as Settings
      const named = { ...invalid, message: new RegExp(`\\b${name}\\b`) }
      await t.rejects(scene.groups.create(`${scene.group}-${name}`, settings), named, `${name} at creation`)
      await t.rejects(scene.groups.update(scene.group, settings), named, `${name} in an update`)
    }
    t.same((await scene.groups.info(scene.group)).settings, scene.settings())
    await t.rejects(scene.groups.info(`${scene.group}-maxRetries`), missing)
  },

  'a read batch must be smaller than the history buffer': async (t, scene) => {
    for (const settings of [
      { readBatchSize: 20, historyBufferSize: 20 },
      { readBatchSize: 21, historyBufferSize: 20 },
      { historyBufferSize: 0 },
      { historyBufferSize: -1 },
    ]) {
      await t.rejects(scene.create(settings), invalid)
    }
    await t.rejects(scene.groups.info(scene.group), missing)
    await t.resolves(scene.create({ readBatchSize: 20, historyBufferSize: 21 }))
  },

  'rejects a start after the end of the log, and an unknown strategy': async (t, scene) => {
    await scene.put(1)
    const [event] = await scene.store.readStream(`${scene.prefix}a`)
    const pastEnd = event!.position.commit + 1_000_000_000n
    await t.rejects(scene.create({ startFrom: { commit: pastEnd, prepare: pastEnd } }), invalid)
    await t.rejects(scene.create({ consumerStrategy: 'roundrobin' as 'RoundRobin' }), invalid)
    await t.resolves(scene.create({ startFrom: { commit: 0n, prepare: 0n } }))
  },

  'accepts unusual numbers and still delivers every event': async (t, scene) => {
    const odd: Settings[] = [
      { readBatchSize: 0 },
      { liveBufferSize: 0 },
      { minCheckpointCount: 0, maxCheckpointCount: 0 },
      { minCheckpointCount: 20, maxCheckpointCount: 2 },
      { messageTimeoutMs: -1, maxRetryCount: 50 },
    ]
    await Promise.all(
      odd.map(async (settings, i) => {
        const group = `${scene.group}-odd-${i}`
        const streamPrefixes = [`${scene.prefix}${i}-`]
        const put = () =>
          scene.store.append(`${streamPrefixes[0]}${Math.random()}`, 'no_stream', [
            { id: crypto.randomUUID(), type: 'T', data: { n: 1 }, metadata: {} },
          ])
        await put()
        await scene.create({ ...settings, streamPrefixes }, group)
        const client = await scene.consume(10, acking, group)
        t.equal((await client.count(1)).deliveries.length, 1, `history with ${JSON.stringify(settings)}`)
        await put()
        t.equal((await client.count(2)).deliveries.length, 2, `live with ${JSON.stringify(settings)}`)
      }),
    )
  },

  'accepts any name': async (t, scene) => {
    await scene.put(1)
    for (const name of ['with space', 'a/b', 'ünï ✓', '::', 'a::b', '@', '$sys', '-parked', 'x'.repeat(300)]) {
      const group = `${scene.prefix}${name}`
      await scene.create({}, group)
      const client = await scene.consume(10, acking, group)
      t.same((await client.count(1)).numbers, [0], name.slice(0, 10))
      await client.consumer.close()
    }
  },

  'an update replaces the settings and drops the consumers': async (t, scene) => {
    await scene.put(4)
    await scene.create()
    const one = await scene.consume()
    const two = await scene.consume()
    await until(() => one.deliveries.length + two.deliveries.length === 4)
    await scene.update({ messageTimeoutMs: 9_000, consumerStrategy: 'DispatchToSingle' })
    t.same([await errorNameOf(one), await errorNameOf(two)], [dropped, dropped])
    const info = await scene.groups.info(scene.group)
    t.equal(info.consumers, 0)
    t.same(info.settings, scene.settings({ messageTimeoutMs: 9_000, consumerStrategy: 'DispatchToSingle' }))
    t.same((await (await scene.consume()).count(4)).attempts, [
      [0, 0],
      [1, 0],
      [2, 0],
      [3, 0],
    ])
  },

  'an update with invalid settings changes nothing': async (t, scene) => {
    await scene.put(3)
    await scene.create({ maxRetryCount: 3 })
    const client = await scene.consume()
    await client.count(3)
    await t.rejects(scene.update({ maxRetryCount: 5, readBatchSize: 30, historyBufferSize: 20 }), invalid)
    t.equal((await scene.groups.info(scene.group)).settings.maxRetryCount, 3)
    await client.ackAll()
    await scene.put(1)
    t.same((await client.count(4)).numbers, [0, 1, 2, 3])
    t.equal(client.error, undefined)
  },

  'an update keeps the prefixes': async (t, scene) => {
    await scene.put(1)
    await scene.create()
    await scene.putOthers(2)
    await scene.update({ streamPrefixes: ['x'] })
    const client = await scene.consume()
    await scene.put(1)
    t.same((await (await client.count(2)).quiet()).numbers, [0, 1])
    t.same((await scene.groups.info(scene.group)).settings.streamPrefixes, [scene.prefix])
  },

  'a deletion drops the consumers': async (t, scene) => {
    await scene.put(2)
    await scene.create()
    const one = await scene.consume()
    const two = await scene.consume()
    await one.count(1)
    await scene.groups.delete(scene.group)
    t.same([await errorNameOf(one), await errorNameOf(two)], [dropped, dropped])
    await t.rejects(scene.groups.delete(scene.group), missing)
    await t.rejects(scene.consume(), missing)
    t.equal((await scene.store.readStream(`${scene.prefix}a`)).length, 2)
  },

  'a group that is created again after a deletion starts from its settings': async (t, scene) => {
    await scene.put(5)
    await scene.create(each)
    const one = await scene.consume()
    await one.count(5)
    await scene.park(one, 0)
    await one.ack(1, 2, 3)
    t.equal(await scene.untilCovered(4), 4)
    await scene.groups.delete(scene.group)
    await errorNameOf(one)
    await scene.create(each)
    t.equal(await scene.parkedCount(), 0)
    t.same((await (await scene.consume()).count(5)).attempts, [
      [0, 0],
      [1, 0],
      [2, 0],
      [3, 0],
      [4, 0],
    ])
    t.same(await scene.parked(), [])
  },
}

/** In these rules, no checkpoint exists at first. With these counts, other traffic causes none. */
const uncounted: Settings = { minCheckpointCount: 1_000_000, maxCheckpointCount: 1_000_000 }

export const manageStartRules: Rules = {
  'an update discards acks that no checkpoint covers': async (t, scene) => {
    await scene.putAndCreate(6, uncounted)
    const startFrom = (await scene.ownEvents())[0]!.position
    const one = await scene.consume()
    await one.count(6)
    await one.ack(0, 1, 2, 3)
    await scene.untilInFlight(2)
    await scene.update({ ...uncounted, startFrom, maxRetryCount: 4 })
    await errorNameOf(one)
    t.same((await (await scene.consume()).count(6)).numbers, [0, 1, 2, 3, 4, 5])
    t.equal((await scene.groups.info(scene.group)).checkpoint, undefined)
  },

  'an update moves the start only before the first checkpoint': async (t, scene) => {
    await scene.putAndCreate(4, uncounted)
    const events = await scene.ownEvents()
    const one = await scene.consume()
    await one.count(4)
    await scene.update({ ...each, startFrom: events[2]!.position })
    await errorNameOf(one)
    const two = await scene.consume()
    t.same((await (await two.count(2)).quiet()).numbers, [2, 3])
    await two.ack(0)
    t.equal(await scene.untilCovered(3), 3)
    await scene.update({ ...each, startFrom: 'start' })
    await errorNameOf(two)
    const three = await scene.consume()
    await until(() => three.numbers.includes(3))
    await three.quiet()
    // EventStoreDB may not have stored the last checkpoint that it reports.
    t.ok(
      three.numbers.every((n) => n >= 2),
      `${three.numbers}`,
    )
    t.equal((await scene.groups.info(scene.group)).settings.startFrom, 'start')
  },

  'an update to the end skips pending events without a checkpoint': async (t, scene) => {
    await scene.putAndCreate(3, uncounted)
    await scene.update({ ...uncounted, startFrom: 'end' })
    await sleep(300)
    const client = await scene.consume()
    await scene.put(1)
    t.same((await (await client.count(1)).quiet()).numbers, [3])
  },
}

export const manageOurs: Rules = {
  'an update does not move an unchanged start at the end': async (t, scene) => {
    await scene.create({ startFrom: 'end' })
    await scene.put(2)
    await scene.update({ startFrom: 'end', maxRetryCount: 3 })
    t.same((await (await scene.consume()).count(2)).numbers, [0, 1])
  },
}
