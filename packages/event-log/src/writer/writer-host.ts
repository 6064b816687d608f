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
 * Runs the writer of this process, in its own thread or in this one, replaces it if it crashes, and connects other threads to it. The thread starts with the
 * first append or share, so that a process that only reads does not wait for it.
 */
export class WriterHost {
  readonly #shared = new Set<MessagePort>()
  #worker: Worker | MessagePort | undefined
  #closed: Promise<void> | undefined
  #restart: NodeJS.Timeout | undefined

  constructor(
    private readonly directory: string,
    private readonly client: WriterClient,
    private readonly hasThread = true,
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

  close(): Promise<void> {
    this.#closed ??= this.#close()
    return this.#closed
  }

  async #close(): Promise<void> {
    clearTimeout(this.#restart)
    for (const shared of this.#shared) shared.close()
    const worker = this.#worker
    if (worker === undefined || (worker instanceof Worker && worker.threadId === -1)) return
    const ended = new Promise<void>((resolve) => worker.once(this.hasThread ? 'exit' : 'close', () => resolve()))
    worker.postMessage({ kind: 'close' } satisfies ToWriter)
    await ended
  }

  #start(): Worker | MessagePort {
    const writer = this.hasThread ? this.#startThread() : this.#startHere()
    this.client.connect(this.#connect(writer))
    return writer
  }

  #startHere(): MessagePort {
    const { port1, port2 } = new MessageChannel()
    // The port keeps the messages until the writer is loaded.
    void import('./append-loop.js').then(({ runWriter }) => runWriter(this.directory, port2, false))
    // Wait for the close of the other port, like for the end of a thread.
    port1.start()
    port1.ref()
    return port1
  }

  #startThread(): Worker {
    const worker = new Worker(new URL('./log-writer.js', import.meta.url), {
      workerData: { directory: this.directory },
    })
    let reason = 'the log writer ended'
    worker.on('error', (error) => {
      reason = `the log writer crashed: ${error.message}`
    })
    worker.on('exit', () => {
      this.client.disconnect(reason)
      if (!this.#closed) this.#restart = setTimeout(() => this.#replace(), restartMs)
    })
    return worker
  }

  #replace(): void {
    this.#worker = this.#start()
    for (const shared of this.#shared) this.#connectShared(shared)
  }

  #connect(worker: Worker | MessagePort): MessagePort {
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
