import { pino } from 'pino'
import { startProjections } from '../../src/projections/start-projections.js'
import { openTestEventStore } from '../support/event-store.js'
import { openTestReadModels } from '../support/read-models.js'

/** Runs the projections of a directory until the test kills the process. */
const directory = process.argv[2]!
const store = await openTestEventStore(directory)
const readModels = await openTestReadModels(directory)
startProjections({ store, readModels, clock: () => new Date().toISOString(), logger: pino({ level: 'silent' }) })
process.stdout.write('started\n')
