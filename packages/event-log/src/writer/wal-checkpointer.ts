import { statSync } from 'node:fs'
import { parentPort, workerData } from 'node:worker_threads'
import { openForAppending, walBytesMax, walPath } from '../file/log-file.js'
import type { Database } from '../sqlite/sqlite.js'

/** The worker thread that copies the WAL to the log while appends continue, and then cuts a WAL that a long read has made large. */

export interface Checkpointed {
  /** The number of pages in the WAL. */
  readonly pages: number
  /** Whether the file is still larger than {@link walBytesMax}, because it is being read. */
  readonly isTooLarge: boolean
}

const { directory } = workerData as { directory: string }
let db: Database | undefined

function checkpoint(): Checkpointed {
  try {
    db ??= open()
    let { log, checkpointed } = copy(db, 'PASSIVE')
    // To cut the file locks out appends. Therefore everything but the newest pages is copied before, and nothing is waited for.
    if (isTooLarge() && checkpointed === log) log = copy(db, 'TRUNCATE').log
    return { pages: log, isTooLarge: isTooLarge() }
  } catch {
    // The disk is full, or a different process is copying. Nothing is lost: the WAL remains until the next checkpoint.
    db?.close()
    db = undefined
    return { pages: 0, isTooLarge: false }
  }
}

function open(): Database {
  const opened = openForAppending(directory)
  opened.pragma('busy_timeout = 0')
  return opened
}

function copy(from: Database, mode: 'PASSIVE' | 'TRUNCATE') {
  const [result] = from.pragma(`wal_checkpoint(${mode})`) as [{ log: number; checkpointed: number }]
  return result
}

function isTooLarge(): boolean {
  return (statSync(walPath(directory), { throwIfNoEntry: false })?.size ?? 0) > walBytesMax
}

parentPort?.on('message', (request: 'checkpoint' | 'close') => {
  if (request === 'checkpoint') return parentPort?.postMessage(checkpoint())
  db?.close()
  parentPort?.close()
})
