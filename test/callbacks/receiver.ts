import { createServer, type IncomingHttpHeaders, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'

/** A tap test, or any object with its `teardown`. */
export interface Teardown {
  teardown(work: () => unknown): unknown
}

export interface Received {
  readonly headers: IncomingHttpHeaders
  readonly text: string
  readonly body: { readonly [field: string]: unknown }
  readonly trackingId: string
  readonly webhookId: string
  readonly revision: number
}

/** The endpoint's reaction to a callback, after the callback was added to `received`. */
export type Behaviour = (received: Received, response: ServerResponse, request: IncomingMessage) => void

export const accepts: Behaviour = (_received, response) => void response.writeHead(200).end('ok')

export interface Receiver {
  readonly url: string
  readonly received: Received[]
  behave: Behaviour
  /** Closes all connections and frees the port. */
  close(): Promise<void>
}

/** Starts a merchant's endpoint on loopback with a behaviour that the test can change. */
export async function startReceiver(t: Teardown, behaviour: Behaviour = accepts, port = 0): Promise<Receiver> {
  const server = createServer((request, response) => {
    const chunks: Buffer[] = []
    request.on('data', (chunk: Buffer) => chunks.push(chunk))
    request.on('error', () => undefined)
    response.on('error', () => undefined)
    request.on('end', () => {
      const text = Buffer.concat(chunks).toString('utf8')
      const body = JSON.parse(text) as Received['body']
      const { headers } = request
      const received = {
        headers,
        text,
        body,
        trackingId: String(body.TrackingId),
        webhookId: String(headers['webhook-id']),
        revision: Number(headers['x-transfer-revision']),
      }
      receiver.received.push(received)
      receiver.behave(received, response, request)
    })
  })
  await new Promise<void>((resolve) => server.listen(port, '127.0.0.1', resolve))
  const close = async () => {
    server.closeAllConnections()
    await new Promise((resolve) => server.close(resolve))
  }
  const receiver: Receiver = {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/callbacks`,
    received: [],
    behave: behaviour,
    close,
  }
  t.teardown(close)
  return receiver
}
