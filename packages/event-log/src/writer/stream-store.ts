import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { Worker } from 'node:worker_threads'
import { type Body, type EventContent, encodeBody } from '../file/event-body.js'
import { prepareLog } from '../file/log-file.js'
import { isProcessLocked, type ProcessLock, tryProcessLock } from '../file/process-lock.js'
import { Activity } from '../reader/activity.js'
import { Commits } from '../reader/commits.js'
import { StreamReader } from '../reader/stream-reader.js'
import { StoreUnavailableError } from '../types.js'
import type { FromStreamWriter, Operation, Outcome, ToStreamWriter } from './operations.js'
import type { Expected } from './stream-rules.js'

/** Operations in one message; the others wait for the next. */
const messageOperations = 256
const maxInFlight = 2
/** Operations that may wait before further ones are turned away. */
const maxWaiting = 50_000
const restartMs = 1_000

interface Waiting {
  readonly operation: Operation
  readonly resolve: (outcome: Outcome) => void
  readonly reject: (error: Error) => void
}

/**
 * The embedded log with everything EventStoreDB's protocol shows of one: streams that can be deleted, described and
 * truncated, appends that name no revision, content of any kind. The service itself uses the narrower `EventLog`.
 */
export class StreamStore {
  readonly reader: StreamReader
  readonly activity: Activity
  readonly #directory: string
  readonly #commits: Commits
  readonly #dispose: () => void
  #worker: Worker | undefined
  #collected: Waiting[] = []
  #inFlight: Waiting[][] = []
  #scheduled = false
  #closed = false
  #restart: NodeJS.Timeout | undefined
  #whenIdle: (() => void) | undefined

  /** @throws CannotOpenLogError */
  static open(directory: string): StreamStore {
    return new StreamStore(directory, () => {})
  }

  /** A log in a directory of its own, in memory where the system has such a place; gone when it is closed. */
  static openTemporary(): StreamStore {
    let directory: string
    try {
      directory = mkdtempSync('/dev/shm/transferd-')
    } catch {
      directory = mkdtempSync(join(tmpdir(), 'transferd-'))
    }
    return new StreamStore(directory, () => rmSync(directory, { recursive: true, force: true }))
  }

  private constructor(directory: string, dispose: () => void) {
    this.#directory = directory
    this.#dispose = dispose
    prepareLog(directory)
    this.reader = new StreamReader(directory)
    this.#commits = new Commits(() => this.reader.lastPosition())
    this.activity = new Activity(this.reader, this.#commits)
    this.#worker = this.#start()
  }

  append(stream: string, expected: Expected, events: readonly EventContent[]): Promise<Outcome> {
    const ids: string[] = []
    const bodies: Body[] = []
    for (const event of events) {
      ids.push(event.id)
      bodies.push(encodeBody(event))
    }
    return this.#execute({ kind: 'append', stream, expected, ids, bodies })
  }

  /** Hides all events there are; the next append brings the stream back without them. */
  delete(stream: string, expected: Expected): Promise<Outcome> {
    return this.#execute({ kind: 'delete', stream, expected })
  }

  /** Ends a stream for ever. */
  tombstone(stream: string, expected: Expected): Promise<Outcome> {
    return this.#execute({ kind: 'tombstone', stream, expected })
  }

  /** Returns when the log has an event behind `position`, or the signal aborts. */
  waitForCommit(position: number, signal: AbortSignal): Promise<void> {
    return this.#commits.beyond(position, signal)
  }

  /** Undefined when another holder, of this process or another one, has the lock of this name. */
  tryLock(name: string): ProcessLock | undefined {
    return tryProcessLock(this.#directory, name)
  }

  isLocked(name: string): boolean {
    return isProcessLocked(this.#directory, name)
  }

  async close(): Promise<void> {
    if (this.#closed) return
    this.#closed = true
    clearTimeout(this.#restart)
    this.activity.close()
    this.#commits.close()
    if (this.#collected.length + this.#inFlight.length > 0 && this.#worker) {
      await new Promise<void>((resolve) => {
        this.#whenIdle = resolve
      })
    }
    const worker = this.#worker
    if (worker) {
      const ended = new Promise<void>((resolve) => worker.once('exit', () => resolve()))
      worker.postMessage({ kind: 'close' } satisfies ToStreamWriter)
      await ended
    }
    this.reader.close()
    this.#dispose()
  }

  #execute(operation: Operation): Promise<Outcome> {
    return new Promise((resolve, reject) => {
      if (this.#closed) throw new StoreUnavailableError('the event store is closed')
      if (this.#collected.length >= maxWaiting) throw new StoreUnavailableError('too much waits for the log already')
      this.#collected.push({ operation, resolve, reject })
      this.#schedule()
    })
  }

  #schedule(): void {
    if (this.#scheduled) return
    this.#scheduled = true
    // At the end of the turn, so that everything this turn's I/O asks for shares a message and a sync.
    setImmediate(() => {
      this.#scheduled = false
      this.#send()
    })
  }

  #send(): void {
    while (this.#worker && this.#collected.length > 0 && this.#inFlight.length < maxInFlight) {
      const message = this.#collected.splice(0, messageOperations)
      this.#inFlight.push(message)
      const operations = message.map(({ operation }) => operation)
      this.#worker.postMessage({ kind: 'operations', operations } satisfies ToStreamWriter)
    }
  }

  #receive(message: FromStreamWriter): void {
    const answered = this.#inFlight.shift() ?? []
    switch (message.kind) {
      case 'outcomes':
        this.#commits.committed(message.committed)
        for (const [i, { resolve }] of answered.entries()) resolve(message.outcomes[i]!)
        break
      case 'failed':
        for (const { reject } of answered) reject(new StoreUnavailableError(`not written: ${message.reason}`))
        break
      default:
        message satisfies never
    }
    this.#send()
    if (this.#collected.length + this.#inFlight.length === 0) this.#whenIdle?.()
  }

  #start(): Worker {
    const worker = new Worker(new URL('./stream-writer.js', import.meta.url), {
      workerData: { directory: this.#directory },
    })
    worker.on('message', (message: FromStreamWriter) => this.#receive(message))
    worker.on('error', (error) => this.#ended(`the log writer crashed: ${error.message}`))
    worker.on('exit', () => this.#ended('the log writer ended'))
    return worker
  }

  #ended(reason: string): void {
    if (!this.#worker) return
    this.#worker = undefined
    for (const message of this.#inFlight.splice(0)) {
      for (const { reject } of message) reject(new StoreUnavailableError(reason))
    }
    this.#whenIdle?.()
    if (this.#closed) return
    this.#restart = setTimeout(() => {
      this.#worker = this.#start()
      this.#send()
    }, restartMs)
  }
}
