import { EventEmitter, once } from 'node:events'
import { connect, type Socket } from 'node:net'
import t, { type Test } from 'tap'
import type { EventStore } from '../../src/event-store/event-store.js'
import { createBody, paths } from '../support/merchant-requests.js'
import { startServiceProcess, temporaryDirectory } from '../support/processes.js'
import { destroyTestService, startTestService } from '../support/test-service.js'

const head = 'Host: a\r\nContent-Type: application/json\r\n'
const live = 'GET /health/live HTTP/1.1\r\nHost: a\r\n\r\n'
/** The beginnings of requests that are not complete. */
const silent: { readonly [what: string]: string } = {
  nothing: '',
  'an empty line': '\r\n',
  'half a request line': 'GET /health',
  'half the headers': 'GET /health/live HTTP/1.1\r\nHost: a\r\nX-',
  'half a body': `POST ${paths.native} HTTP/1.1\r\n${head}Content-Length: 500\r\n\r\n{"amount":`,
  'half a body in chunks': `POST ${paths.native} HTTP/1.1\r\n${head}Transfer-Encoding: chunked\r\n\r\n3\r\n{"a\r\n`,
  'no body after Expect': `POST ${paths.native} HTTP/1.1\r\n${head}Content-Length: 500\r\nExpect: 100-continue\r\n\r\n`,
  'a request that has its response': live,
  'half a second request': `${live}GET /health`,
  'half the body of a second request': `${live}POST ${paths.native} HTTP/1.1\r\n${head}Content-Length: 500\r\n\r\n{`,
}

async function opened(
  port: number,
  text: string,
): Promise<{ readonly socket: Socket; readonly closed: Promise<unknown> }> {
  const socket = connect(port, '127.0.0.1')
  socket.on('error', () => undefined)
  // A connection that is closed with unread bytes is reset, which is an error.
  const closed = new Promise((resolve) => socket.once('close', resolve))
  await once(socket, 'connect')
  socket.resume()
  const answered = text.startsWith(live) ? once(socket, 'data') : undefined
  if (text !== '') await new Promise((written) => socket.write(text, written))
  await answered
  return { socket, closed }
}

t.test('SIGTERM ends the service with status 0 while clients have sent no complete request', async (t) => {
  const service = await startServiceProcess(t, { directory: temporaryDirectory(t) })
  const { webApiKey } = service.sandbox!
  const connections = []
  for (const text of Object.values(silent)) connections.push(await opened(service.port, text))
  // A valid key, so that the service waits for the body.
  const keyed = silent['half a body']!.replace(head, `${head}WebApiKey: ${webApiKey}\r\n`)
  connections.push(await opened(service.port, keyed))
  t.equal(await service.end('SIGTERM'), 0)
  await Promise.all(connections.map(({ closed }) => closed))
  t.notMatch(service.log(), /not stopped within|"level":50/)
})

/** Returns a service that listens. From `hold` on, its appends wait for `release`. */
async function heldService(t: Test) {
  const held = new EventEmitter()
  let isHolding = false
  let aheadMs = 0
  const service = await startTestService({
    wrapStore(store) {
      const appendInOrder: EventStore['appendInOrder'] = async (appends) => {
        if (isHolding) {
          const released = once(held, 'released')
          held.emit('reached')
          await released
        }
        return store.appendInOrder(appends)
      }
      return Object.assign(Object.create(store), { appendInOrder })
    },
    overrides: { monotonicMs: () => performance.now() + aheadMs },
  })
  t.teardown(() => destroyTestService(service))
  const release = () => {
    isHolding = false
    held.emit('released')
  }
  t.teardown(release)
  await service.app.listen({ port: 0, host: '127.0.0.1' })
  const address = service.app.server.address()
  return {
    ...service,
    port: typeof address === 'object' ? address!.port : 0,
    release,
    /** Resolves when an append waits. */
    hold() {
      isHolding = true
      return once(held, 'reached')
    },
    advance(ms: number) {
      aheadMs += ms
    },
  }
}

t.test('a stop closes silent connections at once, and a request in progress gets its response', async (t) => {
  const service = await heldService(t)
  const { secretKey, webApiKey } = await service.merchant()
  const isHeld = service.hold()
  const create = fetch(`http://127.0.0.1:${service.port}${paths.native}`, {
    method: 'POST',
    headers: { 'content-type': 'application/json', webapikey: webApiKey },
    body: createBody('native', secretKey),
  })
  await isHeld
  const connections = await Promise.all(Object.values(silent).map((text) => opened(service.port, text)))
  const stopped = service.app.close()
  await Promise.all(connections.map(({ closed }) => closed))
  service.release()
  t.match(await (await create).json(), { success: true }, 'it was in progress when the silent connections were closed')
  await stopped
})

t.test('a client that never reads its response does not prevent a stop', async (t) => {
  const service = await heldService(t)
  const { secretKey, webApiKey } = await service.merchant()
  const isHeld = service.hold()
  const body = createBody('native', secretKey)
  const request = `POST ${paths.native} HTTP/1.1\r\n${head}WebApiKey: ${webApiKey}\r\nContent-Length: ${Buffer.byteLength(body)}\r\n\r\n${body}`
  const { closed } = await opened(service.port, request)
  await isHeld
  const stopped = service.app.close()
  service.advance(10_001)
  await closed
  await stopped
  service.release()
})

t.test('a request in progress gets its response although an incomplete one follows it', async (t) => {
  const service = await heldService(t)
  const { secretKey, webApiKey } = await service.merchant()
  const isHeld = service.hold()
  const body = createBody('native', secretKey)
  const create = `POST ${paths.native} HTTP/1.1\r\n${head}WebApiKey: ${webApiKey}\r\nContent-Length: ${Buffer.byteLength(body)}\r\n\r\n${body}`
  const isPipelined = new Promise<void>((resolve) => {
    let requests = 0
    service.app.server.on('request', () => ++requests === 2 && resolve())
  })
  // A valid key, so that the service waits for the body.
  const next = silent['half a body']!.replace(head, `${head}WebApiKey: ${webApiKey}\r\n`)
  const { socket, closed } = await opened(service.port, `${create}${next}`)
  let received = ''
  socket.on('data', (data) => {
    received += data
  })
  await Promise.all([isHeld, isPipelined])
  const stopped = service.app.close()
  service.release()
  await Promise.all([closed, stopped])
  t.match(received, /^HTTP\/1.1 200 OK.*"success":true/s)
})
