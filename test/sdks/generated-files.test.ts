import { readFile } from 'node:fs/promises'
import t from 'tap'
import { apiOf, type Document } from '../../sdks/generate/api-model.js'
import { generatedFiles } from '../../sdks/generate/generate.js'
import { destroyTestService, startTestService } from '../support/test-service.js'

const service = await startTestService()
t.teardown(() => destroyTestService(service))
const document = (await service.app.inject('/documentation/json')).json<Document>()

t.test('the generated files are those of the current document (npm run sdks:generate)', async (t) => {
  for (const [path, text] of Object.entries(generatedFiles(document))) t.equal(await readFile(path, 'utf8'), text, path)
})

t.test('the clients have every operation with a response', async (t) => {
  const ids = Object.values(document.paths).flatMap((methods) => Object.values(methods).map((each) => each.operationId))
  const { operations, objects } = apiOf(document)
  t.same(
    ids.filter((id) => !operations.some((operation) => operation.id === id)),
    ['streamCallbacks'],
  )
  for (const { id, body, isHashed, path } of operations) t.equal(isHashed, /\/Create/.test(path), `${id} ${body?.name}`)
  t.ok(objects.some(({ name }) => name === 'Callback'))
})

t.test('a client repeats no request that could have another effect', async (t) => {
  const { operations } = apiOf(document)
  t.same(
    operations.filter(({ method, isRepeatable }) => method !== 'GET' && !isRepeatable).map(({ id }) => id),
    ['walletCustomerLogin', 'wallet2Fa', 'resendTransferCallbacks', 'resendCallbacks', 'testCallbackEndpoint'],
    'a repeat of these has another effect: list a new request here, or in sdks/generate/api-model.ts if a repeat is safe',
  )
  // The document of a later version can have an operation that no one has classified.
  const operation = { ...document.paths['/v1/callbacks/endpoint/test']!.post!, operationId: 'payTwice' }
  const { operations: later } = apiOf({ ...document, paths: { '/v1/pay': { post: operation } } })
  t.match(later, [{ id: 'payTwice', isRepeatable: false }])
})

t.test('rejects a field with the name of an amount that is not an amount', async (t) => {
  const Thing = { properties: { amount: { type: 'string' } } }
  const changed = { ...document, components: { schemas: { ...document.components.schemas, Thing } } }
  t.throws(() => apiOf(changed), /Thing.amount has the name of an amount/)
})
