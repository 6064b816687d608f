import { fork } from 'node:child_process'
import { once } from 'node:events'
import { fileURLToPath } from 'node:url'
import type { FromReceiver, Received, ToReceiver } from './bench-receiver-process.js'

export interface Receiver {
  readonly port: number
  readonly pid: number
  /** Sets the status of all further responses, initially 200. Only requests with a 2xx response count as received. */
  respondWith(status: number): void
  received(): Promise<Received>
  stop(): Promise<void>
}

/** Starts an endpoint in a separate process. */
export async function startReceiver(): Promise<Receiver> {
  const child = fork(fileURLToPath(new URL('bench-receiver-process.js', import.meta.url)))
  const next = async () => (await once(child, 'message'))[0] as FromReceiver
  const send = (message: ToReceiver) => child.send(message)
  const first = await next()
  if (!('port' in first)) throw new Error('the receiver did not send its port first')
  return {
    port: first.port,
    pid: child.pid!,
    respondWith: (respondWith) => void send({ respondWith }),
    async received() {
      const response = next()
      send('received')
      const message = await response
      if (!('received' in message)) throw new Error('the receiver sent an unexpected message')
      return message.received
    },
    async stop() {
      child.disconnect()
      if (child.exitCode === null) await once(child, 'exit')
    },
  }
}
