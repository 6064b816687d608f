import type { IncomingMessage, ServerResponse } from 'node:http'
import { type Callback, verifyCallback } from '@transferd/client'

/** The credentials of a merchant. */
export interface Credentials {
  readonly webApiKey: string
  readonly secretKey: string
  /** The secret: `whsec_` followed by base64. */
  readonly webhookSecret: string
}

const maxBodyBytes = 64 * 1024

/** A merchant's endpoint. It verifies each callback, passes it on once and responds with 200, or with 400 to an invalid request. */
export class CallbackEndpoint {
  /** The reasons for which requests were rejected. */
  readonly rejected: string[] = []
  private readonly handled = new Set<string>()
  private credentials: Credentials | undefined

  constructor(private readonly onCallback: (callback: Callback) => void) {}

  trust(credentials: Credentials): void {
    this.credentials = credentials
  }

  async receive(request: IncomingMessage, response: ServerResponse): Promise<void> {
    try {
      if (!this.credentials) throw new Error('the credentials are not set yet')
      const isHandled = (id: string) => this.handled.has(id)
      const options = { ...this.credentials, isHandled }
      const { callback, webhookId, isRepeated } = await verifyCallback(await read(request), request.headers, options)
      if (!isRepeated) this.onCallback(callback)
      this.handled.add(webhookId)
      response.writeHead(200).end()
    } catch (error) {
      this.rejected.push((error as Error).message)
      response.writeHead(400).end()
    }
  }
}

/** Reads the body of a request. @throws Error if it exceeds the limit */
export async function read(request: IncomingMessage): Promise<string> {
  const chunks: Buffer[] = []
  let bytes = 0
  for await (const chunk of request as AsyncIterable<Buffer>) {
    bytes += chunk.length
    if (bytes > maxBodyBytes) throw new Error('the body is too large')
    chunks.push(chunk)
  }
  return Buffer.concat(chunks).toString('utf8')
}
