import t from 'tap'
import { createBody, paths, post, signatureOf } from '../support/merchant-requests.js'
import { destroyTestService, startTestService } from '../support/test-service.js'

const context = { actor: 'test', $correlationId: 'test', $causationId: 'test' }
const service = await startTestService()
t.teardown(() => destroyTestService(service))
const { app, merchants, directory, store } = service

async function rotating() {
  const issued = await service.merchant()
  const rotated = await merchants.rotateSecret(issued.id, 'secretKey', 60, context)
  if (!rotated.accepted) throw new Error('the rotation was rejected')
  await service.until(() => directory.byId(issued.id)!.secretKeys.all.length === 2)
  const takenUp = async () => {
    const events = await store.readStream(`merchant-${issued.id}`)
    return events.filter(({ type }) => type === 'SecretKeyTakenUp')
  }
  return { ...issued, next: rotated.value, takenUp }
}

for (const kind of ['hosted', 'native', 'withdrawal'] as const) {
  t.test(`${kind}: records the first create with a new SecretKey once, before the create`, async (t) => {
    const { id, webApiKey: key, secretKey, next, takenUp } = await rotating()
    const send = async (secret: string) => {
      const response = await post(app, paths[kind], createBody(kind, secret), { key })
      t.equal(response.statusCode, 200)
    }
    await send(secretKey)
    t.equal((await takenUp()).length, 0, 'a use of the old key is not recorded')
    await Promise.all(Array.from({ length: 8 }, () => send(next)))
    const [event, ...more] = await takenUp()
    t.match(event, { data: { merchantId: id, number: 1 }, metadata: { actor: `merchant:${id}` } })
    t.equal(more.length, 0)
    await send(secretKey)
    await send(next)
    t.equal((await takenUp()).length, 1)
  })
}

t.test('counts an X-Signature as a use of the new key, but not a wrong hash or signature', async (t) => {
  const { webApiKey: key, next, takenUp } = await rotating()
  const body = createBody('native', next, { hashCode: undefined })
  const signed = (secret: string) => ({ key, headers: { 'x-signature': signatureOf(secret, body) } })
  t.equal((await post(app, paths.native, body, signed('sk_another'))).statusCode, 400)
  t.equal((await post(app, paths.native, createBody('native', 'sk_another'), { key })).statusCode, 400)
  t.equal(
    (await post(app, paths.native, body, { key })).statusCode,
    200,
    'a create without a hash or signature succeeds',
  )
  t.equal((await takenUp()).length, 0)
  t.equal((await post(app, paths.native, body, signed(next))).statusCode, 200)
  t.equal((await takenUp()).length, 1)
})

t.test('counts a hosted create without a key as a use of the new key', async (t) => {
  const { next, takenUp } = await rotating()
  t.equal((await post(app, paths.hosted, createBody('hosted', next))).statusCode, 200)
  t.equal((await takenUp()).length, 1)
})
