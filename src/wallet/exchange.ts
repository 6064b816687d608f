import { request as httpRequest, type IncomingMessage } from 'node:http'
import { request as httpsRequest } from 'node:https'

export interface ExchangeRequest {
  readonly method: 'GET' | 'POST'
  readonly url: string
  readonly token: string
  readonly headers?: { readonly [name: string]: string }
  /** Sent as JSON. */
  readonly body?: object
  /** For all of it: looking the name up, connecting, TLS, and the whole answer. */
  readonly timeoutMs: number
}

export interface ExchangeAnswer {
  readonly status: number
  readonly text: string
}

/** No whole answer came. The message is a short code, without anything of the request or the answer. */
export class ExchangeFailedError extends Error {
  override readonly name = 'ExchangeFailedError'
  constructor(
    reason: string,
    /** False: the connection never came about, so that nothing can have been done. */
    readonly mayHaveArrived: boolean,
  ) {
    super(reason)
  }
}

const maxAnswerBytes = 65_536

/**
 * One request on a connection of its own: on a connection that is kept, a server that closes it at that moment could not be
 * told from one that took the request and died. Redirects are answers, not followed. @throws ExchangeFailedError
 */
export function exchange({ method, url, token, headers, body, timeoutMs }: ExchangeRequest): Promise<ExchangeAnswer> {
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
      reject(new ExchangeFailedError(isLate ? 'no answer in time' : (code ?? error.message), isConnected))
    }
    request.on('socket', (socket) => {
      socket.once(isTls ? 'secureConnect' : 'connect', () => {
        isConnected = true
      })
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
    if (bytes > maxAnswerBytes) throw new Error('the answer is too long')
    chunks.push(chunk)
  }
  return Buffer.concat(chunks).toString('utf8')
}
