/**
 * A merchant's endpoint as small as it can be, so that a bench measures who sends: HTTP/1.1 over sockets, keep-alive, an empty answer. It
 * counts what arrives by its `webhook-id`. Started by bench-receiver.ts, which asks over the channel to the parent process.
 */
import { createServer, type Socket } from 'node:net'

export interface Received {
  readonly requests: number
  /** Of different webhook-ids. */
  readonly callbacks: number
  /** Milliseconds since the epoch at which the first one came after it was told what to answer, and the last one; 0 before any. */
  readonly firstAtMs: number
  readonly lastAtMs: number
}

export type ToReceiver = { readonly answerWith: number } | 'received'
export type FromReceiver = { readonly port: number } | { readonly received: Received }

const headEnd = '\r\n\r\n'
const ids = new Set<string>()
let requests = 0
let firstAtMs = 0
let lastAtMs = 0
let answer = answerOf(200)

function answerOf(status: number): string {
  return `HTTP/1.1 ${status} Bench\r\ncontent-length: 0\r\n\r\n`
}

function onConnection(socket: Socket): void {
  let pending = ''
  socket.setNoDelay(true)
  socket.on('error', () => socket.destroy())
  socket.on('data', (chunk) => {
    pending += chunk.toString('latin1')
    let answers = ''
    for (;;) {
      const end = pending.indexOf(headEnd)
      if (end < 0) break
      const head = pending.slice(0, end)
      const next = end + headEnd.length + Number(/\r\ncontent-length: (\d+)/i.exec(head)?.[1] ?? 0)
      if (pending.length < next) break
      pending = pending.slice(next)
      const id = /\r\nwebhook-id: ([^\r]+)/i.exec(head)?.[1]
      if (id !== undefined && answer.startsWith('HTTP/1.1 2')) ids.add(id)
      requests++
      answers += answer
    }
    if (answers === '') return
    lastAtMs = Date.now()
    firstAtMs ||= lastAtMs
    socket.write(answers)
  })
}

function tell(message: FromReceiver): void {
  process.send?.(message)
}

const server = createServer(onConnection).listen(0, '127.0.0.1', () => {
  const address = server.address()
  if (address === null || typeof address === 'string') throw new Error('no port')
  tell({ port: address.port })
})
process.on('message', (message: ToReceiver) => {
  if (message === 'received') tell({ received: { requests, callbacks: ids.size, firstAtMs, lastAtMs } })
  else {
    answer = answerOf(message.answerWith)
    firstAtMs = 0
  }
})
process.on('disconnect', () => process.exit())
