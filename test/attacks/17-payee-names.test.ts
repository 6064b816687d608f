import t from 'tap'
import { createBody, paths, post } from '../support/merchant-requests.js'
import { destroyTestService, startTestService } from '../support/test-service.js'

t.test(
  'refuses a withdrawal of whose name nothing would be left in the payment, and repeats an accepted one',
  async (t) => {
    for (const [code, refused, accepted] of [
      ['EUR', ['李明', '***'], ['李明 Li Ming', 'Şükrü', '7']],
      ['TRY', ['***'], ['李明', 'Şükrü']],
    ] as const) {
      const service = await startTestService({ overrides: { currency: { code, decimals: 2 } } })
      t.teardown(() => destroyTestService(service))
      const { secretKey, webApiKey } = await service.merchant()
      const create = (kind: 'withdrawal' | 'native', name: string) =>
        post(service.app, paths[kind], createBody(kind, secretKey, { name }), { key: webApiKey })
      for (const name of refused) {
        const response = await create('withdrawal', name)
        t.equal(response.statusCode, 400, name)
        t.same(response.json().error.validationErrors, [
          {
            message: `The name must contain a letter or digit that banks accept in payments in ${code}.`,
            members: ['name'],
          },
        ])
      }
      for (const name of accepted) t.equal((await create('withdrawal', name)).statusCode, 200, name)
      t.equal((await create('native', '李明')).statusCode, 200, 'a deposit is paid by the customer')
    }
  },
)
