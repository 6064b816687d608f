import { randomUUID } from 'node:crypto'
import t from 'tap'
import { type CreateKind, createBody, paths, post } from '../support/merchant-requests.js'
import { destroyTestService, startTestService } from '../support/test-service.js'

const service = await startTestService()
t.teardown(() => destroyTestService(service))
const { app } = service
const { webApiKey: key, secretKey, id: merchantId } = await service.merchant()

/** The sample headers of the specification. */
const sampleHeaders = { accept: 'text/plain', 'X-XSRF-TOKEN': 'null' }

t.test('returns a hosted deposit without a key and without an envelope, with a url', async (t) => {
  const referenceId = randomUUID()
  const body = createBody('hosted', secretKey, { referenceId })
  const response = await post(app, paths.hosted, body, { headers: sampleHeaders })
  t.equal(response.statusCode, 200)
  t.match(response.headers['content-type'], /^application\/json/)
  const json = response.json()
  t.same(Object.keys(json), ['url', 'trackingId', 'referenceId', 'status', 'statusDescription', 'amount', 'expiresAt'])
  t.match(json, { referenceId, status: 1, statusDescription: 'Pending', amount: 100.5 })
  t.match(json.url, new RegExp(`^https://pay\\.example/pay/${json.trackingId}\\.[A-Za-z0-9_-]{22}$`))
  t.ok(Date.parse(json.expiresAt) > Date.now() + 29 * 60_000)
})

for (const kind of ['native', 'withdrawal'] as const) {
  t.test(`returns a ${kind} create with the sample headers in the envelope`, async (t) => {
    const referenceId = randomUUID()
    const body = createBody(kind, secretKey, { referenceId })
    const response = await post(app, paths[kind], body, { key, headers: sampleHeaders })
    t.equal(response.statusCode, 200)
    const { trackingId } = response.json().result
    t.same(response.json(), {
      result: {
        transactionId: trackingId,
        trackingId,
        referenceId,
        status: 1,
        statusDescription: 'Pending',
        amount: 100.5,
      },
      targetUrl: null,
      success: true,
      error: null,
      unAuthorizedRequest: false,
      __abp: true,
    })
    const found = await service.transfers.find(trackingId)
    t.match(found?.transfer, { merchantId, amountMinor: 10050n, status: 'Pending' })
  })
}

t.test('reads both content types, with and without parameters, as plain JSON', async (t) => {
  const types = ['application/json', 'application/json-patch+json', 'application/json; charset=utf-8']
  for (const contentType of [...types, 'application/json-patch+json;charset=UTF-8', 'APPLICATION/JSON']) {
    const response = await post(app, paths.hosted, createBody('hosted', secretKey), { contentType })
    t.equal(response.statusCode, 200, contentType)
  }
})

t.test('accepts a native deposit without a hashCode, but rejects a wrong one', async (t) => {
  const without = createBody('native', secretKey, { hashCode: undefined })
  t.equal((await post(app, paths.native, without, { key })).statusCode, 200)
  const wrong = await post(app, paths.native, createBody('native', 'wrong secret'), { key })
  t.equal(wrong.statusCode, 400)
  t.match(wrong.json().error, { code: 40003, validationErrors: [{ members: ['hashCode'] }] })
})

t.test('stores the account and identity number of a withdrawal, where null means no identity number', async (t) => {
  for (const identityNumber of ['10000000146', null, undefined]) {
    const response = await post(app, paths.withdrawal, createBody('withdrawal', secretKey, { identityNumber }), { key })
    t.equal(response.statusCode, 200)
    const found = await service.transfers.find(response.json().result.trackingId)
    t.match(found?.transfer, { accountNumber: 'TR330006100519786457841326', identityNumber: identityNumber ?? null })
  }
})

t.test('ignores unknown fields, even in a repeat', async (t) => {
  const referenceId = randomUUID()
  const first = await post(app, paths.hosted, createBody('hosted', secretKey, { referenceId, extra: { a: [1] } }))
  const second = await post(app, paths.hosted, createBody('hosted', secretKey, { referenceId }))
  t.equal(first.statusCode, 200)
  t.equal(second.body, first.body)
})

t.test('writes one event and returns one response for a hundred parallel creates with one referenceId', async (t) => {
  for (const kind of Object.keys(paths) as CreateKind[]) {
    const body = createBody(kind, secretKey)
    const responses = await Promise.all(Array.from({ length: 100 }, () => post(app, paths[kind], body, { key })))
    t.same([...new Set(responses.map(({ statusCode }) => statusCode))], [200], kind)
    t.equal(new Set(responses.map((response) => response.body)).size, 1)
    const json = responses[0]?.json()
    const { trackingId } = json.result ?? json
    t.equal((await service.store.readStream(`transfer-${trackingId}`)).length, 1)
  }
})

t.test('returns the first response to a repeat, regardless of the status of the transfer', async (t) => {
  const body = createBody('hosted', secretKey)
  const first = await post(app, paths.hosted, body)
  await service.transfers.act(first.json().trackingId, { type: 'Complete' }, context)
  t.equal((await post(app, paths.hosted, body)).body, first.body)
})

