import { createHash, createHmac, timingSafeEqual } from 'node:crypto'
import { once } from 'node:events'
import { createServer, type IncomingHttpHeaders, type IncomingMessage, type ServerResponse } from 'node:http'

/** The credentials of a merchant. */
export interface Credentials {
  readonly webApiKey: string
  readonly secretKey: string
  /** The secret: `whsec_` followed by base64. */
  readonly webhookSecret: string
}

/** The ten fields of a callback. RefereneceId is spelled as the specification spells it. */
export interface Callback {
  readonly Status: number
  readonly StatusDescription: string
  readonly TrackingId: string
  readonly RefereneceId: string
  readonly HashCode: string
  readonly Message: string | null
  readonly Amount: number
  readonly TransactionAmount: number
  readonly HasAmountMismatch: boolean
  readonly ReceiptUrl: string
}

const maxBodyBytes = 64 * 1024
const maxAgeSeconds = 300

/** A merchant's endpoint. It verifies each callback, passes it on once and responds with 200, or with 400 to an invalid request. */
export class CallbackEndpoint {
  /** The reasons for which requests were rejected. */
  readonly rejected: string[] = []
  private readonly seen = new Set<string>()
  private credentials: Credentials | undefined

  constructor(private readonly onCallback: (callback: Callback) => void) {}

  trust(credentials: Credentials): void {
    this.credentials = credentials
  }

  async receive(request: IncomingMessage, response: ServerResponse): Promise<void> {
    try {
      if (!this.credentials) throw new Error('the credentials are not set yet')
      const body = await read(request)
      const { webhookId, callback } = verify(body, request.headers, this.credentials)
      // Delivery is at least once, so the id identifies repeated callbacks.
      if (!this.seen.has(webhookId)) this.onCallback(callback)
      this.seen.add(webhookId)
      response.writeHead(200).end()
    } catch (error) {
      this.rejected.push((error as Error).message)
      response.writeHead(400).end()
    }
  }
}

/** Starts a server on loopback that only has the endpoint. */
export async function startReceiver(onCallback: (callback: Callback) => void) {
  const endpoint = new CallbackEndpoint(onCallback)
  const server = createServer((request, response) => endpoint.receive(request, response))
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  const { port } = server.address() as { port: number }
  return {
    url: `http://127.0.0.1:${port}/callbacks`,
    rejected: endpoint.rejected,
    trust: (credentials: Credentials) => endpoint.trust(credentials),
    close: () => server.close(),
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

/** Verifies the signature, which covers the whole body, and then the hash, which only covers the amount and the reference. */
function verify(body: string, headers: IncomingHttpHeaders, { secretKey, webhookSecret }: Credentials) {
  const webhookId = String(headers['webhook-id'])
  const timestamp = String(headers['webhook-timestamp'])
  if (Math.abs(Date.now() / 1000 - Number(timestamp)) > maxAgeSeconds) throw new Error('the timestamp is too old')
  const key = Buffer.from(webhookSecret.replace('whsec_', ''), 'base64')
  const signature = `v1,${createHmac('sha256', key).update(`${webhookId}.${timestamp}.${body}`).digest('base64')}`
  // During the rotation of a secret, the header contains two signatures.
  const signatures = String(headers['webhook-signature']).split(' ')
  if (!signatures.some((candidate) => equal(candidate, signature))) throw new Error('invalid signature')

  const callback = JSON.parse(body) as Callback
  // The hash covers the text of the amount: 100.50 and 100.5 are the same number but have different hashes.
  const amountText = /"Amount":([^,}]+)/.exec(body)?.[1]
  const hash = createHash('md5').update(`${secretKey}${amountText}${callback.RefereneceId}`).digest('hex')
  if (!equal(callback.HashCode, hash.toUpperCase())) throw new Error('invalid HashCode')
  return { webhookId, callback }
}

function equal(a: string, b: string): boolean {
  return a.length === b.length && timingSafeEqual(Buffer.from(a), Buffer.from(b))
}
