import { randomUUID } from 'node:crypto'
import t, { type Test } from 'tap'
import { skipEvent } from '../../src/commands/skip-events.js'
import { merchantStream, skippedEventsStream, transferStream } from '../../src/domain/streams.js'
import { feedId } from '../../src/read-models/documents.js'
import { createBody, paths, post } from '../support/merchant-requests.js'
import { destroyTestService, startTestService } from '../support/test-service.js'

const context = { actor: 'cli:ada', $correlationId: 'test', $causationId: 'test' }
const foreign = () => ({ id: randomUUID(), type: 'Foreign', data: {}, metadata: {} })
const clock = () => new Date().toISOString()

async function service(t: Test) {
  const started = await startTestService()
  t.teardown(() => destroyTestService(started))
  return started
}

t.test(
  'returns 503 with a separate code on every route to a merchant that is out of service, and to no other',
  async (t) => {
    const { app, store, directory, merchant, until } = await service(t)
    const victim = await merchant({ allowIps: ['127.0.0.1', '10.1.1.1'] })
    const other = await merchant()
    const hosted = (
      await post(app, paths.hosted, createBody('hosted', victim.secretKey), { key: victim.webApiKey })
    ).json()
    await store.append(merchantStream(victim.id), 0, [foreign()])
    await until(() => directory.problemOf(victim.id) !== undefined)
    const outOfService = { success: false, unAuthorizedRequest: false, error: { code: 50304 } }
    const wrongKey = `${victim.webApiKey.slice(0, -6)}AAAAAA`
    for (const key of [victim.webApiKey, wrongKey]) {
      const response = await post(app, paths.native, createBody('native', victim.secretKey), { key })
      t.equal(response.statusCode, 503)
      t.match(response.json(), outOfService, 'the response does not depend on the key')
      t.ok(Number(response.headers['retry-after']) > 0)
    }
    for (const address of ['127.0.0.1', '10.1.1.1']) {
      const response = await post(app, paths.hosted, createBody('hosted', victim.secretKey), { address })
      t.match(response.json(), outOfService, `without a key, from ${address}`)
    }
    const state = await app.inject(`${new URL(hosted.url).pathname}/state`)
    t.equal(state.statusCode, 503, 'the payment page of a customer')
    const own = { key: other.webApiKey }
    t.equal((await post(app, paths.native, createBody('native', other.secretKey), own)).statusCode, 200)
    t.equal(
      (await post(app, paths.hosted, createBody('hosted', other.secretKey))).statusCode,
      200,
      'a create without a key for another merchant succeeds',
    )
    const unknown = `tk_${randomUUID().replaceAll('-', '')}_${'A'.repeat(43)}`
    t.equal((await post(app, paths.native, createBody('native', other.secretKey), { key: unknown })).statusCode, 401)
    await skipEvent({ store, clock }, { stream: merchantStream(victim.id), revision: 1, reason: 'a test' }, context)
    await until(() => directory.problemOf(victim.id) === undefined)
    const back = await post(app, paths.native, createBody('native', victim.secretKey), { key: victim.webApiKey })
    t.equal(back.statusCode, 200)
  },
)

t.test(
  'returns a separate code for an unreadable transfer, and omits the event from the history after it is skipped',
  async (t) => {
    const { app, store, directory, merchant, until } = await service(t)
    const { secretKey, webApiKey } = await merchant()
    const headers = { webapikey: webApiKey }
    const create = async () =>
      (await post(app, paths.native, createBody('native', secretKey), { key: webApiKey })).json().result.trackingId
    const [unreadable, good] = [await create(), await create()]
    const stream = transferStream(unreadable)
    await store.append(stream, 0, [foreign()])
    for (const path of ['', '/events', '/callbacks']) {
      const response = await app.inject({ url: `/v1/transfers/${unreadable}${path}`, headers })
      t.match(
        { status: response.statusCode, body: response.json() },
        { status: 503, body: { error: { code: 50303 } } },
        path,
      )
    }
    t.equal((await app.inject({ url: `/v1/transfers/${good}`, headers })).statusCode, 200)
    await skipEvent({ store, clock }, { stream, revision: 1, reason: 'a test' }, context)
    await directory.catchUp()
    await until(() => directory.all().length === 1)
    const { items } = (await app.inject({ url: `/v1/transfers/${unreadable}/events`, headers })).json()
    t.match(
      items.map(({ type, revision }: { type: string; revision: number }) => [type, revision]),
      [['DepositCreated', 0]],
    )
    t.equal(
      (await app.inject({ url: `/v1/transfers/${unreadable}`, headers })).json().revision,
      1,
      'the skipped event counts as a revision',
    )
  },
)

t.test('stops the feed at an unreadable event and resumes after the event is skipped', async (t) => {
  const { app, store, readModels, merchant } = await service(t)
  const { id: merchantId, secretKey, webApiKey } = await merchant()
  const headers = { webapikey: webApiKey }
  const create = async () => {
    const response = await post(app, paths.native, createBody('native', secretKey), { key: webApiKey })
    return String(response.json().result.trackingId)
  }
  const [first, second] = [await create(), await create()]
  await store.append(transferStream(first), 0, [foreign()])
  const third = await create()
  // The projection of a node with a newer version writes unreadable events in this form.
  const places = [`${first}@0`, `${second}@0`, `${first}@1`, `${third}@0`].map((place) => place.split('@'))
  for (const [trackingId = '', revision] of places) {
    const [event] = await store.readStream(transferStream(trackingId), {
      fromRevision: Number(revision),
      maxCount: 1,
    })
    const document = { _id: feedId(event!.position), merchantId, trackingId, revision: Number(revision) }
    await readModels.collection('transfer_events').bulkWrite([{ insertOne: { document } }])
  }
  const page = async (url: string) => {
    const { items, next } = (await app.inject({ url, headers })).json()
    return { items: items.map(({ trackingId }: { trackingId: string }) => trackingId), next }
  }
  const { items, next } = await page('/v1/events')
  t.same(items, [first, second])
  t.same(await page(`/v1/events?after=${next}`), { items: [], next }, 'the feed stops before the unreadable event')
  await skipEvent({ store, clock }, { stream: transferStream(first), revision: 1, reason: 'a test' }, context)
  await store.readStream(skippedEventsStream)
  t.match(await page(`/v1/events?after=${next}`), { items: [third] })
})
