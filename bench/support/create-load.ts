import { createHash, randomBytes } from 'node:crypto'
import { createBody } from '../../test/support/merchant-requests.js'

interface CreateLoadOptions {
  readonly path: string
  readonly secretKey: string
  readonly webApiKey: string
  readonly connections: number
  /** The number of requests to prepare, which is also the maximum that can be sent. */
  readonly count: number
}

/**
 * Prepares creates of native deposits, each with a unique referenceId and a correct hashCode. It does so before the measurement, and
 * uses a buffer per connection, into which the next referenceId and hash are copied.
 */
export function prepareCreates(options: CreateLoadOptions): (connection: number) => Buffer {
  const referenceIdLength = 36
  const prefix = randomBytes(8).toString('hex')
  const entries = Buffer.alloc(options.count * (referenceIdLength + 32))
  for (let i = 0; i < options.count; i++) {
    const referenceId = `${prefix}-${i.toString().padStart(referenceIdLength - prefix.length - 1, '0')}`
    const hash = createHash('md5').update(`${options.secretKey}100.00${referenceId}`).digest('hex').toUpperCase()
    entries.write(referenceId + hash, i * (referenceIdLength + 32), 'latin1')
  }
  const blank = (length: number) => '#'.repeat(length)
  const fields = { referenceId: blank(referenceIdLength), hashCode: blank(32) }
  const body = createBody('native', options.secretKey, fields, '100.00')
  const head =
    `POST ${options.path} HTTP/1.1\r\nHost: 127.0.0.1\r\naccept: text/plain\r\n` +
    `Content-Type: application/json-patch+json\r\nWebApiKey: ${options.webApiKey}\r\nContent-Length: ${body.length}\r\n\r\n`
  const template = Buffer.from(head + body, 'latin1')
  const buffers = Array.from({ length: options.connections }, () => Buffer.from(template))
  const referenceOffset = template.indexOf(blank(referenceIdLength))
  const hashOffset = template.lastIndexOf(blank(32))
  let next = 0
  return (connection) => {
    if (next >= options.count) throw new Error('all prepared requests were sent: prepare more')
    const buffer = buffers[connection]!
    const entry = next++ * (referenceIdLength + 32)
    entries.copy(buffer, referenceOffset, entry, entry + referenceIdLength)
    entries.copy(buffer, hashOffset, entry + referenceIdLength, entry + referenceIdLength + 32)
    return buffer
  }
}
