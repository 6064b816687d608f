import { parentPort, workerData } from 'node:worker_threads'
import type { Database } from 'better-sqlite3'
import { openForAppending } from '../file/log-file.js'

/** The worker thread that copies the WAL to the log while appends continue. It returns the number of pages in the WAL. */

const { directory } = workerData as { directory: string }
let db: Database | undefined

function checkpoint(): number {
  try {
    db ??= openForAppending(directory)
    const [result] = db.pragma('wal_checkpoint(PASSIVE)') as { log: number }[]
    return result?.log ?? 0
  } catch {
    // The disk is full, or a different process is copying. Nothing is lost: the WAL remains until the next checkpoint.
    db?.close()
    db = undefined
    return 0
  }
}

parentPort?.on('message', (request: 'checkpoint' | 'close') => {
  if (request === 'checkpoint') return parentPort?.postMessage(checkpoint())
  db?.close()
  parentPort?.close()
})
