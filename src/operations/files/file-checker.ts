import { setPriority } from 'node:os'
import { parentPort, workerData } from 'node:worker_threads'
import { checkDatabaseFile } from '../../read-models/embedded/maintenance.js'

/** The thread that checks one file, at the lowest priority. */
const niceness = 19

// On Linux each thread has its own priority. Elsewhere this would slow the whole process.
if (process.platform === 'linux') setPriority(0, niceness)
parentPort?.postMessage(checkDatabaseFile(workerData as string))
