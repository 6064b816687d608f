import { setPriority } from 'node:os'
import { parentPort, workerData } from 'node:worker_threads'
import { checkLogFile } from '@transferd/event-log'
import { checkDatabaseFile } from '../../read-models/embedded/maintenance.js'
import type { FileToCheck } from './file-checks.js'

/** The thread that checks one file, at the lowest priority. */
const niceness = 19

// On Linux each thread has its own priority. Elsewhere this would slow the whole process.
if (process.platform === 'linux') setPriority(0, niceness)
const file = workerData as FileToCheck
parentPort?.postMessage(file.kind === 'log' ? checkLogFile(file.directory, 'quick') : checkDatabaseFile(file.path))
