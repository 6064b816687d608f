import { parentPort, workerData } from 'node:worker_threads'
import { messageOf } from '../file/log-file.js'
import type { FromStreamWriter, Operation, Outcome, ToStreamWriter } from './operations.js'
import { StreamAppender } from './stream-appender.js'
import { WriterConnection } from './writer-connection.js'

/** The worker thread that writes what clients of the protocol ask for. What has arrived shares a transaction. */

/** Bytes in one transaction; one message may be larger. */
const groupBytes = 4 * 1024 * 1024

const { directory } = workerData as { directory: string }
let waiting: (readonly Operation[])[] = []
let scheduled = false
const connection = new WriterConnection(directory, (db) => new StreamAppender(db))

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
    committed = connection.transaction((appender) => {
      for (const operations of group) outcomes.push(operations.map((operation) => appender.execute(operation)))
    })
  } catch (error) {
    for (const _ of group) send({ kind: 'failed', reason: messageOf(error) })
    return
  }
  for (const one of outcomes) send({ kind: 'outcomes', outcomes: one, committed })
  connection.written(group.reduce((size, operations) => size + sizeOf(operations), 0))
}

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
  await connection.close()
  parentPort?.close()
}
