import { createHash, createHmac, timingSafeEqual } from 'node:crypto'
import { once } from 'node:events'
import { createServer, type IncomingHttpHeaders, type IncomingMessage, type ServerResponse } from 'node:http'

/** What a merchant keeps of the service's credentials. */
export interface Credentials {
  readonly webApiKey: string
  readonly secretKey: string
  /** `whsec_` and base64. */
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

/** A merchant's endpoint: verifies each callback, hands it over once, and answers 200; 400 to anything else. */
export class CallbackEndpoint {
  /** Why callbacks were not believed, if any were not. */
  readonly rejected: string[] = []
  private readonly seen = new Set<string>()
  private credentials: Credentials | undefined

  constructor(private readonly onCallback: (callback: Callback) => void) {}

  trust(credentials: Credentials): void {
    this.credentials = credentials
  }

  async receive(request: IncomingMessage, response: ServerResponse): Promise<void> {
    try {
      if (!this.credentials) throw new Error('there are no credentials yet')
      const body = await read(request)
      const { webhookId, callback } = verify(body, request.headers, this.credentials)
      // At least once means sometimes twice: the id tells.
      if (!this.seen.has(webhookId)) this.onCallback(callback)
      this.seen.add(webhookId)
      response.writeHead(200).end()
    } catch (error) {
      this.rejected.push((error as Error).message)
      response.writeHead(400).end()
    }
  }
}

/** A server on loopback with nothing but the endpoint. */
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

/** @throws Error when it is larger than anything that is expected */
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

/** The signature covers the whole body, the hash only amount and reference: check both, the signature first. */
function verify(body: string, headers: IncomingHttpHeaders, { secretKey, webhookSecret }: Credentials) {
  const webhookId = String(headers['webhook-id'])
  const timestamp = String(headers['webhook-timestamp'])
  if (Math.abs(Date.now() / 1000 - Number(timestamp)) > maxAgeSeconds) throw new Error('the timestamp is too old')
  const key = Buffer.from(webhookSecret.replace('whsec_', ''), 'base64')
  const signature = `v1,${createHmac('sha256', key).update(`${webhookId}.${timestamp}.${body}`).digest('base64')}`
  // There are two while a secret rotates.
  const signatures = String(headers['webhook-signature']).split(' ')
  if (!signatures.some((candidate) => equal(candidate, signature))) throw new Error('the signature is wrong')

  const callback = JSON.parse(body) as Callback
  // The hash is over the amount as it is written: 100.50 and 100.5 are the same number and hash differently.
  const amountText = /"Amount":([^,}]+)/.exec(body)?.[1]
  const hash = createHash('md5').update(`${secretKey}${amountText}${callback.RefereneceId}`).digest('hex')
  if (!equal(callback.HashCode, hash.toUpperCase())) throw new Error('the HashCode is wrong')
  return { webhookId, callback }
}

function equal(a: string, b: string): boolean {
  return a.length === b.length && timingSafeEqual(Buffer.from(a), Buffer.from(b))
}
