import { GroupScene, type Rules } from '@transferd/event-log/test/support/group-scene'
import type { Test } from 'tap'
import type { EventStore } from '../../src/event-store/event-store.js'
import { ackRules, checkpointOurs, checkpointRules } from './persistent/ack.js'
import { competeRules } from './persistent/compete.js'
import { crashPrefix, crashRules } from './persistent/crash.js'
import { deliveryOurs, deliveryRules } from './persistent/delivery.js'
import { manageOurs, manageQuietRules, manageRules } from './persistent/manage.js'
import { replayOurs, replayRules } from './persistent/replay.js'
import { nackRules, timeoutRules } from './persistent/retry.js'

export interface PersistentSubscriptionsEngine {
  readonly name: string
  /** Opens a store with its own log, preferably without other traffic. The contract closes it. */
  open(t: Test): Promise<EventStore>
  /** Whether to test the rules that forbid any loss. EventStoreDB skips events in some cases. */
  readonly losesNothing: boolean
  /**
   * Runs `before` of all `crashRules`, each in a scene of its `crashPrefix`, kills the process with SIGKILL, and opens
   * the remaining log. The crash rules are omitted without it.
   */
  readonly crash?: (t: Test) => Promise<EventStore>
}

interface RuleSet {
  readonly recorded: Rules
  readonly ours?: Rules
  /** Whether each rule needs its own log, because appends of other tests would advance its checkpoints. */
  readonly quiet?: true
}

const ruleSets: readonly (readonly [area: string, rules: RuleSet])[] = [
  ['checkpoint', { recorded: checkpointRules, ours: checkpointOurs, quiet: true }],
  ['manage', { recorded: manageQuietRules, ours: manageOurs, quiet: true }],
  ['timeout', { recorded: timeoutRules }],
  ['replay', { recorded: replayRules, ours: replayOurs }],
  ['delivery', { recorded: deliveryRules, ours: deliveryOurs }],
  ['ack', { recorded: ackRules }],
  ['nack', { recorded: nackRules }],
  ['compete', { recorded: competeRules }],
  ['manage', { recorded: manageRules }],
]

/** Most rules wait for ticks of a second, so they run concurrently. */
const concurrentRules = 16

/** Tests EventStoreDB 23.10's rules of persistent subscriptions, and those that only the embedded log guarantees. */
export function persistentSubscriptionsContract(t: Test, engine: PersistentSubscriptionsEngine): void {
  t.jobs = concurrentRules
  const shared = opened(t, engine.open(t))
  for (const [area, { recorded, ours, quiet }] of ruleSets) {
    const rules = { ...recorded, ...(engine.losesNothing && ours) }
    for (const [sentence, rule] of Object.entries(rules)) {
      t.test(`${engine.name}: ${area}: ${sentence}`, { buffered: true }, async (t) => {
        const scene = new GroupScene(await (quiet ? opened(t, engine.open(t)) : shared))
        try {
          await rule(t, scene)
        } finally {
          await scene.end()
        }
      })
    }
  }
  if (!engine.crash) return
  const left = opened(t, engine.crash(t))
  for (const [sentence, rule] of Object.entries(crashRules)) {
    if (rule.oursOnly && !engine.losesNothing) continue
    t.test(`${engine.name}: crash: ${sentence}`, { buffered: true }, async (t) => {
      await rule.after(t, new GroupScene(await left, crashPrefix(sentence)))
    })
  }
}

function opened(t: Test, store: Promise<EventStore>): Promise<EventStore> {
  t.teardown(async () => (await store).close())
  return store
}
