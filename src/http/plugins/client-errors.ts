import { STATUS_CODES } from 'node:http'
import type { Socket } from 'node:net'
import { type Failure, failureEnvelope, failures } from '../errors.js'

/** Answers what is not HTTP enough to become a request, on the bare socket. */
export function answerClientError(error: NodeJS.ErrnoException, socket: Socket): void {
  if (error.code !== 'ECONNRESET' && socket.writable) {
    const failure = failureOf(error)
    const body = JSON.stringify(failureEnvelope(failure))
    const head = `HTTP/1.1 ${failure.status} ${STATUS_CODES[failure.status]}\r\nConnection: close\r\n`
    socket.write(
      `${head}Content-Type: application/json; charset=utf-8\r\nContent-Length: ${body.length}\r\n\r\n${body}`,
    )
  }
  socket.destroySoon()
}

function failureOf({ code }: NodeJS.ErrnoException): Failure {
  if (code === 'ERR_HTTP_REQUEST_TIMEOUT') return failures.requestTimeout
  if (code === 'HPE_HEADER_OVERFLOW') return failures.headersTooLarge
  return failures.malformedRequest
}
