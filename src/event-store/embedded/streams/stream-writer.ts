import { parentPort, Worker, workerData } from 'node:worker_threads'
import type { Database } from 'better-sqlite3'
import { messageOf, openForAppending } from '../log-file.js'
import { WriteTurn } from '../write-turn.js'
import type { FromStreamWriter, Operation, Outcome, ToStreamWriter } from './operations.js'
import { StreamAppender } from './stream-appender.js'

/** The worker thread that writes what clients of the protocol ask for. What has arrived shares a transaction. */

/** Bytes in one transaction; one message may be larger. */
const groupBytes = 4 * 1024 * 1024
const checkpointWithinMs = 250
/** See log-writer.ts. */
const walPages = 8_192

interface Open {
  readonly db: Database
  readonly appender: StreamAppender
  readonly turn: WriteTurn
}

const { directory } = workerData as { directory: string }
let waiting: (readonly Operation[])[] = []
let scheduled = false
let open: Open | undefined
let checkpointing = false
let checkpointTimer: NodeJS.Timeout | undefined
const checkpointer = new Worker(new URL('../checkpointer.js', import.meta.url), { workerData: { directory } })

function send(message: FromStreamWriter): void {
  parentPort?.postMessage(message)
}

function schedule(): void {
  if (scheduled) return
  scheduled = true
  setImmediate(() => {
    scheduled = false
    commitGroup()
    if (waiting.length > 0) schedule()
  })
}

function sizeOf(operations: readonly Operation[]): number {
  let size = 0
  for (const one of operations) if (one.kind === 'append') for (const body of one.bodies) size += body.length
  return size
}

function takeGroup(): (readonly Operation[])[] {
  let size = 0
  let count = 0
  while (count < waiting.length && size < groupBytes) size += sizeOf(waiting[count++]!)
  const group = waiting.slice(0, count)
  waiting = waiting.slice(count)
  return group
}

function commitGroup(): void {
  const group = takeGroup()
  if (group.length === 0) return
  const outcomes: Outcome[][] = []
  let committed: number
  try {
    open ??= openLog()
    const { appender, turn } = open
    turn.begin()
    appender.begun(Date.now())
    for (const operations of group) outcomes.push(operations.map((operation) => appender.execute(operation)))
    committed = appender.commit()
  } catch (error) {
    fail(group.length, error)
    return
  }
  for (const one of outcomes) send({ kind: 'outcomes', outcomes: one, committed })
  checkpointTimer ??= setTimeout(checkpoint, checkpointWithinMs)
}

/** Nothing of the group is stored. The connection is opened anew: after an I/O error its state is not to be trusted. */
function fail(messages: number, error: unknown): void {
  const failed = open
  open = undefined
  try {
    failed?.appender.rollback()
    failed?.db.close()
  } catch {
    // Closing what is broken may fail as well; the caller is told the first reason.
  }
  for (let i = 0; i < messages; i++) send({ kind: 'failed', reason: messageOf(error) })
}

function openLog(): Open {
  const db = openForAppending(directory)
  return { db, appender: new StreamAppender(db), turn: new WriteTurn(db, directory) }
}

function checkpoint(): void {
  checkpointTimer = undefined
  if (checkpointing) return
  checkpointing = true
  checkpointer.postMessage('checkpoint')
}

checkpointer.on('message', (pagesInWal: number) => {
  checkpointing = false
  if (pagesInWal <= walPages) return
  try {
    open?.db.pragma('wal_checkpoint(PASSIVE)')
  } catch {
    // A full disk: the next append meets it too and says so.
  }
})

parentPort?.on('message', (message: ToStreamWriter) => {
  switch (message.kind) {
    case 'operations':
      waiting.push(message.operations)
      schedule()
      return
    case 'close':
      void close()
      return
    default:
      message satisfies never
  }
})

async function close(): Promise<void> {
  while (waiting.length > 0) commitGroup()
  clearTimeout(checkpointTimer)
  await checkpointer.terminate()
  open?.db.close()
  parentPort?.close()
}
