import { randomBytes, randomUUID } from 'node:crypto'
import { tempDirectory } from '@transferd/event-log/test/support/temp-directory'
import t, { type Test } from 'tap'
import { encodeEvent } from '../../../src/event-store/event-codec.js'
import { type EventStore, StoreUnavailableError } from '../../../src/event-store/event-store.js'
import { CustomerKeyCopy } from '../../../src/operations/copy/copy-events.js'
import { copyLog } from '../../../src/operations/copy/copy-log.js'
import { CustomerKeys } from '../../../src/privacy/customer-keys.js'
import { openEmbeddedKeyStore } from '../../../src/privacy/embedded/embedded-key-store.js'
import { sealing } from '../../../src/privacy/sealing-store.js'
import { createSecretBox } from '../../../src/security/secret-box.js'
import { sampleEvent } from '../../event-store/codec/golden-events.js'
import { openTestEventStore } from '../../support/event-store.js'
import { wholeLog } from '../../support/expected-documents.js'

const context = { actor: 'test', $correlationId: 'test', $causationId: 'test' }
const box = createSecretBox(randomBytes(32))
const merchantId = randomUUID()

/** A stored log, and the same log as the service reads it with its keys. */
async function openLog(t: Test) {
  const directory = tempDirectory(t)
  const raw = await openTestEventStore(directory)
  const keyStore = openEmbeddedKeyStore({ directory })
  const keys = new CustomerKeys(keyStore, box)
  t.teardown(async () => {
    await raw.close()
    await keyStore.close()
  })
  return { raw, keyStore, keys, store: sealing(raw, keys) }
}

type Log = Awaited<ReturnType<typeof openLog>>

async function copy(source: Log, target: Log) {
  const keyCopy = new CustomerKeyCopy(source.keyStore, target.keyStore)
  await keyCopy.copyAll()
  return copyLog({
    source: source.raw,
    target: target.raw,
    signal: new AbortController().signal,
    onProgress: () => {},
    beforeAppend: (events) => keyCopy.copyFor(events),
  })
}

async function deposit(store: EventStore, userId: string): Promise<string> {
  const trackingId = randomUUID()
  const data = { ...sampleEvent('DepositCreated').data, merchantId, trackingId, userId, name: `name of ${userId}` }
  await store.append(`transfer-${trackingId}`, 'no_stream', [encodeEvent({ type: 'DepositCreated', data }, context)])
  return trackingId
}

async function erase({ raw, keys }: Log, userId: string, trackingId: string): Promise<string> {
  const { id: erasureId } = (await keys.find(merchantId, userId))!
  const data = { erasureId, merchantId, trackingIds: [trackingId], reason: 'requested', at: '2026-03-01T12:00:00.000Z' }
  await raw.append(`privacy-${erasureId}`, 'no_stream', [encodeEvent({ type: 'CustomerErased', data }, context)])
  await keys.destroy([erasureId])
  return erasureId
}

const dataOf = async ({ store }: Log) => (await wholeLog(store)).map(({ stream, data }) => ({ stream, data }))

t.test('a copy is readable with the copied keys, including those of customers added during the copy', async (t) => {
  const [source, target] = [await openLog(t), await openLog(t)]
  await deposit(source.store, 'ada')
  t.match(await copy(source, target), { copied: 1, verified: 1 })
  await deposit(source.store, 'grace')
  const { events } = await source.raw.readAll({ maxCount: 10 })
  await new CustomerKeyCopy(source.keyStore, target.keyStore).copyFor(events)
  t.strictSame(await target.keys.store.counts([merchantId]), new Map([[merchantId, 2]]))
  await copy(source, target)
  t.strictSame(await dataOf(target), await dataOf(source))
  t.match(
    (await dataOf(target)).map(({ data }) => data.userId),
    ['ada', 'grace'],
  )
})

t.test('the keys are durable before the events that need them', async (t) => {
  const [source, target] = [await openLog(t), await openLog(t)]
  const failing = {
    ...target.raw,
    async appendInOrder() {
      throw new StoreUnavailableError('gone')
    },
  }
  await deposit(source.store, 'ada')
  await t.rejects(copy(source, { ...target, raw: failing }), StoreUnavailableError)
  t.strictSame(await target.keys.store.counts([merchantId]), new Map([[merchantId, 1]]))
})

t.test('erases a customer in the copy who was erased between two runs', async (t) => {
  const [source, target] = [await openLog(t), await openLog(t)]
  const trackingId = await deposit(source.store, 'ada')
  await copy(source, target)
  const id = await erase(source, 'ada', trackingId)
  t.match(await copy(source, target), { events: 2, copied: 1, verified: 1 })
  t.strictSame(await target.keyStore.byIds([id]), [])
  t.match((await target.store.readStream(`transfer-${trackingId}`))[0]!.data, { userId: '[erased]', name: '[erased]' })
})

t.test('rejects a target with its own keys for the same customers', async (t) => {
  const [source, target] = [await openLog(t), await openLog(t)]
  await deposit(source.store, 'ada')
  await target.keys.of(merchantId, 'ada')
  await t.rejects(copy(source, target), { name: 'CopyRefusedError', message: /different keys/ })
  t.strictSame(await wholeLog(target.raw), [])
})
