import { once } from 'node:events'
import { request as httpRequest } from 'node:http'
import { connect } from 'node:net'
import t, { type Test } from 'tap'
import { TooMuchContentionError } from '../../src/commands/handle-command.js'
import { type EventStore, StoreUnavailableError } from '../../src/event-store/event-store.js'
import { createBody, paths, post } from '../support/merchant-requests.js'
import { destroyTestService, startTestService } from '../support/test-service.js'

async function service(t: Test, options: Parameters<typeof startTestService>[0] = {}) {
  const started = await startTestService(options)
  t.teardown(() => destroyTestService(started))
  return started
}

/** Wraps a store so that appends and reads fail with the given error, if any. */
function failing(fault: { error: Error | undefined }) {
  return (store: EventStore): EventStore =>
    new Proxy(store, {
      get(target, property) {
        const value = Reflect.get(target, property)
        if (typeof value !== 'function') return value
        return (...args: unknown[]) => (fault.error ? Promise.reject(fault.error) : value.apply(target, args))
      },
    })
}

t.test('returns 503 with Retry-After while a store is unavailable, and recovers afterwards', async (t) => {
  const fault: { error: Error | undefined } = { error: undefined }
  const { app, merchant, log, logLines } = await service(t, { wrapStore: failing(fault) })
  const { secretKey, webApiKey: key } = await merchant()
  const body = createBody('native', secretKey)
  for (const error of [new StoreUnavailableError('disk full at /secret/path'), new TooMuchContentionError('busy')]) {
    fault.error = error
    const response = await post(app, paths.native, body, { key })
    t.equal(response.statusCode, 503)
    t.match(response.headers['retry-after'], /^[1-9]\d*$/)
    t.match(response.json(), { result: null, success: false, error: { code: 50301 }, __abp: true })
    t.notOk(response.body.includes('secret'))
  }
  const ready = await app.inject('/health/ready')
  t.equal(ready.statusCode, 503)
  t.equal((await app.inject('/health/live')).statusCode, 200)
  fault.error = undefined
  t.same(await log(), [])
  t.equal((await post(app, paths.native, body, { key })).statusCode, 200)
  t.equal((await app.inject('/health/ready')).statusCode, 200)
  t.equal(logLines.length, 2)
})

t.test('returns 500 without details for an internal error, and writes one log line', async (t) => {
  const fault: { error: Error | undefined } = { error: undefined }
  const { app, merchant, logLines } = await service(t, { wrapStore: failing(fault) })
  const { secretKey, webApiKey: key } = await merchant()
  fault.error = new Error('secret detail')
  const response = await post(app, paths.native, createBody('native', secretKey), { key })
  t.equal(response.statusCode, 500)
  t.match(response.json(), { success: false, error: { code: 50001, details: null } })
  t.notOk(response.body.includes('secret'))
  t.equal(logLines.length, 1)
  t.match(logLines[0], /secret detail/)
  t.match(logLines[0], String(response.headers['x-request-id']))
})

t.test('returns the envelope for unknown addresses, unknown methods and malformed URLs', async (t) => {
  const { app } = await service(t)
  const failures: [string, string, number, number][] = [
    ['GET', '/nothing', 404, 40401],
    ['POST', '/', 404, 40401],
    ['GET', paths.native, 405, 40501],
    ['DELETE', '/v1/transfers', 405, 40501],
    ['PUT', '/v1/transfers/x/callbacks/resend', 405, 40501],
    ['GET', '/%zz', 400, 40005],
    ['GET', `/v1/transfers/${'x'.repeat(500)}`, 404, 40401],
    ['GET', '/v1/transfers/..%2f..%2fetc', 401, 40101],
  ]
  for (const [method, url, status, code] of failures) {
    const response = await app.inject({ method: method as 'GET', url })
    t.equal(response.statusCode, status, `${method} ${url.slice(0, 40)}`)
    t.match(response.json(), { result: null, targetUrl: null, success: false, error: { code }, __abp: true })
    if (status === 405) t.ok(response.headers.allow)
  }
})

t.test('also returns the envelope for invalid HTTP', async (t) => {
  const { app } = await service(t)
  await app.listen({ port: 0, host: '127.0.0.1' })
  const address = app.server.address()
  const port = typeof address === 'object' ? address!.port : 0
  const sendRaw = async (text: string) => {
    const socket = connect(port, '127.0.0.1')
    socket.write(text)
    let response = ''
    socket.on('data', (chunk) => {
      response += String(chunk)
    })
    await once(socket, 'close')
    return response
  }
  t.match(await sendRaw('nonsense\r\n\r\n'), /^HTTP\/1\.1 400 [\s\S]*"code":40005/)
  const long = await sendRaw(`GET / HTTP/1.1\r\nHost: a\r\nX: ${'x'.repeat(20_000)}\r\n\r\n`)
  t.match(long, /^HTTP\/1\.1 431 [\s\S]*"code":43101/)
})

t.test('completes a request in progress when the service closes', async (t) => {
  let release = () => {}
  let gate = Promise.resolve()
  let appends = 0
  const { app, merchant, until } = await service(t, {
    wrapStore: (store) =>
      new Proxy(store, {
        get(target, property) {
          const value = Reflect.get(target, property)
          if (property !== 'appendInOrder') return typeof value === 'function' ? value.bind(target) : value
          return (...args: unknown[]) => {
            appends++
            return gate.then(() => value.apply(target, args))
          }
        },
      }),
  })
  const { secretKey, webApiKey } = await merchant()
  const appendsBefore = appends
  gate = new Promise<void>((resolve) => {
    release = resolve
  })
  await app.listen({ port: 0, host: '127.0.0.1' })
  const address = app.server.address()
  const request = httpRequest({
    port: typeof address === 'object' ? address!.port : 0,
    host: '127.0.0.1',
    method: 'POST',
    path: paths.native,
    headers: { 'content-type': 'application/json', webapikey: webApiKey },
  })
  request.end(createBody('native', secretKey))
  await until(() => appends > appendsBefore)
  const responded = once(request, 'response')
  const closed = app.close()
  await until(() => !app.server.listening)
  release()
  const [response] = await responded
  response.resume()
  t.equal(response.statusCode, 200)
  await closed
})

t.test('metrics show routes and statuses, and no ids except those of merchants', async (t) => {
  const { app, merchant } = await service(t)
  const { secretKey, webApiKey: key } = await merchant()
  const response = await post(app, paths.native, createBody('native', secretKey), { key })
  const { trackingId } = response.json().result
  await app.inject({ url: `/v1/transfers/${trackingId}`, headers: { webapikey: key } })
  await app.inject('/nothing')
  const metrics = await app.inject('/metrics')
  t.match(metrics.headers['content-type'], /^text\/plain/)
  t.match(metrics.body, `transferd_http_request_duration_seconds_count{route="${paths.native}",status="200"} 1`)
  t.match(metrics.body, 'route="/v1/transfers/:trackingId"')
  t.match(metrics.body, 'transferd_http_request_duration_seconds_count{route="unknown",status="404"} 1')
  t.match(metrics.body, 'transferd_transfers_created_total{channel="native"} 1')
  for (const secret of [trackingId, key, secretKey]) t.notOk(metrics.body.includes(secret))
})

t.test('readiness reports problems in the rest of the process', async (t) => {
  const problems = ['the background thread has stopped']
  const { app } = await service(t, { overrides: { readiness: async () => problems } })
  const response = await app.inject('/health/ready')
  t.equal(response.statusCode, 503)
  t.same(response.json(), { status: 'unavailable', problems, details: [] })
})
