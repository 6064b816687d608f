import { once } from 'node:events'
import { connect, type Socket } from 'node:net'
import t, { type Test } from 'tap'
import type { HttpServices } from '../../src/http/services.js'
import { paths } from '../support/merchant-requests.js'
import { destroyTestService, startTestService } from '../support/test-service.js'

const requestTimeoutMs = 1_000
/** The maximum duration of a slow connection, even on a busy machine. */
const maxHeldMs = 15 * requestTimeoutMs

async function listening(t: Test, overrides: Partial<HttpServices> = {}) {
  const service = await startTestService({ overrides })
  t.teardown(() => destroyTestService(service))
  await service.app.listen({ port: 0, host: '127.0.0.1' })
  const address = service.app.server.address()
  return { ...service, port: typeof address === 'object' ? address!.port : 0 }
}

/** Sends the given text, then occasional bytes until the connection closes. Returns the response and the duration. */
async function sendSlowly(port: number, start: string, byte: string) {
  const socket = connect(port, '127.0.0.1')
  let answer = ''
  socket.on('data', (chunk) => {
    answer += String(chunk)
  })
  socket.on('error', () => {})
  socket.write(start)
  const startedMs = performance.now()
  const timer = setInterval(() => socket.write(byte), 50)
  await once(socket, 'close')
  clearInterval(timer)
  return { answer, heldMs: performance.now() - startedMs }
}

const limits = { requestTimeoutMs, maxConnections: 100, maxConnectionsPerAddress: 100 }

t.test('rejects a slow request with 408 and closes the connection after the timeout', async (t) => {
  const { port, merchant } = await listening(t, { connections: limits })
  const { webApiKey } = await merchant()
  const completeRequest = 'GET /health/live HTTP/1.1\r\nHost: a\r\n\r\n'
  const json = 'Host: a\r\nContent-Type: application/json\r\nContent-Length: 5000\r\n'
  const body = `POST ${paths.native} HTTP/1.1\r\nWebApiKey: ${webApiKey}\r\n${json}\r\n{`
  const chunked = `POST ${paths.native} HTTP/1.1\r\nHost: a\r\nWebApiKey: ${webApiKey}\r\nContent-Type: application/json\r\nTransfer-Encoding: chunked\r\n\r\n`
  const slow: { readonly [what: string]: readonly [string, string, RegExp] } = {
    'a request line': ['GET /', 'x', /^HTTP\/1\.1 408 [\s\S]*"code":40801/],
    headers: ['GET / HTTP/1.1\r\nHost: a\r\nX: ', 'x', /^HTTP\/1\.1 408/],
    'a body': [body, ' ', /^HTTP\/1\.1 408/],
    'a body in chunks': [chunked, '1\r\n \r\n', /^HTTP\/1\.1 408/],
    'the unread body of a rejected request': [`POST ${paths.native} HTTP/1.1\r\n${json}\r\n{`, ' ', /^HTTP\/1\.1 401/],
    'a second request': [`${completeRequest}GET / HTTP/1.1\r\nX: `, 'x', /200 OK[\s\S]*HTTP\/1\.1 408/],
    'the body of a second request': [`${completeRequest}${body}`, ' ', /200 OK[\s\S]*HTTP\/1\.1 408/],
    'only empty lines': ['\r\n', '\r\n', /^HTTP\/1\.1 408|^$/],
  }
  await Promise.all(
    Object.entries(slow).map(async ([what, [start, byte, expected]]) => {
      const { answer, heldMs } = await sendSlowly(port, start, byte)
      t.match(answer, expected, what)
      t.ok(heldMs < maxHeldMs, `${what}: held ${Math.round(heldMs)} ms`)
    }),
  )
})

async function opened(port: number): Promise<Socket> {
  const socket = connect(port, '127.0.0.1')
  socket.on('error', () => {})
  await once(socket, 'connect')
  return socket
}

/** Returns whether a request on the connection gets a response before the connection is closed. */
async function isServed(socket: Socket): Promise<boolean> {
  const answered = once(socket, 'data').then(() => true)
  const closed = once(socket, 'close').then(() => false)
  socket.write('GET /health/live HTTP/1.1\r\nHost: a\r\n\r\n')
  return Promise.race([answered, closed])
}

t.test('limits the open connections of one address, and accepts a new one when another closes', async (t) => {
  const { app, port } = await listening(t, { connections: { ...limits, maxConnectionsPerAddress: 3 } })
  const first = [await opened(port), await opened(port), await opened(port)]
  t.same(await Promise.all(first.map(isServed)), [true, true, true])
  t.equal(await isServed(await opened(port)), false)
  t.match((await app.inject('/metrics')).body, 'transferd_http_connections_refused_total{limit="address"} 1')
  first[0]!.destroy()
  for (let served = false, attempts = 0; !served; attempts++) {
    if (attempts === 100) throw new Error('the place of a closed connection was not released')
    const next = await opened(port)
    served = await isServed(next)
    next.destroy()
  }
  for (const socket of first) socket.destroy()
})

t.test('allows a trusted proxy to use all connections', async (t) => {
  const connections = { ...limits, maxConnections: 4, maxConnectionsPerAddress: 2 }
  const { port } = await listening(t, { connections, trustedProxies: ['127.0.0.0/8'] })
  const sockets = await Promise.all([1, 2, 3, 4].map(() => opened(port)))
  t.same(await Promise.all(sockets.map(isServed)), [true, true, true, true])
  t.equal(await isServed(await opened(port)), false)
  for (const socket of sockets) socket.destroy()
})
