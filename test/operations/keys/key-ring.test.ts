import { randomBytes, randomUUID } from 'node:crypto'
import t from 'tap'
import { MerchantCommands } from '../../../src/commands/merchant/merchant-commands.js'
import { digestKeyStream } from '../../../src/domain/streams.js'
import { addEventCodes } from '../../../src/event-store/event-codes.js'
import { type EventStore, endOfLog } from '../../../src/event-store/event-store.js'
import { eventKeyIn, type MasterKeys, openKeyRing, requireEventKey } from '../../../src/operations/keys/key-ring.js'
import { createSecretBox, idOfMasterKey, keyIdOf } from '../../../src/security/secret-box.js'
import { openTestStore } from '../../support/embedded-store.js'
import { merchantSettings } from '../../support/merchant-requests.js'

const context = { actor: 'cli:ada', $correlationId: 'test', $causationId: 'test' }
const clock = () => '2026-03-01T09:00:00.000Z'
const [first, second, third] = [randomBytes(32), randomBytes(32), randomBytes(32)]

function keys(...all: readonly Buffer[]): MasterKeys['keys'] {
  const loaded = all.map((key) => ({ key, from: 'test' }))
  return [...loaded.slice(0, -1), loaded.at(-1)!]
}

const digest = (box: ReturnType<typeof createSecretBox>) => box.mac('user email', 'ada@shop.example')

/** Opens a log with its first key and returns a digest. */
async function openWithFirstKey(store: EventStore): Promise<string> {
  const box = createSecretBox(await openKeyRing(store, keys(first)))
  await new MerchantCommands(store, clock, box).register(merchantSettings, context)
  return digest(box)
}

t.test('a single key needs no record in the log', async (t) => {
  const store = await openTestStore(t)
  t.equal(await openWithFirstKey(store), digest(createSecretBox(first)))
  t.same(await store.readStream(digestKeyStream), [])
})

t.test('keeps digests with a second key, which seals the key of the digests', async (t) => {
  const store = await openTestStore(t)
  const before = await openWithFirstKey(store)
  t.equal(digest(createSecretBox(await openKeyRing(store, keys(first, second)))), before)
  t.equal(digest(createSecretBox(await openKeyRing(store, keys(first, second)))), before)
  const recorded = await store.readStream(digestKeyStream)
  t.equal(recorded.length, 1)
  t.equal(keyIdOf(String(recorded[0]!.data.sealed)), idOfMasterKey(second))
  t.equal(digest(createSecretBox(await openKeyRing(store, keys(second)))), before, 'the first key is no longer needed')
})

t.test('reads from the log which key was first, regardless of the order in the list', async (t) => {
  const store = await openTestStore(t)
  const before = await openWithFirstKey(store)
  const ring = await openKeyRing(store, keys(second, first))
  t.equal(digest(createSecretBox(ring)), before)
  t.same(ring.current, first)
})

t.test('processes that see the second key at the same time agree', async (t) => {
  const store = await openTestStore(t)
  const before = await openWithFirstKey(store)
  const rings = await Promise.all([1, 2, 3, 4].map(() => openKeyRing(store, keys(first, second))))
  for (const ring of rings) t.equal(digest(createSecretBox(ring)), before)
  t.equal((await store.readStream(digestKeyStream)).length, 1)
})

t.test('rejects several keys without the first key of the log', async (t) => {
  const store = await openTestStore(t)
  await openWithFirstKey(store)
  const refused = { name: 'MasterKeyError', message: new RegExp(idOfMasterKey(first)) }
  await t.rejects(openKeyRing(store, keys(second, third)), refused)
  t.same(await store.readStream(digestKeyStream), [])
})

t.test('rejects keys that do not open the record in the log, and names the id of the missing key', async (t) => {
  const store = await openTestStore(t)
  await openWithFirstKey(store)
  await openKeyRing(store, keys(first, second))
  for (const loaded of [keys(first), keys(third), keys(first, third)])
    await t.rejects(openKeyRing(store, loaded), { name: 'MasterKeyError', message: new RegExp(idOfMasterKey(second)) })
})

t.test('starts a new log with several keys', async (t) => {
  const store = await openTestStore(t)
  const before = digest(createSecretBox(await openKeyRing(store, keys(first, second))))
  t.equal(digest(createSecretBox(await openKeyRing(store, keys(second)))), before)
})

t.test(
  'rejects the key of another log and names the keys, also if other programs wrote to the log first',
  async (t) => {
    const store = await openTestStore(t)
    const foreign = { id: randomUUID(), type: 'Foreign', data: {}, metadata: {} }
    await store.append('orders-1', 'no_stream', [foreign])
    const open = async (...given: readonly [Buffer, ...Buffer[]]) =>
      requireEventKey(store, await openKeyRing(store, keys(...given)))
    await open(second)
    // An event without a code proves nothing.
    await store.append('transfer-1', 'no_stream', [{ ...foreign, id: randomUUID() }])
    const box = createSecretBox(first)
    await new MerchantCommands(addEventCodes(store, eventKeyIn(box)), clock, box).register(merchantSettings, context)
    const end = await endOfLog(store)
    await t.rejects(open(second), {
      name: 'MasterKeyError',
      message: new RegExp(`that of ${idOfMasterKey(second)}, and .* with master key ${idOfMasterKey(first)}`),
    })
    await t.rejects(open(third, second), { name: 'MasterKeyError', message: new RegExp(idOfMasterKey(first)) })
    t.strictSame(await endOfLog(store), end, 'a rejected key appends nothing')
    await open(first)
    await open(first, second)
    await open(second)
  },
)
