import { randomUUID } from 'node:crypto'
import { setTimeout as sleep } from 'node:timers/promises'
import { GroupScene, type Rules } from '@transferd/event-log/test/support/group-scene'
import type { Test } from 'tap'
import type { EventStore } from '../../src/event-store/event-store.js'
import { ackRules, checkpointOurs, checkpointRules } from './persistent/ack.js'
import { competeRules } from './persistent/compete.js'
import { crashPrefix, crashRules } from './persistent/crash.js'
import { deliveryOurs, deliveryRules } from './persistent/delivery.js'
import { manageOurs, manageRules, manageStartRules } from './persistent/manage.js'
import { replayOurs, replayRules } from './persistent/replay.js'
import { nackRules, timeoutRules } from './persistent/retry.js'

interface PersistentSubscriptionsEngine {
  readonly name: string
  /** Opens a store, whose log may have other traffic. The contract closes it. */
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
  /** Whether each rule gets its own log, if the engine has several, because the other rules append more than the counts of these. */
  readonly ownLog?: true
}

const ruleSets: readonly (readonly [area: string, rules: RuleSet])[] = [
  ['checkpoint', { recorded: checkpointRules, ours: checkpointOurs, ownLog: true }],
  ['manage', { recorded: manageStartRules, ours: manageOurs }],
  ['timeout', { recorded: timeoutRules }],
  ['replay', { recorded: replayRules, ours: replayOurs }],
  ['delivery', { recorded: deliveryRules, ours: deliveryOurs }],
  ['ack', { recorded: ackRules }],
  ['nack', { recorded: nackRules }],
  ['compete', { recorded: competeRules }],
  ['manage', { recorded: manageRules }],
]

const appendEveryMs = 50
/** Most rules wait for ticks of a second, so they run concurrently. */
const concurrentRules = 16

/** Tests EventStoreDB 23.10's rules of persistent subscriptions, and those that only the embedded log guarantees. */
export function persistentSubscriptionsContract(t: Test, engine: PersistentSubscriptionsEngine): void {
  t.jobs = concurrentRules
  const shared = opened(t, engine.open(t))
  for (const [area, { recorded, ours, ownLog }] of ruleSets) {
    const rules = { ...recorded, ...(engine.losesNothing && ours) }
    for (const [sentence, rule] of Object.entries(rules)) {
      t.test(`${engine.name}: ${area}: ${sentence}`, { buffered: true }, async (t) => {
        const scene = new GroupScene(await (ownLog ? opened(t, engine.open(t)) : shared))
        try {
          await rule(t, scene)
        } finally {
          await scene.end()
        }
      })
    }
  }
  if (!engine.crash) return
  // Its server ends before this teardown, so no bystander can append there until the end.
  const left = engine.crash(t)
  t.teardown(async () => (await left).close())
  for (const [sentence, rule] of Object.entries(crashRules)) {
    if (rule.oursOnly && !engine.losesNothing) continue
    t.test(`${engine.name}: crash: ${sentence}`, { buffered: true }, async (t) => {
      await rule.after(t, new GroupScene(await left, crashPrefix(sentence)))
    })
  }
}

/** Closes the store after the test. Until then, a bystander appends to other streams, as the services that share a log do. */
function opened(t: Test, store: Promise<EventStore>): Promise<EventStore> {
  const stopping = new AbortController()
  const bystander = (async () => {
    const { append } = await store
    while (!stopping.signal.aborted) {
      const event = { id: randomUUID(), type: 'T', data: {}, metadata: {} }
      await append(`bystander-${event.id}`, 'no_stream', [event])
      await sleep(appendEveryMs, undefined, { signal: stopping.signal }).catch(() => undefined)
    }
  })()
  t.teardown(async () => {
    stopping.abort()
    await bystander
    await (await store).close()
  })
  return store
}
