import { parentPort, workerData } from 'node:worker_threads'
import { type FromKeyWriter, type KeyFile, openKeyFile, type ToKeyWriter } from './embedded-key-store.js'

/** A thread that waits for the disk, so that other threads do not. Each message is a commit, and each has one response, in order. */

const port = parentPort
if (!port) throw new Error('key-writer.js runs as a worker thread')
let file: KeyFile | undefined

port.on('message', (message: ToKeyWriter) => {
  if (message === 'close') {
    file?.close()
    return port.close()
  }
  let response: FromKeyWriter
  try {
    file ??= openKeyFile(workerData as string)
    response = { kept: file.ensure(message) }
  } catch (error) {
    response = { failure: error instanceof Error ? error.message : String(error) }
  }
  port.postMessage(response)
})
