/**
 * A minimal merchant's endpoint, so that a bench measures the sender: HTTP/1.1 on sockets, keep-alive, and an empty response. It counts
 * callbacks by `webhook-id`. bench-receiver.ts starts it and queries it over the channel to the parent process.
 */
import { createServer, type Socket } from 'node:net'

export interface Received {
  readonly requests: number
  /** The number of different webhook-ids. */
  readonly callbacks: number
  /** The times in milliseconds since the epoch of the first request after the last change of the status, and of the last one; or 0. */
  readonly firstAtMs: number
  readonly lastAtMs: number
}

export type ToReceiver = { readonly respondWith: number } | 'received'
export type FromReceiver = { readonly port: number } | { readonly received: Received }

const headEnd = '\r\n\r\n'
const ids = new Set<string>()
let requests = 0
let firstAtMs = 0
let lastAtMs = 0
let response = responseWith(200)

function responseWith(status: number): string {
  return `HTTP/1.1 ${status} Bench\r\ncontent-length: 0\r\n\r\n`
}

function onConnection(socket: Socket): void {
  let pending = ''
  socket.setNoDelay(true)
  socket.on('error', () => socket.destroy())
  socket.on('data', (chunk) => {
    pending += chunk.toString('latin1')
    let responses = ''
    for (;;) {
      const end = pending.indexOf(headEnd)
      if (end < 0) break
      const head = pending.slice(0, end)
      const next = end + headEnd.length + Number(/\r\ncontent-length: (\d+)/i.exec(head)?.[1] ?? 0)
      if (pending.length < next) break
      pending = pending.slice(next)
      const id = /\r\nwebhook-id: ([^\r]+)/i.exec(head)?.[1]
      if (id !== undefined && response.startsWith('HTTP/1.1 2')) ids.add(id)
      requests++
      responses += response
    }
    if (responses === '') return
    lastAtMs = Date.now()
    firstAtMs ||= lastAtMs
    socket.write(responses)
  })
}

function send(message: FromReceiver): void {
  process.send?.(message)
}

const server = createServer(onConnection).listen(0, '127.0.0.1', () => {
  const address = server.address()
  if (address === null || typeof address === 'string') throw new Error('no port')
  send({ port: address.port })
})
process.on('message', (message: ToReceiver) => {
  if (message === 'received') send({ received: { requests, callbacks: ids.size, firstAtMs, lastAtMs } })
  else {
    response = responseWith(message.respondWith)
    firstAtMs = 0
  }
})
process.on('disconnect', () => process.exit())
