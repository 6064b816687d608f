import { mock } from 'node:test'
import t from 'tap'
import { createBody, paths, post } from '../support/merchant-requests.js'
import { destroyTestService, startTestService } from '../support/test-service.js'

const promisedMs = 10_000

t.test('responds 503 with Retry-After within 10 s, regardless of the calls to the log', async (t) => {
  let calls = 0
  let isSilent = false
  const silently = <Result>(call: () => Promise<Result>) => {
    calls++
    return isSilent ? new Promise<Result>(() => undefined) : call()
  }
  const service = await startTestService({
    wrapStore: (store) => ({
      ...store,
      append: (...append) => silently(() => store.append(...append)),
      appendInOrder: (...appends) => silently(() => store.appendInOrder(...appends)),
    }),
  })
  t.teardown(() => destroyTestService(service))
  const { webApiKey: key, secretKey } = await service.merchant()
  t.equal((await post(service.app, paths.native, createBody('native', secretKey), { key })).statusCode, 200)

  isSilent = true
  calls = 0
  mock.timers.enable({ apis: ['setTimeout'] })
  t.teardown(() => mock.timers.reset())
  const response = post(service.app, paths.native, createBody('native', secretKey), { key })
  while (calls === 0) await new Promise(setImmediate)
  mock.timers.tick(promisedMs)
  const { statusCode, headers, json } = await response
  t.equal(statusCode, 503)
  t.equal(headers['retry-after'], '2')
  t.match(json(), { success: false, error: { code: 50301 } })
})

t.test('waits longer for other systems than the log', async (t) => {
  let answer: () => void = () => undefined
  const response = { httpStatus: 200, failure: null, durationMs: 12_000 }
  let isAsked = false
  const service = await startTestService({
    overrides: {
      testEndpoint: () => {
        isAsked = true
        return new Promise((resolve) => {
          answer = () => resolve({ sent: true, response })
        })
      },
    },
  })
  t.teardown(() => destroyTestService(service))
  const { webApiKey } = await service.merchant()
  mock.timers.enable({ apis: ['setTimeout'] })
  t.teardown(() => mock.timers.reset())
  const url = '/v1/callbacks/endpoint/test'
  const tested = service.app.inject({ method: 'POST', url, headers: { webapikey: webApiKey } }).then((found) => found)
  while (!isAsked) await new Promise(setImmediate)
  mock.timers.tick(2 * promisedMs)
  answer()
  t.equal((await tested).statusCode, 200)
})
