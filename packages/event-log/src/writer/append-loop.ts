import { type MessagePort, receiveMessageOnPort } from 'node:worker_threads'
import { messageOf } from '../file/log-file.js'
import { WriterConnection } from './writer-connection.js'
import type { Batch, FromWriter, ToWriter } from './writer-messages.js'

/** The maximum number of values in the batches of one group commit, about 10,000 events. A single batch can be larger. */
const groupLimit = 50_000

interface ReceivedBatch {
  readonly port: MessagePort
  readonly batch: Batch
}

/**
 * Executes all appends of a process to the log in the directory, in the calling thread, until a message on `control` closes it.
 * @param hasCheckpointer whether another thread copies the WAL
 */
export function runWriter(directory: string, control: MessagePort, hasCheckpointer: boolean): void {
  const ports = new Set<MessagePort>()
  const waiting: ReceivedBatch[] = []
  let isScheduled = false
  const connection = new WriterConnection(directory, hasCheckpointer)

  function connect(port: MessagePort): void {
    ports.add(port)
    port.on('message', (batch: Batch) => {
      waiting.push({ port, batch })
      schedule()
    })
    port.on('close', () => ports.delete(port))
  }

  function schedule(): void {
    if (isScheduled) return
    isScheduled = true
    setImmediate(() => {
      isScheduled = false
      commitGroup()
      if (waiting.length > 0) schedule()
    })
  }

  /** Takes the batches that have arrived on all ports, up to the limit. */
  function takeGroup(): ReceivedBatch[] {
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
    return waiting.splice(0, count)
  }

  function commitGroup(): void {
    const group = takeGroup()
    if (group.length === 0) return
    const results: Float64Array[] = []
    let committed: number
    try {
      committed = connection.transaction((appender) => {
        for (const { batch } of group) results.push(appender.execute(batch))
      })
    } catch (error) {
      for (const { port } of group) send(port, { kind: 'failed', reason: messageOf(error) })
      return
    }
    group.forEach(({ port }, i) => {
      send(port, { kind: 'results', results: results[i]!, committed })
    })
    for (const port of ports) {
      if (!group.some((received) => received.port === port)) send(port, { kind: 'committed', committed })
    }
    connection.addWritten(sizeOf(group))
  }

  async function close(): Promise<void> {
    do commitGroup()
    while (waiting.length > 0)
    await connection.close()
    for (const port of ports) port.close()
    control.close()
  }

  control.on('message', (message: ToWriter) => {
    if (message.kind === 'connect') connect(message.port)
    else void close()
  })
}

function send(port: MessagePort, message: FromWriter): void {
  port.postMessage(message)
}

function sizeOf(group: readonly ReceivedBatch[]): number {
  let size = 0
  for (const { batch } of group) {
    for (const part of batch) {
      if (typeof part === 'string') size += part.length
      else if (typeof part === 'object' && part.kind === 'append') for (const body of part.bodies) size += body.length
    }
  }
  return size
}
