import { MessageChannel, type MessagePort, type Transferable, Worker } from 'node:worker_threads'
import type { Logger } from 'pino'
import type { ThreadData } from './thread.js'

/** A page of the log with its decoded events takes a few megabytes. */
const maxHeapMiB = 512

interface ReaderThreadOptions {
  /** Creates the data for each start of the thread, and the list of objects to transfer. */
  readonly data: () => { readonly data: ThreadData; readonly transfer: readonly Transferable[] }
  readonly logger: Logger
}

/** Starts the thread of all reads that can look at more than a few rows, so that they never delay the main thread. */
export class ReaderThread {
  #ended: Promise<unknown> = Promise.resolve()

  constructor(private readonly options: ReaderThreadOptions) {}

  /** Returns the port of a new thread. The thread ends when the port is closed, and closes it if it fails. */
  start(): MessagePort {
    const { data, transfer } = this.options.data()
    const { port1: port, port2 } = new MessageChannel()
    const worker = new Worker(new URL('./reader.js', import.meta.url), {
      workerData: { ...data, port: port2 } satisfies ThreadData & { readonly port: MessagePort },
      transferList: [...transfer, port2],
      name: 'reader',
      resourceLimits: { maxOldGenerationSizeMb: maxHeapMiB },
    })
    worker.on('error', (err) =>
      this.options.logger.error({ err }, 'the reader thread failed; the next read restarts it'),
    )
    this.#ended = new Promise<void>((resolve) => worker.once('exit', () => resolve())).then(() => port.close())
    return port
  }

  /** Resolves when the thread has ended, after its port is closed. */
  async stop(): Promise<void> {
    await this.#ended
  }
}
