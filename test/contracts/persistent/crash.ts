import { acking, each, type GroupScene, never } from '@transferd/event-log/test/support/group-scene'
import type { Test } from 'tap'

/** A rule with the actions before every process is killed, and the checks afterwards. */
interface CrashRule {
  before(scene: GroupScene): Promise<void>
  after(t: Test, scene: GroupScene): Promise<void>
  /** Whether EventStoreDB loses events here. */
  readonly oursOnly?: true
}

/** Returns the prefix of the stream and group names of a rule, which is the same in both processes. */
export function crashPrefix(title: string): string {
  return `crash-${Object.keys(crashRules).indexOf(title)}-`
}

export const crashRules: { readonly [title: string]: CrashRule } = {
  'only events after the checkpoint are redelivered': {
    async before(scene) {
      await scene.put(6)
      await scene.create(each)
      const client = await scene.consume()
      await client.count(6)
      await client.ack(0, 1, 2, 4)
      await scene.untilCovered(3)
    },
    async after(t, scene) {
      t.equal(await scene.covered(), 3)
      const client = await scene.consume()
      t.same((await (await client.count(3)).quiet()).attempts, [
        [3, 0],
        [4, 0],
        [5, 0],
      ])
    },
  },

  'acks without a checkpoint are forgotten': {
    async before(scene) {
      await scene.put(4)
      await scene.create(never)
      await (await scene.consume(10, acking)).count(4)
    },
    async after(t, scene) {
      const client = await scene.consume()
      t.same((await (await client.count(4)).quiet()).attempts, [
        [0, 0],
        [1, 0],
        [2, 0],
        [3, 0],
      ])
    },
  },

  'retry counts are forgotten': {
    async before(scene) {
      await scene.put(1)
      await scene.create()
      const client = await scene.consume()
      for (let i = 0; i < 2; i += 1) {
        await client.count(i + 1)
        await client.nack('retry', i)
      }
      await client.count(3)
    },
    async after(t, scene) {
      t.same((await (await scene.consume()).count(1)).attempts, [[0, 0]])
    },
  },

  'groups and their settings survive, deleted ones stay deleted': {
    async before(scene) {
      await scene.create({ maxRetryCount: 4, consumerStrategy: 'Pinned', maxSubscriberCount: 3 })
      await scene.create({}, `${scene.group}-gone`)
      await scene.groups.delete(`${scene.group}-gone`)
    },
    async after(t, scene) {
      const { settings } = await scene.groups.info(scene.group)
      // Not the prefixes, which EventStoreDB does not return.
      t.match(settings, { maxRetryCount: 4, consumerStrategy: 'Pinned', maxSubscriberCount: 3 })
      await t.rejects(scene.groups.info(`${scene.group}-gone`))
      await t.rejects(scene.create())
    },
  },

  'parked events remain parked until they are replayed': {
    async before(scene) {
      await scene.put(4)
      await scene.create(each)
      const client = await scene.consume()
      await client.count(4)
      await scene.park(client, 2, 0)
      await client.ack(1, 3)
      await scene.untilCovered(4)
    },
    async after(t, scene) {
      t.equal(await scene.untilParked(2), 2)
      t.same(
        (await scene.parked()).map((p) => p.revision),
        [2, 0],
      )
      const client = await scene.consume()
      t.same((await client.quiet(400)).numbers, [])
      await scene.replay()
      t.same((await client.count(2)).attempts, [
        [2, 0],
        [0, 0],
      ])
      t.equal(await scene.untilParked(0), 0)
    },
  },

  'the count of parked events survives without a checkpoint too': {
    oursOnly: true,
    async before(scene) {
      await scene.put(2)
      await scene.create(never)
      const client = await scene.consume()
      await client.count(2)
      await scene.park(client, 0)
    },
    async after(t, scene) {
      t.equal(await scene.parkedCount(), 1)
    },
  },

  'a replayed event without an ack is parked again': {
    oursOnly: true,
    async before(scene) {
      await scene.put(2)
      await scene.create(each)
      const client = await scene.consume()
      await client.count(2)
      await scene.park(client, 0, 1)
      await scene.untilCovered(2)
      await scene.replay()
      await client.count(4)
      await client.ack(2)
      await scene.untilInFlight(1)
    },
    async after(t, scene) {
      const parked = await scene.parked()
      t.same(
        parked.map((p) => p.revision).filter((revision) => revision === 1),
        [1],
      )
      const client = await scene.consume()
      t.same((await client.quiet(400)).numbers, [])
      await scene.replay()
      await client.count(parked.length)
      t.same(client.attempts.at(-1), [1, 0])
    },
  },

  'a start at the end is unchanged with a checkpoint': {
    async before(scene) {
      await scene.put(2)
      await scene.create({ ...each, startFrom: 'end' })
      await scene.put(3)
      const client = await scene.consume()
      await client.count(3)
      await client.ack(0)
      await scene.untilCovered(3)
    },
    async after(t, scene) {
      const client = await scene.consume()
      t.same((await (await client.count(2)).quiet()).attempts, [
        [3, 0],
        [4, 0],
      ])
    },
  },

  'a start at the end is unchanged without a checkpoint': {
    oursOnly: true,
    async before(scene) {
      await scene.put(2)
      await scene.create({ ...never, startFrom: 'end' })
      await scene.put(3)
      const client = await scene.consume()
      await client.count(3)
      await client.ack(0)
    },
    async after(t, scene) {
      const client = await scene.consume()
      t.same((await (await client.count(3)).quiet()).numbers, [2, 3, 4])
    },
  },

  'a checkpoint over several streams persists': {
    async before(scene) {
      await scene.put(4, (n) => (n === 0 ? 'a' : 'b'))
      await scene.create(each)
      const client = await scene.consume()
      await client.count(4)
      await client.ack(0, 1, 3)
      await scene.untilCovered(1)
      const second = client.deliveries[1]!.event.position.commit
      for (let i = 0; i < 300; i += 1) {
        const { checkpoint } = await scene.groups.info(scene.group)
        if (checkpoint && checkpoint.commit >= second) return
        await client.quiet(10)
      }
    },
    async after(t, scene) {
      const client = await scene.consume()
      t.same((await (await client.count(2)).quiet()).attempts, [
        [2, 0],
        [3, 0],
      ])
    },
  },
}
