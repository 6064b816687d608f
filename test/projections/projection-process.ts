import { pino } from 'pino'
import { openEmbeddedEventStore } from '../../src/event-store/embedded/embedded-event-store.js'
import { startProjections } from '../../src/projections/start.js'
import { openTestReadModels } from '../support/read-models.js'

/** Started by tests: runs the projections of a directory until it is killed. */
const directory = process.argv[2]!
const store = await openEmbeddedEventStore({ directory })
const readModels = await openTestReadModels(directory)
startProjections({ store, readModels, clock: () => new Date().toISOString(), logger: pino({ level: 'silent' }) })
process.stdout.write('started\n')
