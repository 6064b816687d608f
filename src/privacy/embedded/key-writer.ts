import { parentPort, workerData } from 'node:worker_threads'
import type { KeptKey } from '../customer-keys.js'
import { KeyFile } from './key-file.js'

/** A thread that waits for the disk, so that other threads do not. Each message is a commit. */

export interface ToKeyWriter {
  readonly number: number
  readonly keys: readonly KeptKey[]
}

export type FromKeyWriter =
  | { readonly number: number; readonly kept: readonly KeptKey[] }
  | { readonly number: number; readonly failure: string }

const port = parentPort
if (!port) throw new Error('key-writer.js runs as a worker thread')
let file: KeyFile | undefined

port.on('message', (message: ToKeyWriter | 'close') => {
  if (message === 'close') {
    file?.close()
    return port.close()
  }
  const { number, keys } = message
  let response: FromKeyWriter
  try {
    file ??= KeyFile.open(workerData as string)
    response = { number, kept: file.ensure(keys) }
  } catch (error) {
    response = { number, failure: error instanceof Error ? error.message : String(error) }
  }
  port.postMessage(response)
})
