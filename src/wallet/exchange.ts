import { request as httpRequest, type IncomingMessage } from 'node:http'
import { request as httpsRequest } from 'node:https'

export interface ExchangeRequest {
  readonly method: 'GET' | 'POST'
  readonly url: string
  readonly token: string
  readonly headers?: { readonly [name: string]: string }
  readonly body?: object
  /** The limit for the whole exchange: name lookup, connection, TLS and response. */
  readonly timeoutMs: number
}

export type ExchangeResponse = { readonly status: number; readonly text: string }

/** No complete response arrived. The message is a short code that contains nothing of the request or the response. */
export class ExchangeFailedError extends Error {
  override readonly name = 'ExchangeFailedError'
  constructor(
    reason: string,
    /** `false` if no connection was established, so that the request cannot have had an effect. */
    readonly mayHaveArrived: boolean,
  ) {
    super(reason)
  }
}

const maxResponseBytes = 65_536

/** Sends one request on its own connection, because a reused one may be closed before the request arrives. @throws ExchangeFailedError */
export function exchange({ method, url, token, headers, body, timeoutMs }: ExchangeRequest): Promise<ExchangeResponse> {
  const payload = body === undefined ? undefined : Buffer.from(JSON.stringify(body))
  const isTls = url.startsWith('https:')
  return new Promise((resolve, reject) => {
    let isConnected = false
    let isLate = false
    const request = (isTls ? httpsRequest : httpRequest)(url, {
      method,
      agent: false,
      headers: {
        accept: 'application/json',
        authorization: `Bearer ${token}`,
        ...(payload && { 'content-type': 'application/json', 'content-length': payload.length }),
        ...headers,
      },
    })
    const deadline = setTimeout(() => {
      isLate = true
      request.destroy(new Error())
    }, timeoutMs)
    const fail = (error: Error) => {
      clearTimeout(deadline)
      request.destroy()
      const { code } = error as NodeJS.ErrnoException
      reject(new ExchangeFailedError(isLate ? 'no response in time' : (code ?? error.message), isConnected))
    }
    request.on('socket', (socket) => {
      socket.once(isTls ? 'secureConnect' : 'connect', () => (isConnected = true))
    })
    request.on('error', fail)
    request.on('response', (response) => {
      readText(response).then((text) => {
        clearTimeout(deadline)
        resolve({ status: response.statusCode ?? 0, text })
      }, fail)
    })
    request.end(payload)
  })
}

async function readText(response: IncomingMessage): Promise<string> {
  const chunks: Buffer[] = []
  let bytes = 0
  for await (const chunk of response as AsyncIterable<Buffer>) {
    bytes += chunk.length
    if (bytes > maxResponseBytes) throw new Error('the response is too long')
    chunks.push(chunk)
  }
  return Buffer.concat(chunks).toString('utf8')
}
