import { MessageChannel, type MessagePort, Worker } from 'node:worker_threads'
import type { WriterClient } from './writer-client.js'
import type { ToWriter } from './writer-messages.js'

/** The pause before a crashed writer thread is replaced. */
const restartMs = 1_000

/** The message that gives an attached thread a port to the writer. It is sent again when the writer is replaced. */
export interface WriterPort {
  readonly port: MessagePort
}

/**
 * Runs the writer thread of this process, replaces it if it crashes, and connects other threads to it. The thread starts with the
 * first append or share, so that a process that only reads does not wait for it.
 */
export class WriterHost {
  readonly #shared = new Set<MessagePort>()
  #worker: Worker | undefined
  #isClosing = false
  #restart: NodeJS.Timeout | undefined

  constructor(
    private readonly directory: string,
    private readonly client: WriterClient,
  ) {
    client.onFirstUse(() => {
      this.#worker ??= this.#start()
    })
  }

  /** Returns the port for another thread of this process. Transfer it to that thread. */
  share(): MessagePort {
    const { port1, port2 } = new MessageChannel()
    this.#shared.add(port1)
    port1.on('close', () => this.#shared.delete(port1))
    // The port alone must not keep the process alive.
    port1.unref()
    this.#connectShared(port1)
    return port2
  }

  async close(): Promise<void> {
    this.#isClosing = true
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
      workerData: { directory: this.directory },
    })
    let reason = 'the log writer ended'
    worker.on('error', (error) => {
      reason = `the log writer crashed: ${error.message}`
    })
    worker.on('exit', () => {
      this.client.disconnect(reason)
      if (!this.#isClosing) this.#restart = setTimeout(() => this.#replace(), restartMs)
    })
    this.client.connect(this.#connect(worker))
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
