import { type MessagePort, parentPort, receiveMessageOnPort, Worker, workerData } from 'node:worker_threads'
import type { Database } from 'better-sqlite3'
import { Appender } from './appender.js'
import { messageOf, openForAppending } from './log-file.js'
import type { Batch, FromWriter, ToWriter } from './messages.js'
import { WriteTurn } from './write-turn.js'

/** The worker thread that appends everything a process appends. */

/** Numbers and texts in the batches of one group commit; one batch may be larger. They are some 10,000 events. */
const groupLimit = 50_000
/** Written since the last checkpoint, in the UTF-16 units of what came in. */
const checkpointEvery = 8 * 1024 * 1024
const checkpointWithinMs = 250
/** Pages in the WAL from which the writer copies the rest itself, so that SQLite can begin the file anew. */
const walPages = 4_096

interface Waiting {
  readonly port: MessagePort
  readonly batch: Batch
}

interface Open {
  readonly db: Database
  readonly appender: Appender
  readonly turn: WriteTurn
}

const { directory } = workerData as { directory: string }
const ports = new Set<MessagePort>()
let waiting: Waiting[] = []
let scheduled = false
let open: Open | undefined
let writtenSinceCheckpoint = 0
let checkpointing = false
let checkpointTimer: NodeJS.Timeout | undefined
const checkpointer = new Worker(new URL('./checkpointer.js', import.meta.url), { workerData: { directory } })

function send(port: MessagePort, message: FromWriter): void {
  port.postMessage(message)
}

function connect(port: MessagePort): void {
  ports.add(port)
  port.on('message', (batch: Batch) => {
    waiting.push({ port, batch })
    schedule()
  })
  port.on('close', () => ports.delete(port))
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

/** What has arrived by now, up to the limit, from all ports. */
function takeGroup(): Waiting[] {
  for (const port of ports) {
    for (let next = receiveMessageOnPort(port); next !== undefined; next = receiveMessageOnPort(port)) {
      waiting.push({ port, batch: next.message as Batch })
    }
  }
  let size = 0
  let count = 0
  while (count < waiting.length && (count === 0 || size + waiting[count]!.batch.length <= groupLimit)) {
    size += waiting[count]!.batch.length
    count++
  }
  const group = waiting.slice(0, count)
  waiting = waiting.slice(count)
  return group
}

function commitGroup(): void {
  const group = takeGroup()
  if (group.length === 0) return
  const answers: Float64Array[] = []
  let committed: number
  try {
    open ??= openLog()
    open.turn.begin()
    open.appender.begun(Date.now())
    for (const { batch } of group) answers.push(new Float64Array(open.appender.append(batch)))
    committed = open.appender.commit()
  } catch (error) {
    fail(group, error)
    return
  }
  group.forEach(({ port }, i) => {
    send(port, { kind: 'answers', answers: answers[i]!, committed })
  })
  for (const port of ports) {
    if (!group.some((one) => one.port === port)) send(port, { kind: 'committed', committed })
  }
  noteWritten(group)
}

/** Nothing of the group is stored. The connection is opened anew: after an I/O error its state is not to be trusted. */
function fail(group: readonly Waiting[], error: unknown): void {
  const failed = open
  open = undefined
  try {
    failed?.appender.rollback()
    failed?.db.close()
  } catch {
    // Closing what is broken may fail as well; the caller is told the first reason.
  }
  for (const { port } of group) send(port, { kind: 'failed', reason: messageOf(error) })
}

function openLog(): Open {
  const db = openForAppending(directory)
  return { db, appender: new Appender(db), turn: new WriteTurn(db, directory) }
}

function noteWritten(group: readonly Waiting[]): void {
  for (const { batch } of group) {
    for (const part of batch) writtenSinceCheckpoint += typeof part === 'string' ? part.length : 0
  }
  if (writtenSinceCheckpoint >= checkpointEvery) checkpoint()
  checkpointTimer ??= setTimeout(() => {
    checkpointTimer = undefined
    checkpoint()
  }, checkpointWithinMs)
}

function checkpoint(): void {
  if (checkpointing) return
  checkpointing = true
  writtenSinceCheckpoint = 0
  checkpointer.postMessage('checkpoint')
}

checkpointer.on('message', (pagesInWal: number) => {
  checkpointing = false
  // While appends go on, the WAL always holds pages newer than the checkpoint and would grow for ever. What came in
  // during the checkpoint is little: copying it here, between two commits, takes milliseconds.
  if (pagesInWal > walPages) {
    try {
      open?.db.pragma('wal_checkpoint(PASSIVE)')
    } catch {
      // A full disk: the next append meets it too and says so.
    }
  }
})

parentPort?.on('message', (message: ToWriter) => {
  switch (message.kind) {
    case 'connect':
      connect(message.port)
      return
    case 'close':
      void close()
      return
    default:
      message satisfies never
  }
})

async function close(): Promise<void> {
  do commitGroup()
  while (waiting.length > 0)
  clearTimeout(checkpointTimer)
  await checkpointer.terminate()
  open?.db.close()
  for (const port of ports) port.close()
  parentPort?.close()
}