t.test('treats the same amount in a different form as the same request', async (t) => {
  const referenceId = randomUUID()
  const first = await post(app, paths.hosted, createBody('hosted', secretKey, { referenceId }, '100.50'))
  const second = await post(app, paths.hosted, createBody('hosted', secretKey, { referenceId }, '100.5'))
  t.equal(second.body, first.body)
})

t.test('rejects a changed body as a conflict, for each field', async (t) => {
  const referenceId = randomUUID()
  t.equal((await post(app, paths.native, createBody('native', secretKey, { referenceId }), { key })).statusCode, 200)
  for (const change of [{ userId: 'x' }, { name: 'x' }, { username: 'x' }]) {
    const response = await post(app, paths.native, createBody('native', secretKey, { referenceId, ...change }), { key })
    t.match(response.json(), { success: false, error: { code: 40901 } }, JSON.stringify(change))
    t.equal(response.statusCode, 409)
  }
  const amount = await post(app, paths.native, createBody('native', secretKey, { referenceId }, '7'), { key })
  t.equal(amount.statusCode, 409)
  const channel = await post(app, paths.hosted, createBody('hosted', secretKey, { referenceId }))
  t.equal(channel.statusCode, 409)
})

t.test('accepts a deposit and a withdrawal with the same referenceId if the amounts differ', async (t) => {
  const referenceId = randomUUID()
  const deposit = await post(app, paths.native, createBody('native', secretKey, { referenceId }), { key })
  const withdrawal = createBody('withdrawal', secretKey, { referenceId }, '7')
  const paidOut = await post(app, paths.withdrawal, withdrawal, { key })
  t.equal(deposit.statusCode, 200)
  t.equal(paidOut.statusCode, 200)
  t.not(paidOut.json().result.trackingId, deposit.json().result.trackingId)
})

t.test('rejects a withdrawal with the hashCode of a deposit or its callback, and vice versa', async (t) => {
  for (const [first, second] of [
    ['hosted', 'withdrawal'],
    ['native', 'withdrawal'],
    ['withdrawal', 'hosted'],
    ['withdrawal', 'native'],
  ] as const) {
    // The hash of the callback covers the shortest form of the amount, regardless of the hash of the create.
    for (const [text, again] of [
      ['100.50', '100.50'],
      ['100.50', '100.5'],
      ['100.5', '100.5'],
    ] as const) {
      const referenceId = randomUUID()
      const without = first === 'native' && again === '100.5' && { hashCode: undefined }
      const accepted = createBody(first, secretKey, { referenceId, ...without }, text)
      t.equal((await post(app, paths[first], accepted, { key })).statusCode, 200)
      const before = (await service.log()).length
      const refused = await post(app, paths[second], createBody(second, secretKey, { referenceId }, again), { key })
      t.equal(refused.statusCode, 409, `${first}, then ${second}, ${text}, ${again}`)
      t.equal(refused.json().error.code, 40902)
      t.equal((await service.log()).length, before)
      t.equal(
        (await post(app, paths[first], accepted, { key })).statusCode,
        200,
        'a repeat of the first request is still accepted',
      )
    }
  }
})

t.test('rejects the second of two requests with the same hashCode preimage with a separate code', async (t) => {
  const first = createBody('hosted', secretKey, { referenceId: '23' }, '1')
  const second = createBody('hosted', secretKey, { referenceId: '3' }, '12')
  t.equal((await post(app, paths.hosted, first)).statusCode, 200)
  const refused = await post(app, paths.hosted, second)
  t.equal(refused.statusCode, 409)
  t.equal(refused.json().error.code, 40902)
  t.equal((await post(app, paths.hosted, first)).statusCode, 200)
})

t.test('returns the request id and records it as the correlation id of the events', async (t) => {
  const body = createBody('native', secretKey)
  const response = await post(app, paths.native, body, { key, headers: { 'x-request-id': 'order-7.1' } })
  t.equal(response.headers['x-request-id'], 'order-7.1')
  const [event] = await service.store.readStream(`transfer-${response.json().result.trackingId}`)
  t.match(event?.metadata, { $correlationId: 'order-7.1', actor: `merchant:${merchantId}` })
  const malformed = await post(app, paths.native, body, { key, headers: { 'x-request-id': 'a b' } })
  t.match(malformed.headers['x-request-id'], /^[0-9a-f-]{36}$/)
})

t.test('returns the same response to a repeat after a restart, and still rejects a changed body', async (t) => {
  const first = await startTestService()
  const merchant = await first.merchant()
  const referenceId = randomUUID()
  const body = createBody('hosted', merchant.secretKey, { referenceId })
  const response = await post(first.app, paths.hosted, body)
  t.equal(response.statusCode, 200)
  await first.stop()

  const second = await startTestService({ path: first.path, masterKey: first.masterKey })
  t.teardown(() => destroyTestService(second))
  t.equal((await post(second.app, paths.hosted, body)).body, response.body)
  const changed = createBody('hosted', merchant.secretKey, { referenceId, name: 'Grace Hopper' })
  t.equal((await post(second.app, paths.hosted, changed)).statusCode, 409)
})

const context = { actor: 'test', $correlationId: 'test', $causationId: 'test' }
