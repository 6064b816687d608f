/**
 * Graphile Worker on PostgreSQL: a table of jobs and a worker in this process, with a local queue and batches of completions, which its
 * documentation recommends for high rates. Its own delays between attempts cannot be changed, so a failed attempt adds the next one with
 * the same job key. The parent process controls it.
 */
import { Logger, makeWorkerUtils, run } from 'graphile-worker'
import { readOptions } from './app.js'
import { callbackSender, jitter, recordBacklog, retryDelaysSeconds } from './callback.js'

/** The settings with the least processor time on two cores; see the README for the others. */
const concurrency = 64
const localQueueSize = 500
const batchDelayMs = 50

const { merchant, database, receiverPort } = readOptions()
const { user, host, port } = database
const connectionString = `postgresql://${user}@localhost:${port}/${database.database}?host=${encodeURIComponent(host)}`
const send = callbackSender(merchant, receiverPort, concurrency)
/** By default, the worker logs every job. */
const logger = new Logger(() => (level, message) => {
  if (level === 'error' || level === 'warning') console.error(message)
})
const utils = await makeWorkerUtils({ connectionString, logger })
await utils.migrate()

async function deliver({ attempt, ...transfer }, { job, addJob }) {
  const status = await send(job.key, transfer).catch(() => 0)
  if ((status >= 200 && status < 300) || status === 410 || attempt > retryDelaysSeconds.length) return
  const delayMs = retryDelaysSeconds[attempt - 1] * 1_000 * (1 + jitter * Math.random())
  const runAt = new Date(Date.now() + delayMs)
  await addJob('callback', { ...transfer, attempt: attempt + 1 }, { jobKey: job.key, runAt })
}

function startWorker() {
  return run({
    connectionString,
    logger,
    noHandleSignals: true,
    taskList: { callback: deliver },
    preset: {
      worker: {
        concurrentJobs: concurrency,
        maxPoolSize: concurrency + 2,
        localQueue: { size: localQueueSize },
        completeJobBatchDelay: batchDelayMs,
        failJobBatchDelay: batchDelayMs,
      },
    },
  })
}

let runner
process.on('message', async ({ record: count }) => {
  if (count === undefined) {
    runner = await startWorker()
    return
  }
  await runner?.stop()
  await recordBacklog(count, (callbacks) =>
    utils.addJobs(
      callbacks.map(({ id, transfer }) => ({
        identifier: 'callback',
        payload: { ...transfer, attempt: 1 },
        jobKey: id,
      })),
    ),
  )
  process.send('recorded')
})
process.once('disconnect', () => process.exit())
process.send('started')
