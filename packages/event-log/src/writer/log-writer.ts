import { parentPort, workerData } from 'node:worker_threads'
import { runWriter } from './append-loop.js'

/** The worker thread that executes all appends of a process. */

if (!parentPort) throw new Error('log-writer.js runs as a worker thread')
runWriter((workerData as { directory: string }).directory, parentPort, true)
