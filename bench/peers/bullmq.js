/**
 * BullMQ on Redis: a queue of callbacks, and a worker in this process that signs each callback and sends it over open connections. It has
 * transferd's schedule of attempts and uses transferd's undici. The parent process controls it.
 */
import { createHash, createHmac, randomUUID } from 'node:crypto'
import { Queue, UnrecoverableError, Worker } from 'bullmq'
import { Redis } from 'ioredis'
import { Pool } from 'undici'
import { readOptions } from './app.js'

/** The concurrency. 16, 64 and 256 were equally fast on two cores. */
const concurrency = 64
const timeoutMs = 15_000
const jobsPerCall = 1_000
const retryDelaysSeconds = [5, 300, 1_800, 7_200, 18_000, 36_000, 50_400, 72_000, 86_400]

const { merchant, redis, receiverPort } = readOptions()
const connection = new Redis({ ...redis, maxRetriesPerRequest: null })
const queue = new Queue('callbacks', { connection })
const key = Buffer.from(merchant.webhookSecret.slice('whsec_'.length), 'base64')
const receiver = new Pool(`http://127.0.0.1:${receiverPort}`, { connections: concurrency })

function bodyOf({ trackingId, referenceId, amount }) {
  const hash = createHash('md5').update(`${merchant.secretKey}${amount}${referenceId}`).digest('hex').toUpperCase()
  return JSON.stringify({
    Status: 1,
    StatusDescription: 'Pending',
    TrackingId: trackingId,
    RefereneceId: referenceId,
    HashCode: hash,
    Message: null,
    Amount: amount,
    TransactionAmount: 0,
    HasAmountMismatch: false,
    ReceiptUrl: '',
  })
}

async function deliver({ id, data }) {
  const body = bodyOf(data)
  const timestamp = Math.floor(Date.now() / 1_000)
  const headers = {
    'content-type': 'application/json',
    'webhook-id': id,
    'webhook-timestamp': String(timestamp),
    'webhook-signature': `v1,${createHmac('sha256', key).update(`${id}.${timestamp}.${body}`).digest('base64')}`,
  }
  const response = await receiver.request({
    method: 'POST',
    path: '/',
    headers,
    body,
    headersTimeout: timeoutMs,
    bodyTimeout: timeoutMs,
  })
  await response.body.dump()
  if (response.statusCode === 410) throw new UnrecoverableError('gone')
  if (response.statusCode >= 300) throw new Error(`http ${response.statusCode}`)
}

const worker = new Worker('callbacks', deliver, {
  connection: connection.duplicate(),
  concurrency,
  settings: { backoffStrategy: (failures) => retryDelaysSeconds[failures - 1] * 1_000 },
})

/** Records a backlog of callbacks, which requests would have added earlier. */
async function record(count) {
  const opts = {
    attempts: retryDelaysSeconds.length + 1,
    backoff: { type: 'custom', jitter: 0.1 },
    removeOnComplete: true,
  }
  for (let done = 0; done < count; done += jobsPerCall) {
    const jobs = Array.from({ length: Math.min(jobsPerCall, count - done) }, () => {
      const data = { trackingId: randomUUID(), referenceId: randomUUID(), amount: 100 }
      return { name: 'callback', data, opts: { ...opts, jobId: `msg_${randomUUID()}` } }
    })
    await queue.addBulk(jobs)
  }
}

process.on('message', async ({ record: count }) => {
  if (count === undefined) return queue.resume()
  await queue.pause()
  await record(count)
  process.send('recorded')
})
process.once('disconnect', () => process.exit())
worker.on('error', console.error)
await worker.waitUntilReady()
process.send('started')
