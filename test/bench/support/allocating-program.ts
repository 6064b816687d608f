import { once } from 'node:events'
import { isMainThread, parentPort, Worker } from 'node:worker_threads'
import { arrayLength, arraysInMain, arraysInWorker } from './allocated-arrays.js'

/** A program that allocates known numbers of arrays in two threads when its parent process sends a message. */

/** Otherwise the compiler would remove the allocations. */
const kept: unknown[] = []

function allocate(arrays: number): void {
  for (let n = 0; n < arrays; n++) kept[n % 16] = new Array(arrayLength)
}

if (isMainThread) {
  const worker = new Worker(new URL(import.meta.url))
  await once(worker, 'message')
  process.on('message', async () => {
    allocate(arraysInMain)
    worker.postMessage('allocate')
    await once(worker, 'message')
    process.send!('allocated')
  })
  process.once('disconnect', () => process.exit())
  process.send!('started')
} else {
  parentPort!.on('message', () => {
    allocate(arraysInWorker)
    parentPort!.postMessage('allocated')
  })
  parentPort!.postMessage('started')
}
