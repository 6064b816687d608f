import { createHash, hkdfSync, randomBytes, randomUUID } from 'node:crypto'
import { mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import fc from 'fast-check'
import t, { type Test } from 'tap'
import { decodeEvent, encodeEvent, personalFieldsOf, UnreadableEventError } from '../../src/event-store/event-codec.js'
import { defaultPersistentSubscriptionSettings, type EventStore } from '../../src/event-store/event-store.js'
import { giveUpLostKeys } from '../../src/privacy/customer-erasure.js'
import { CustomerKeys, fieldCommitments, keyIdIn, openFields, sealFields } from '../../src/privacy/customer-keys.js'
import { keyFileIn, openEmbeddedKeyStore } from '../../src/privacy/embedded/embedded-key-store.js'
import { lostKeys, requireCustomerKeys } from '../../src/privacy/lost-keys.js'
import { sealing } from '../../src/privacy/sealing-store.js'
import { createSecretBox, digestKeyOf, idOfMasterKey, keyIdOf } from '../../src/security/secret-box.js'
import { knownVersions, sampleEvent } from '../event-store/codec/golden-events.js'
import { anyText } from '../support/any-text.js'
import { decryptElsewhere } from '../support/decrypt-elsewhere.js'
import { openTestEventStore } from '../support/event-store.js'

const context = { actor: 'test', $correlationId: 'test', $causationId: 'test' }
const masterKey = randomBytes(32)
const box = createSecretBox(masterKey)
const merchantId = randomUUID()

interface SealedStore {
  readonly directory: string
  readonly raw: EventStore
  readonly store: EventStore
  readonly keys: CustomerKeys
  /** Opens the store as a different thread or process. */
  openAgain(): { readonly store: EventStore; readonly keys: CustomerKeys }
}

async function openSealedStore(t: Test): Promise<SealedStore> {
  const directory = mkdtempSync(join(tmpdir(), 'transferd-privacy-'))
  const raw = await openTestEventStore(directory)
  const opened: CustomerKeys[] = []
  const newKeys = () => {
    const keys = new CustomerKeys(openEmbeddedKeyStore({ directory }), box)
    opened.push(keys)
    return keys
  }
  const keys = newKeys()
  t.teardown(async () => {
    for (const each of opened) await each.close()
    await raw.close()
    rmSync(directory, { recursive: true })
  })
  const openAgain = () => {
    const others = newKeys()
    return { keys: others, store: sealing(raw, others) }
  }
  return { directory, raw, keys, store: sealing(raw, keys), openAgain }
}

const countOf = async (keys: CustomerKeys) => (await keys.store.counts([merchantId])).get(merchantId) ?? 0

function deposit(userId: string, trackingId: string = randomUUID()) {
  const data = { ...created.data, merchantId, trackingId, userId, name: `name of ${userId}` }
  return { stream: `transfer-${trackingId}`, event: encodeEvent({ type: 'DepositCreated', data }, context) }
}

const created = sampleEvent('DepositCreated')

const decision = (erasureId: string) =>
  encodeEvent(
    {
      type: 'CustomerErased',
      data: { erasureId, merchantId, trackingIds: [], reason: 'test', at: '2026-03-01T12:00:00.000Z' },
    },
    context,
  )

t.test('every way of reading returns the appended data, and no file contains it in plaintext', async (t) => {
  const { store, raw, directory } = await openSealedStore(t)
  const canary = `canary-${randomUUID()}`
  const { stream, event } = deposit(canary)
  await store.append(stream, 'no_stream', [event])

  const [read] = await store.readStream(stream)
  t.strictSame(read!.data, event.data)
  const [ofAll] = (await store.readAll({ maxCount: 1 })).events
  t.strictSame(ofAll!.data, event.data)
  for await (const page of store.subscribeToAll({ signal: AbortSignal.timeout(5_000) })) {
    t.strictSame(page.events[0]!.data, event.data)
    break
  }
  const groups = store.persistentSubscriptions
  await groups.create('test', { ...defaultPersistentSubscriptionSettings, streamPrefixes: ['transfer-'] })
  const consumer = await groups.consume('test', { bufferSize: 10, signal: AbortSignal.timeout(5_000) })
  for await (const delivery of consumer) {
    const { referenceId, ...stored } = delivery.event.data
    t.equal(referenceId, event.data.referenceId)
    t.notMatch(JSON.stringify(stored), canary, 'the data is delivered sealed')
    await consumer.ack(delivery.ackId)
    break
  }
  await consumer.close()

  const [stored] = await raw.readStream(stream)
  t.match(stored!.data, { sealed: /^c2\./, merchantId })
  t.notOk('userId' in stored!.data)
  for (const file of readdirSync(directory, { recursive: true, withFileTypes: true }).filter((entry) => entry.isFile()))
    t.notOk(readFileSync(join(file.parentPath, file.name)).includes(canary), file.name)
})

t.test('a repeated append changes nothing, although its ciphertext differs', async (t) => {
  const { store, raw } = await openSealedStore(t)
  const { stream, event } = deposit('8412')
  const first = await store.append(stream, 'no_stream', [event])
  t.strictSame(await store.append(stream, 'no_stream', [event]), first)
  t.equal((await raw.readStream(stream)).length, 1)
})

t.test('reads events of every type and version with any texts as they were appended', async (t) => {
  const { store } = await openSealedStore(t)
  const transfer = deposit('payer')
  await store.append(transfer.stream, 'no_stream', [transfer.event])
  const { trackingId } = transfer.event.data
  await fc.assert(
    fc.asyncProperty(
      fc.constantFrom(...knownVersions),
      anyText(),
      fc.nat(10 ** 6),
      async ({ type, version: schemaVersion }, text, number) => {
        const fields = personalFieldsOf(type, schemaVersion)
        const valueLike = (erased: unknown) => {
          if (typeof erased === 'object') return { [text]: text, aMinor: text, ['__proto__']: text }
          return typeof erased === 'number' ? number + 1 : text
        }
        const filled = fields.map(({ name, erased }) => [name, valueLike(erased)])
        const data = { merchantId, trackingId, kept: [text, null, 1], ...Object.fromEntries(filled) }
        const stream = `test-${randomUUID()}`
        const event = { id: randomUUID(), type, data, metadata: { ...context, schemaVersion } }
        await store.append(stream, 'no_stream', [event])
        const [read] = await store.readStream(stream)
        const { id, metadata } = read!
        t.strictSame({ id, type: read!.type, data: read!.data, metadata }, event)
      },
    ),
    { numRuns: 60 },
  )
})

t.test('rejects a ciphertext that was altered or moved to a different event', async (t) => {
  const { store, raw } = await openSealedStore(t)
  const { stream, event } = deposit('8412')
  await store.append(stream, 'no_stream', [event])
  const [stored] = await raw.readStream(stream)
  const text = String(stored!.data.sealed)
  const at = text.length - 10
  const flipped = text.slice(0, at) + (text[at] === 'A' ? 'B' : 'A') + text.slice(at + 1)
  for (const [title, forged] of [
    ['moved', { ...event, id: randomUUID(), data: stored!.data }],
    ['altered', { ...event, data: { ...stored!.data, sealed: flipped } }],
    ['cut', { ...event, data: { ...stored!.data, sealed: text.slice(0, 40) } }],
  ] as const) {
    const elsewhere = `transfer-${randomUUID()}`
    await raw.append(elsewhere, 'no_stream', [forged])
    const [read] = await store.readStream(elsewhere)
    t.throws(() => decodeEvent(read!), UnreadableEventError, title)
  }
})

t.test('concurrent new customers share a write, and concurrent requests of one customer get one key', async (t) => {
  const { store, keys, openAgain } = await openSealedStore(t)
  const [ada, grace] = [openAgain(), openAgain()]
  const all = ['a', 'b', 'a', 'c', 'b', 'a'].map((userId) => deposit(userId))
  await Promise.all(all.map(({ stream, event }) => store.append(stream, 'no_stream', [event])))
  t.equal(await countOf(keys), 3)
  const later = [ada, grace, ada, grace].map((node) => ({ node, ...deposit('d') }))
  await Promise.all(later.map(({ node, stream, event }) => node.store.append(stream, 'no_stream', [event])))
  t.equal(await countOf(keys), 4, 'a customer who is new to both threads gets only one key')
  for (const { stream, event } of [...all, ...later])
    t.strictSame((await store.readStream(stream))[0]!.data, event.data)
})

t.test('uses a key that was stored before a crash without an event', async (t) => {
  const { raw, keys, openAgain } = await openSealedStore(t)
  const key = await keys.of(merchantId, '8412')
  t.equal((await raw.readAll({ maxCount: 1 })).events.length, 0)
  const { store, keys: afterwards } = openAgain()
  const { stream, event } = deposit('8412')
  await store.append(stream, 'no_stream', [event])
  t.equal((await afterwards.find(merchantId, '8412'))?.id, key.id)
  t.match((await raw.readStream(stream))[0]!.data, { sealed: new RegExp(`^c2\\.${key.id}\\.`) })
})

t.test('the data of an erased customer is unreadable, even for a thread that has cached the key', async (t) => {
  const { store, raw, keys, openAgain } = await openSealedStore(t)
  const { stream, event } = deposit('8412')
  await store.append(stream, 'no_stream', [event])
  const elsewhere = openAgain()
  t.strictSame((await elsewhere.store.readStream(stream))[0]!.data, event.data)
  const { id } = (await keys.find(merchantId, '8412'))!

  await store.append(`privacy-${id}`, 'no_stream', [decision(id)])
  await keys.destroy([id])
  const fields = personalFieldsOf('DepositCreated', event.metadata.schemaVersion)
  const expected = Object.fromEntries(fields.map(({ name, erased: form }) => [name, form]))
  const erased = { ...event.data, ...expected }
  t.strictSame((await store.readStream(stream))[0]!.data, erased)
  // Every follower of the log reads this stream.
  await elsewhere.store.readAll({ maxCount: 10, streamPrefixes: ['privacy-'] })
  const [read] = await elsewhere.store.readStream(stream)
  t.strictSame(read!.data, erased)
  t.match(decodeEvent(read!), { type: 'DepositCreated', data: expected }, 'the event stays valid')

  const again = deposit('8412')
  await elsewhere.store.append(again.stream, 'no_stream', [again.event])
  t.strictSame((await store.readStream(again.stream))[0]!.data, again.event.data, 'a returning customer gets a new key')
  t.not((await keys.find(merchantId, '8412'))!.id, id)

  const approved = encodeEvent(sampleEvent('WithdrawalApproved'), context)
  const late = { ...approved, data: { ...approved.data, trackingId: event.data.trackingId } }
  await elsewhere.store.append(stream, 0, [late])
  t.match(
    (await raw.readStream(stream))[1]!.data,
    { accountNumber: '[erased]' },
    'later events contain no data of the erased customer',
  )
})

t.test('a reader of the log finishes an erasure that a crash interrupted', async (t) => {
  const { store, keys, openAgain } = await openSealedStore(t)
  const { stream, event } = deposit('8412')
  await store.append(stream, 'no_stream', [event])
  const { id } = (await keys.find(merchantId, '8412'))!
  await store.append(`privacy-${id}`, 'no_stream', [decision(id)])
  t.equal(await countOf(keys), 1)
  await openAgain().store.readAll({ maxCount: 10, streamPrefixes: ['privacy-'] })
  t.equal(await countOf(keys), 0)
})

t.test('a lost key is not an erasure: the event is unreadable', async (t) => {
  const { store, directory, keys, openAgain } = await openSealedStore(t)
  const { stream, event } = deposit('8412')
  await store.append(stream, 'no_stream', [event])
  await keys.close()
  for (const suffix of ['', '-wal', '-shm']) rmSync(keyFileIn(directory) + suffix, { force: true })
  const [read] = await openAgain().store.readStream(stream)
  t.throws(() => decodeEvent(read!), { message: /@0: the key of its personal data is missing or wrong$/ })
})

t.test('reseals the customer keys with a new master key', async (t) => {
  const { directory, store, keys } = await openSealedStore(t)
  for (const userId of ['a', 'b', 'c']) {
    const { stream, event } = deposit(userId)
    await store.append(stream, 'no_stream', [event])
  }
  t.equal(await keys.reseal(), 0, 'all keys are sealed with the current master key')
  const ring = { current: Buffer.alloc(32, 9), others: [masterKey], digestKey: digestKeyOf(masterKey) }
  const later = new CustomerKeys(openEmbeddedKeyStore({ directory }), createSecretBox(ring))
  t.teardown(() => later.close())
  t.equal(await later.reseal(), 3)
  t.equal(await later.reseal(), 0, 'repeating it changes nothing')
  for await (const { sealed } of later.all()) t.equal(keyIdOf(sealed), idOfMasterKey(ring.current))
  await t.rejects(keys.find(merchantId, 'a'), { name: 'SecretBoxError' })
  for (const userId of ['a', 'b', 'c']) t.match(await later.find(merchantId, userId), { merchantId, userId })
  t.equal(await countOf(keys), 3)
})

t.test('reads the permanent stored form', async (t) => {
  const key = { id: 'AAAAAAAAAAAAAAAAAAAAAA', bytes: Buffer.alloc(32, 7), merchantId: 'm', userId: 'u' }
  const place = { stream: 'transfer-1', id: '00000000-0000-4000-8000-000000000001', type: 'DepositCreated' }
  const storedText =
    'c2.AAAAAAAAAAAAAAAAAAAAAA.ITx-F6rzH7Ck9diJqp5Lt8joAUAty9Nuk_sK4TT6_9s.TBjPlwKquuhLIyTziWKvGpaiMyHRr6SN-VhQa3k9ZUcI-iyQFWpsCa8z1_b1zNYfwU_yXe_xkvwM3NkJs3ILIUlCJX1EXTW285DqGgu2qN4Y1Nu-HIQ6oQJYUuQ_WfEkQn1wdw'
  t.equal(keyIdIn(storedText), key.id)
  t.strictSame(openFields(key, place, storedText), { userId: '8412', name: 'Ayşe Yılmaz', username: 'ayse.y' })
  const moved = '00000000-0000-4000-8000-000000000002'
  t.equal(openFields(key, { ...place, id: moved }, storedText), undefined)
  const [version, id, commitment, encrypted] = storedText.split('.')
  const otherCommitment = [version, id, `${commitment!.slice(0, -2)}AA`, encrypted].join('.')
  t.equal(openFields(key, place, otherCommitment), undefined, 'the commitment cannot be replaced')
})

t.test('a field can be disclosed without the others, of the same event and of other events', async (t) => {
  const key = { id: 'AAAAAAAAAAAAAAAAAAAAAA', bytes: Buffer.alloc(32, 7), merchantId: 'm', userId: 'u' }
  const place = { stream: 'transfer-1', id: '00000000-0000-4000-8000-000000000001', type: 'WithdrawalCreated' }
  const names = ['userId', 'name', 'username', 'accountNumber', 'identityNumber', 'metadata']
  const fields = Object.fromEntries(names.map((name) => [name, 'the same text']))
  const commitments = fieldCommitments(key, place, fields)
  const sha256 = (lines: readonly string[], encoding: 'hex' | 'base64url') =>
    createHash('sha256').update(lines.join('\n')).digest(encoding)
  const hashes = commitments.map(({ field, salt, value }) =>
    sha256(['transferd-field/1', place.stream, place.id, field, salt, value], 'hex'),
  )
  t.strictSame(
    commitments.map(({ hash }) => hash),
    hashes,
  )
  t.equal(sealFields(key, place, fields).split('.')[2], sha256(['transferd-fields/1', ...hashes], 'base64url'))
  const others = [
    ...[
      { ...place, stream: 'transfer-2' },
      { ...place, id: '00000000-0000-4000-8000-000000000002' },
    ].map((other) => fieldCommitments(key, other, fields)),
    fieldCommitments({ ...key, bytes: Buffer.alloc(32, 8) }, place, fields),
  ]
  const salts = [commitments, ...others].flat().map(({ salt }) => salt)
  t.equal(new Set(salts).size, salts.length, 'no two fields have the same salt')
  for (const salt of salts) t.equal(Buffer.from(salt, 'base64').length, 16)
})

t.test('other software decrypts personal data with the master key', async (t) => {
  const { raw, store, keys } = await openSealedStore(t)
  const { stream, event } = deposit('8412')
  await store.append(stream, 'no_stream', [event])
  const open = (key: Buffer, sealed: unknown, place: string) => {
    const bytes = Buffer.from(String(sealed).split('.').at(-1)!, 'base64url')
    return JSON.parse(decryptElsewhere(key, bytes, Buffer.from(place)).toString())
  }
  const sealingKey = Buffer.from(hkdfSync('sha256', masterKey, '', 'transferd seal v1', 32))
  for await (const kept of keys.all()) {
    const [key, ...customer] = open(sealingKey, kept.sealed, `customer-key ${kept.id}`)
    t.strictSame(customer, [merchantId, '8412'])
    const [stored] = await raw.readStream(stream)
    const { id, type, data } = stored!
    const commitment = String(data.sealed).split('.')[2]
    const fields = open(Buffer.from(key, 'base64url'), data.sealed, `${id} ${type} ${stream} ${commitment}`)
    t.match(fields, { userId: '8412', name: 'name of 8412' })
    t.strictSame({ ...data, ...fields, sealed: undefined }, { ...event.data, sealed: undefined })
  }
})

t.test('requires a key of the customers whose personal data is in the log, until they are erased', async (t) => {
  const { store, raw, keys } = await openSealedStore(t)
  const directory = t.testdir()
  const empty = new CustomerKeys(openEmbeddedKeyStore({ directory }), box)
  t.teardown(() => empty.close())
  const location = { engine: 'embedded', directory } as const
  const check = (given: CustomerKeys) => requireCustomerKeys(raw, given.store, location)
  await check(empty)
  const customers = ['8412', '8413']
  for (const { stream, event } of customers.map((userId) => deposit(userId)))
    await store.append(stream, 'no_stream', [event])
  await check(keys)
  await t.rejects(check(empty), { name: 'CustomerKeysError', message: `customer-keys.db in ${directory} contains no` })
  await t.rejects(
    requireCustomerKeys(raw, empty.store, { engine: 'mongodb', url: 'mongodb://a:secret@db/x?tls=true' }),
    {
      message: /but the collection customer-keys of mongodb:\/\/db\/x contains no/,
    },
  )
  const first = await keys.find(merchantId, customers[0]!)
  await empty.of(randomUUID(), 'of another log')
  await t.rejects(check(empty), { message: /contains only keys of other customers than the log's/ })
  // A destroyed key is not a lost one.
  await raw.append(`privacy-${first!.id}`, 'no_stream', [decision(first!.id)])
  await keys.destroy([first!.id])
  await check(keys)
  await t.rejects(check(empty), { name: 'CustomerKeysError' })
  const given = () =>
    giveUpLostKeys({ raw, keys: empty, clock: () => created.data.at }, lostKeys(raw, empty.store), 'lost', context)
  t.equal(await given(), 1)
  await check(empty)
  t.equal(await given(), 0, 'can be repeated')
})
