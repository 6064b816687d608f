import { parentPort, workerData } from 'node:worker_threads'
import type { Database } from 'better-sqlite3'
import { openForAppending } from '../file/log-file.js'

/** The worker thread that copies the WAL into the log while appends go on. Answers each request with the pages in the WAL. */

const { directory } = workerData as { directory: string }
let db: Database | undefined

function checkpoint(): number {
  try {
    db ??= openForAppending(directory)
    const [result] = db.pragma('wal_checkpoint(PASSIVE)') as { log: number }[]
    return result?.log ?? 0
  } catch {
    // A full disk, or another process at it: nothing is lost, the WAL stays until the next time.
    db?.close()
    db = undefined
    return 0
  }
}

parentPort?.on('message', () => parentPort?.postMessage(checkpoint()))
