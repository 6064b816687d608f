import { GroupScene } from '@transferd/event-log/test/support/group-scene'
import t from 'tap'
import { MemoryLog } from '../simulation/stores/memory-event-store.js'
import { crashPrefix, crashRules } from './persistent/crash.js'
import { persistentSubscriptionsContract } from './persistent-subscriptions.contract.js'

async function crash() {
  const log = new MemoryLog()
  const store = log.open()
  const rules = Object.entries(crashRules)
  await Promise.all(rules.map(([title, rule]) => rule.before(new GroupScene(store, crashPrefix(title)))))
  store.crash()
  return log.open()
}

persistentSubscriptionsContract(t, {
  name: 'memory',
  open: async () => new MemoryLog().open(),
  losesNothing: true,
  crash,
})
