import type { Test } from 'tap'
import type { EventStore } from '../../src/event-store/event-store.js'
import { ackRules, checkpointOurs, checkpointRules } from './persistent/ack.js'
import { competeRules } from './persistent/compete.js'
import { crashRules } from './persistent/crash.js'
import { deliveryOurs, deliveryRules } from './persistent/delivery.js'
import { manageOurs, manageRules } from './persistent/manage.js'
import { replayOurs, replayRules } from './persistent/replay.js'
import { nackRules, timeoutRules } from './persistent/retry.js'
import { GroupScene, type Rules } from './persistent/scene.js'

export interface PersistentSubscriptionsEngine {
  readonly name: string
  /** A store with a log of its own; the contract closes it. */
  open(t: Test): Promise<EventStore>
  /** Rules that hold only where nothing is lost are asked for too: EventStoreDB passes over events in places. */
  readonly losesNothing: boolean
  /**
   * Runs `crashRules[sentence].before` on a scene of this prefix, kills whatever does the work as SIGKILL does, and
   * opens what is left. Rules of crashes are left out without it.
   */
  readonly restart?: (t: Test, sentence: string, prefix: string) => Promise<EventStore>
}

const ruleSets: { readonly [area: string]: { readonly recorded: Rules; readonly ours?: Rules } } = {
  delivery: { recorded: deliveryRules, ours: deliveryOurs },
  ack: { recorded: ackRules },
  checkpoint: { recorded: checkpointRules, ours: checkpointOurs },
  timeout: { recorded: timeoutRules },
  nack: { recorded: nackRules },
  replay: { recorded: replayRules, ours: replayOurs },
  compete: { recorded: competeRules },
  manage: { recorded: manageRules, ours: manageOurs },
}

/** Most rules wait for ticks of a second, so they are held beside one another. */
const rulesAtOnce = 16

/** The rules of persistent subscriptions as EventStoreDB 23.10 keeps them, and those that only ours promises. */
export function persistentSubscriptionsContract(t: Test, engine: PersistentSubscriptionsEngine): void {
  t.jobs = rulesAtOnce
  for (const [area, { recorded, ours }] of Object.entries(ruleSets)) {
    const rules = { ...recorded, ...(engine.losesNothing && ours) }
    for (const [sentence, rule] of Object.entries(rules)) {
      t.test(`${engine.name}: ${area}: ${sentence}`, { buffered: true }, async (t) => {
        const store = await engine.open(t)
        t.teardown(() => store.close())
        await rule(t, new GroupScene(store))
      })
    }
  }
  const { restart } = engine
  if (!restart) return
  for (const [sentence, rule] of Object.entries(crashRules)) {
    if (rule.oursOnly && !engine.losesNothing) continue
    t.test(`${engine.name}: crash: ${sentence}`, { buffered: true }, async (t) => {
      const { prefix } = new GroupScene({} as EventStore)
      const store = await restart(t, sentence, prefix)
      t.teardown(() => store.close())
      await rule.after(t, new GroupScene(store, prefix))
    })
  }
}
