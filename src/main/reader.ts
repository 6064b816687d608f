import { once } from 'node:events'
import { type MessagePort, workerData } from 'node:worker_threads'
import { serveReads } from '../readers/reader-server.js'
import { openThread, type ThreadData } from './thread.js'

/** Serves reads on its own connections. Throws if a store is unavailable: the reads fail, and the next one tries again. */
async function run({ port, ...data }: ThreadData & { readonly port: MessagePort }) {
  const closed = once(port, 'close')
  const { store, readModels, merchants, close } = await openThread('reader', data)
  await merchants.start()
  serveReads(port, { store, readModels, merchants })
  await closed
  await close()
}

await run(workerData)
