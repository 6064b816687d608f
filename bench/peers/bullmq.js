/** BullMQ on Redis: a queue of callbacks and a worker in this process. The parent process controls it. */
import { Queue, UnrecoverableError, Worker } from 'bullmq'
import { Redis } from 'ioredis'
import { readOptions } from './app.js'
import { callbackSender, jitter, recordBacklog, retryDelaysSeconds } from './callback.js'

/** The concurrency. 16, 64 and 256 were equally fast on two cores. */
const concurrency = 64

const { merchant, redis, receiverPort } = readOptions()
const connection = new Redis({ ...redis, maxRetriesPerRequest: null })
const queue = new Queue('callbacks', { connection })
const send = callbackSender(merchant, receiverPort, concurrency)

async function deliver({ id, data }) {
  const status = await send(id, data)
  if (status === 410) throw new UnrecoverableError('gone')
  if (status >= 300) throw new Error(`http ${status}`)
}

const worker = new Worker('callbacks', deliver, {
  connection: connection.duplicate(),
  concurrency,
  settings: { backoffStrategy: (failures) => retryDelaysSeconds[failures - 1] * 1_000 },
})

const opts = {
  attempts: retryDelaysSeconds.length + 1,
  backoff: { type: 'custom', jitter },
  removeOnComplete: true,
}

process.on('message', async ({ record: count }) => {
  if (count === undefined) return queue.resume()
  await queue.pause()
  await recordBacklog(count, (callbacks) =>
    queue.addBulk(
      callbacks.map(({ id, transfer }) => ({ name: 'callback', data: transfer, opts: { ...opts, jobId: id } })),
    ),
  )
  process.send('recorded')
})
process.once('disconnect', () => process.exit())
worker.on('error', console.error)
await worker.waitUntilReady()
process.send('started')
