import { openEventLog } from '@transferd/event-log'
import { GroupScene } from '@transferd/event-log/test/support/group-scene'
import { crashPrefix, crashRules } from './persistent/crash.js'

// Runs the `before` part of all crash rules on the log in a directory, prints `ready`, and waits to be killed.
const store = await openEventLog({ directory: process.argv[2]! })
await Promise.all(
  Object.entries(crashRules).map(([title, rule]) => rule.before(new GroupScene(store, crashPrefix(title)))),
)
process.stdout.write('ready\n')
setInterval(() => {}, 1_000)
