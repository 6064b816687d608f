import { fastify } from 'fastify'
import t from 'tap'
import { typedAs } from '../../src/kernel/typed-text.js'
import { destroyTestService, startTestService } from '../support/test-service.js'

t.test('compiles every schema of every route, which the service does only at the first request', async (t) => {
  const running = await startTestService()
  t.teardown(() => destroyTestService(running))
  const { knownRoutes } = running.app
  t.ok(knownRoutes.filter(({ schema }) => schema?.response).length > 50)
  const eager = fastify({ exposeHeadRoutes: false, ajv: { customOptions: { keywords: [typedAs] } } })
  t.teardown(() => eager.close())
  for (const { method, url, schema } of knownRoutes) {
    eager.route({ method, url, handler: async () => undefined, ...(schema && { schema }) })
  }
  await t.resolves(async () => void (await eager.ready()))
})
