import { randomUUID } from 'node:crypto'
import t from 'tap'
import { collections, feedId } from '../../src/read-models/documents.js'
import { createBody, paths, post } from '../support/merchant-requests.js'
import { destroyTestService, startTestService } from '../support/test-service.js'

t.test('a document in the read models shows no merchant an event of another merchant', async (t) => {
  const service = await startTestService()
  t.teardown(() => destroyTestService(service))
  const { app, readModels } = service
  const [victim, thief] = [await service.merchant(), await service.merchant({ name: 'Thief' })]
  const create = async ({ webApiKey: key, secretKey }: typeof victim) => {
    const body = createBody('withdrawal', secretKey, { referenceId: randomUUID(), name: 'Grace Hopper' })
    const { result } = (await post(app, paths.withdrawal, body, { key })).json<{ result: { trackingId: string } }>()
    const { position } = (await service.store.readStream(`transfer-${result.trackingId}`))[0]!
    return { trackingId: result.trackingId, position }
  }
  const [stolen, own] = [await create(victim), await create(thief)]
  await readModels.collection(collections.transferEvents).bulkWrite(
    [stolen, own].map(({ trackingId, position }) => ({
      insertOne: {
        document: { _id: feedId(position), merchantId: thief.id, trackingId, revision: 0 },
      },
    })),
  )
  const feed = await app.inject({ url: '/v1/events', headers: { webapikey: thief.webApiKey } })
  t.equal(feed.statusCode, 200, feed.body)
  const shown = feed.json<{ items: { trackingId: string }[] }>().items.map(({ trackingId }) => trackingId)
  t.strictSame(shown, [own.trackingId])
  t.notMatch(feed.body, stolen.trackingId)
})
