import type { Test } from 'tap'
import { createBody, paths, post } from './merchant-requests.js'
import { destroyTestService, startTestService } from './test-service.js'

/** Starts a service whose merchant has five deposits and a withdrawal, for tests of third-party clients. */
export async function listedService(t: Test) {
  const service = await startTestService({ projections: true })
  t.teardown(() => destroyTestService(service))
  const { secretKey, webApiKey } = await service.merchant()
  const trackingIds: string[] = []
  for (let n = 0; n < 5; n++) {
    const created = await post(service.app, paths.native, createBody('native', secretKey), { key: webApiKey })
    trackingIds.push(created.json().result.trackingId)
  }
  await post(service.app, paths.withdrawal, createBody('withdrawal', secretKey), { key: webApiKey })
  const list = async () => {
    const answer = await service.app.inject({ url: '/v1/transfers', headers: { webapikey: webApiKey } })
    return answer.json<{ items: object[] }>().items
  }
  while ((await list()).length < 6) await new Promise((resolve) => setTimeout(resolve, 20))
  await service.app.listen({ port: 0, host: '127.0.0.1' })
  const address = service.app.server.address()
  const baseUrl = `http://127.0.0.1:${typeof address === 'object' ? address?.port : 0}`
  return { baseUrl, webApiKey, secretKey, trackingIds: trackingIds.sort() }
}
