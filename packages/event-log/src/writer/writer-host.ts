import { MessageChannel, type MessagePort, Worker } from 'node:worker_threads'
import type { WriterClient } from './writer-client.js'
import type { ToWriter } from './writer-messages.js'

/** Pause before a log writer that died is replaced. */
const restartMs = 1_000

/** What a thread that attaches gets through its handle: a port to the writer, and another when the writer was replaced. */
export interface WriterPort {
  readonly port: MessagePort
}

/**
 * Runs the log writer of this process, replaces it if it crashes, and connects the threads to it. It starts when something is
 * appended or shared: a process that only reads need not wait for a thread.
 */
export class WriterHost {
  readonly #directory: string
  readonly #client: WriterClient
  readonly #shared = new Set<MessagePort>()
  #worker: Worker | undefined
  #closing = false
  #restart: NodeJS.Timeout | undefined

  constructor(directory: string, client: WriterClient) {
    this.#directory = directory
    this.#client = client
    client.whenFirstUsed(() => {
      this.#worker ??= this.#start()
    })
  }

  /** A handle for another thread of this process; transfer it. */
  share(): MessagePort {
    const { port1, port2 } = new MessageChannel()
    this.#shared.add(port1)
    port1.on('close', () => this.#shared.delete(port1))
    // The handle alone keeps no process alive.
    port1.unref()
    this.#connectShared(port1)
    return port2
  }

  async close(): Promise<void> {
    this.#closing = true
    clearTimeout(this.#restart)
    for (const shared of this.#shared) shared.close()
    const worker = this.#worker
    if (worker === undefined || worker.threadId === -1) return
    const ended = new Promise<void>((resolve) => worker.once('exit', () => resolve()))
    worker.postMessage({ kind: 'close' } satisfies ToWriter)
    await ended
  }

  #start(): Worker {
    const worker = new Worker(new URL('./log-writer.js', import.meta.url), {
      workerData: { directory: this.#directory },
    })
    let reason = 'the log writer ended'
    worker.on('error', (error) => {
      reason = `the log writer crashed: ${error.message}`
    })
    worker.on('exit', () => {
      this.#client.disconnected(reason)
      if (this.#closing) return
      this.#restart = setTimeout(() => this.#replace(), restartMs)
    })
    this.#client.connect(this.#connect(worker))
    return worker
  }

  #replace(): void {
    this.#worker = this.#start()
    for (const shared of this.#shared) this.#connectShared(shared)
  }

  #connect(worker: Worker): MessagePort {
    const { port1, port2 } = new MessageChannel()
    worker.postMessage({ kind: 'connect', port: port2 } satisfies ToWriter, [port2])
    return port1
  }

  #connectShared(shared: MessagePort): void {
    this.#worker ??= this.#start()
    const port = this.#connect(this.#worker)
    shared.postMessage({ port } satisfies WriterPort, [port])
  }
}
