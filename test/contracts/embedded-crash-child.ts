import { openEmbeddedEventStore } from '../../src/event-store/embedded/embedded-event-store.js'
import { crashRules } from './persistent/crash.js'
import { GroupScene } from './persistent/scene.js'

/** Runs the first half of a rule on the log in a directory, says so, and waits to be killed. */
const [directory, sentence, prefix] = process.argv.slice(2) as [string, string, string]
const rule = crashRules[sentence]
if (!rule) throw new Error(`no rule says: ${sentence}`)
await rule.before(new GroupScene(await openEmbeddedEventStore({ directory }), prefix))
process.stdout.write('ready\n')
setInterval(() => {}, 1_000)
