import { setPriority } from 'node:os'
import { parentPort, workerData } from 'node:worker_threads'
import { checkLogFile } from '../../event-store/embedded.js'
import { checkDatabaseFile } from '../../read-models/embedded/check-file.js'
import type { FileToCheck } from './file-checks.js'

/** The thread that reads one file for what is wrong with it. Everything else comes first. */
const niceness = 19

// On Linux a priority is a thread's own; elsewhere this would slow the whole process.
if (process.platform === 'linux') setPriority(0, niceness)
const file = workerData as FileToCheck
parentPort?.postMessage(file.kind === 'log' ? checkLogFile(file.directory, 'quick') : checkDatabaseFile(file.path))
