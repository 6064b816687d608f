import { STATUS_CODES } from 'node:http'
import type { Socket } from 'node:net'
import { failureEnvelope } from '../envelope.js'
import { type RefusalName, RequestError, refusals } from '../refusals.js'

/** Responds on the socket to input that cannot be parsed as a request. */
export function answerClientError(error: NodeJS.ErrnoException, socket: Socket): void {
  if (error.code !== 'ECONNRESET' && socket.writable) {
    const refusal = refusalOf(error)
    const { status } = refusals[refusal]
    const body = JSON.stringify(failureEnvelope(new RequestError(refusal)))
    const head = `HTTP/1.1 ${status} ${STATUS_CODES[status]}\r\nConnection: close\r\n`
    socket.write(
      `${head}Content-Type: application/json; charset=utf-8\r\nContent-Length: ${body.length}\r\n\r\n${body}`,
    )
  }
  socket.destroySoon()
}

function refusalOf({ code }: NodeJS.ErrnoException): RefusalName {
  if (code === 'ERR_HTTP_REQUEST_TIMEOUT') return 'request-timeout'
  if (code === 'HPE_HEADER_OVERFLOW') return 'headers-too-large'
  return 'malformed-request'
}
