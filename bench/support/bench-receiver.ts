import { fork } from 'node:child_process'
import { once } from 'node:events'
import { fileURLToPath } from 'node:url'
import type { FromReceiver, Received, ToReceiver } from './bench-receiver-process.js'

export interface Receiver {
  readonly port: number
  readonly pid: number
  /** The status of all answers from now on; 200 at first. Only what was answered 2xx counts as received. */
  answerWith(status: number): void
  received(): Promise<Received>
  stop(): Promise<void>
}

/** An endpoint in a process of its own. */
export async function startReceiver(): Promise<Receiver> {
  const child = fork(fileURLToPath(new URL('bench-receiver-process.js', import.meta.url)))
  const next = async () => (await once(child, 'message'))[0] as FromReceiver
  const ask = (message: ToReceiver) => child.send(message)
  const first = await next()
  if (!('port' in first)) throw new Error('the receiver did not begin with its port')
  return {
    port: first.port,
    pid: child.pid!,
    answerWith: (answerWith) => void ask({ answerWith }),
    async received() {
      const answer = next()
      ask('received')
      const message = await answer
      if (!('received' in message)) throw new Error('the receiver answered something else')
      return message.received
    },
    async stop() {
      child.disconnect()
      if (child.exitCode === null) await once(child, 'exit')
    },
  }
}
