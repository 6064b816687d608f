import { setPriority } from 'node:os'
import { parentPort, workerData } from 'node:worker_threads'
import { MerchantDirectory } from '../commands/merchant-directory.js'
import { attachEmbeddedEventStore, type EventStoreHandle } from '../event-store/embedded/embedded-event-store.js'
import { openEmbeddedReadModels } from '../read-models/embedded/embedded-read-models.js'
import { createSecretBox } from '../security/secret-box.js'
import type { Configuration } from './configuration.js'
import { createLogger } from './logger.js'

/** What the thread starts with. */
export interface BackgroundData {
  readonly configuration: Configuration
  readonly masterKey: Uint8Array
  /** Transferred. */
  readonly eventStore: EventStoreHandle
}

export type ToBackground = { readonly kind: 'stop' }
export type FromBackground = { readonly kind: 'started' } | { readonly kind: 'alive' }

/** Requests come first where cores are few; what this thread does may be a moment late. */
const niceness = 5
const aliveEveryMs = 1_000

async function run(port: NonNullable<typeof parentPort>, data: BackgroundData): Promise<void> {
  yieldToRequests()
  const { configuration } = data
  const logger = createLogger(configuration.logLevel, 'background')
  const clock = () => new Date().toISOString()
  const store = attachEmbeddedEventStore(data.eventStore)
  const readModels = await openEmbeddedReadModels({ directory: configuration.readModelDirectory })
  const box = createSecretBox(Buffer.from(data.masterKey))
  const directory = new MerchantDirectory(store, box, clock, (err) => logger.error({ err }, 'merchant directory'))
  await directory.start()
  const parts: { stop(): Promise<void> }[] = []
  const send = (message: FromBackground) => port.postMessage(message)
  send({ kind: 'started' })
  const alive = setInterval(() => send({ kind: 'alive' }), aliveEveryMs)

  port.once('message', async (_: ToBackground) => {
    await Promise.all(parts.map((part) => part.stop()))
    await directory.stop()
    await readModels.close()
    await store.close()
    clearInterval(alive)
    port.close()
  })
}

/** On Linux a priority is a thread's own; elsewhere this would slow the whole process. */
function yieldToRequests(): void {
  if (process.platform === 'linux') setPriority(0, niceness)
}

if (!parentPort) throw new Error('background.js runs as a worker thread')
await run(parentPort, workerData as BackgroundData)
