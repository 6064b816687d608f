import { randomBytes, randomUUID } from 'node:crypto'
import { tempDirectory } from '@transferd/event-log/test/support/temp-directory'
import t, { type Test } from 'tap'
import { encodeEvent } from '../../src/event-store/event-codec.js'
import { type EventStore, type NewEvent, StoreUnavailableError } from '../../src/event-store/event-store.js'
import { compareLogs, nothingYet } from '../../src/operations/copy/compare-logs.js'
import { type CopyReport, copyLog } from '../../src/operations/copy/copy-log.js'
import { SealingCopy } from '../../src/operations/copy/sealing-copy.js'
import { CustomerKeys } from '../../src/privacy/customer-keys.js'
import { openEmbeddedKeyStore } from '../../src/privacy/embedded/embedded-key-store.js'
import { PrivacyStatusCount } from '../../src/privacy/privacy-status.js'
import { sealing } from '../../src/privacy/sealing-store.js'
import { createSecretBox } from '../../src/security/secret-box.js'
import { expectedEvents } from '../event-store/codec/expected-events.js'
import { openTestEventStore } from '../support/event-store.js'
import { wholeLog } from '../support/expected-documents.js'

const context = { actor: 'test', $correlationId: 'test', $causationId: 'test' }
const box = createSecretBox(randomBytes(32))
const merchantId = randomUUID()

/** A log as it is stored, and as a service with its keys has it. */
async function openLog(t: Test) {
  const directory = tempDirectory(t)
  const raw = await openTestEventStore(directory)
  const keyStore = openEmbeddedKeyStore({ directory })
  const keys = new CustomerKeys(keyStore, box)
  t.teardown(async () => {
    await raw.close()
    await keyStore.close()
  })
  const clear = async () => {
    const { events } = await new PrivacyStatusCount(raw, keys).status([merchantId], 10_000)
    return events.clear
  }
  return { raw, keyStore, keys, store: sealing(raw, keys), clear }
}

type Log = Awaited<ReturnType<typeof openLog>>

function copy(
  source: Log,
  target: Log,
  stores: { source?: EventStore; target?: EventStore } = {},
): Promise<CopyReport> {
  const logs = { source: source.raw, target: target.raw, ...stores }
  const rewording = new SealingCopy({
    ...logs,
    sourceKeys: source.keyStore,
    targetKeys: target.keyStore,
    box: async () => box,
  })
  return copyLog({ ...logs, rewording, signal: new AbortController().signal, onProgress: () => {} })
}

function example(type: string, data: object): NewEvent {
  const golden = Object.values(expectedEvents).findLast((event) => event.type === type)!
  return encodeEvent({ ...golden, data: { ...golden.data, merchantId, ...data } } as typeof golden, context)
}

/** A withdrawal with two events that say something of the customer, in clear unless `store` seals. */
async function withdrawal(store: EventStore, userId: string): Promise<string> {
  const trackingId = randomUUID()
  const stream = `transfer-${trackingId}`
  const personal = { userId, name: `name of ${userId}`, accountNumber: `account of ${userId}` }
  await store.append(stream, 'no_stream', [example('WithdrawalCreated', { trackingId, ...personal })])
  const { accountNumber } = personal
  await store.append(stream, 0, [example('WithdrawalApproved', { trackingId, accountNumber })])
  return trackingId
}

/** As a service does that knows the key, or knows none. */
async function erase({ raw, keys }: Log, trackingIds: readonly string[], erasureId: string) {
  const data = { erasureId, trackingIds, reason: 'asked', at: '2026-03-01T12:00:00.000Z' }
  await raw.append(`privacy-${erasureId}`, 'no_stream', [example('CustomerErased', data)])
  await keys.destroy([erasureId])
  for (const trackingId of trackingIds)
    await raw.append(`transfer-${trackingId}`, 1, [example('PersonalDataErased', { trackingId, at: data.at })])
}

const newId = () => randomBytes(16).toString('base64url')
const textOf = async ({ raw }: Log) => JSON.stringify((await wholeLog(raw)).map(({ data }) => data))
const opened = async ({ store }: Log) =>
  (await wholeLog(store)).map(({ stream, revision, id, type, data, metadata }) => ({
    ...{ stream, revision, id, type, data, metadata },
  }))
const stored = async ({ raw }: Log, trackingId: string) =>
  (await raw.readStream(`transfer-${trackingId}`)).map(({ id, data, metadata }) => ({ id, data, metadata }))

t.test(
  'what is in clear is sealed on the way, what is sealed or says nothing of anybody stays byte for byte',
  async (t) => {
    const [source, target] = [await openLog(t), await openLog(t)]
    const old = await Promise.all(['ada', 'grace', 'ada'].map((userId) => withdrawal(source.raw, userId)))
    const known = await withdrawal(source.store, 'grace')
    const foreign = { id: randomUUID(), type: 'Happened', data: { userId: 'ada', sealed: 'x' }, metadata: {} }
    await source.raw.append('foreign', 'no_stream', [foreign])
    t.equal(await source.clear(), 6)

    const events = 9
    t.match(await copy(source, target), { events, copied: events, verified: events, sourceHasGrown: false })
    t.equal(await target.clear(), 0)
    t.notMatch(await textOf(target), /of (ada|grace)/)
    t.strictSame(await opened(target), await opened(source), 'it is read as before')
    t.strictSame(await stored(target, known), await stored(source, known))
    const keyIds = await Promise.all(
      [...old, known].map(async (id) => (await stored(target, id)).map(({ data }) => String(data.sealed).slice(3, 25))),
    )
    const [ada, grace] = await Promise.all(['ada', 'grace'].map((userId) => target.keys.find(merchantId, userId)))
    const expected = [ada, grace, ada, grace].map((key) => [key!.id, key!.id])
    t.strictSame(keyIds, expected, 'each customer has one key, which the source knows')
    t.strictSame(await source.keyStore.byIds([ada!.id, grace!.id]), await target.keyStore.byIds([ada!.id, grace!.id]))
  },
)

t.test('of customers who were erased while their events were in clear the copy has nothing', async (t) => {
  const [source, target] = [await openLog(t), await openLog(t)]
  const gone = await withdrawal(source.raw, 'ada')
  const other = await withdrawal(source.raw, 'grace')
  await erase(source, [gone], newId())
  const back = await withdrawal(source.raw, 'ada')
  t.match(await copy(source, target), { events: 8, verified: 8 })
  t.equal(await target.clear(), 0)
  const erased = { userId: '[erased]', name: '[erased]', accountNumber: '[erased]' }
  const [created, approved] = await stored(target, gone)
  t.match(created!.data, erased)
  t.match(approved!.data, { accountNumber: '[erased]' })
  t.notOk('sealed' in created!.data)
  const read = async (log: Log, id: string) => (await log.store.readStream(`transfer-${id}`)).map(({ data }) => data)
  for (const id of [gone, other, back]) t.strictSame(await read(target, id), await read(source, id))
  t.match(await read(target, back), [{ userId: 'ada' }, { accountNumber: 'account of ada' }], 'who came back is read')
})

t.test(
  'broken off anywhere, beside another copy or a service: each event once, and a customer has one key',
  async (t) => {
    const [source, target] = [await openLog(t), await openLog(t)]
    for (let n = 0; n < 40; n++) await withdrawal(source.raw, `user-${n % 7}`)
    for (const left of [1, 33, 70]) {
      const breaking: EventStore = {
        ...target.raw,
        readStream: (...args) => target.raw.readStream(...args),
        readAll: (...args) => target.raw.readAll(...args),
        append: (...args) => target.raw.append(...args),
        async appendInOrder(appends) {
          const there = (await wholeLog(target.raw)).length
          await target.raw.appendInOrder(appends.slice(0, left - there))
          throw new StoreUnavailableError('gone')
        },
      }
      await t.rejects(copy(source, target, { target: breaking }), StoreUnavailableError)
      t.equal((await wholeLog(target.raw)).length, left)
      // A service on the source meanwhile: for a customer whom the copy has given a key, and for a new one.
      for (const userId of ['user-0', `new-${left}`]) await withdrawal(source.store, userId)
    }
    const events = 92
    const reports = await Promise.all([copy(source, target), copy(source, target)])
    for (const report of reports) t.match(report, { events, verified: events })
    t.match(await copy(source, target), { events, copied: 0, verified: 0 })
    t.strictSame(await opened(target), await opened(source))
    t.equal(await target.clear(), 0)
    t.strictSame(await target.keys.counts([merchantId]), new Map([[merchantId, 10]]))
  },
)

t.test('a customer who is erased between two runs is erased in the copy', async (t) => {
  const [source, target] = [await openLog(t), await openLog(t)]
  const gone = await withdrawal(source.raw, 'ada')
  await copy(source, target)
  const { id } = (await source.keys.find(merchantId, 'ada'))!
  await erase(source, [gone], id)
  t.match(await copy(source, target), { events: 4, copied: 2, verified: 2 })
  t.strictSame(await target.keyStore.byIds([id]), [])
  t.match((await target.store.readStream(`transfer-${gone}`))[0]!.data, { userId: '[erased]', name: '[erased]' })

  // One that was not read back before.
  const again = await openLog(t)
  const early = await withdrawal(source.raw, 'grace')
  const failing: EventStore = { ...again.raw, ...readingFails(again.raw) }
  await t.rejects(copy(source, again, { target: failing }), StoreUnavailableError)
  await erase(source, [early], (await source.keys.find(merchantId, 'grace'))!.id)
  t.match(await copy(source, again), { events: 8, copied: 2, verified: 8 })
  t.equal(await again.clear(), 0)
})

/** Once everything is copied. */
function readingFails(store: EventStore): Partial<EventStore> {
  let copied = false
  return {
    append: (...args) => store.append(...args),
    readStream: (...args) => store.readStream(...args),
    async appendInOrder(appends) {
      copied = true
      return store.appendInOrder(appends)
    },
    async readAll(options) {
      if (copied) throw new StoreUnavailableError('gone')
      return store.readAll(options)
    },
  }
}

t.test('an erasure that knew nothing of the key of the copy is refused, and not passed by', async (t) => {
  const [source, target] = [await openLog(t), await openLog(t)]
  const gone = await withdrawal(source.raw, 'ada')
  await copy(source, target)
  await erase(source, [gone], newId())
  await t.rejects(copy(source, target), { name: 'CopyRefusedError', message: /erased while their events were copied/ })
  t.equal((await wholeLog(target.raw)).length, 2)
})

t.test('what is altered is found, sealed or not', async (t) => {
  const [source, target] = [await openLog(t), await openLog(t)]
  await withdrawal(source.raw, 'ada')
  await withdrawal(source.store, 'grace')
  await withdrawal(source.raw, 'linus')
  const altered = (change: (data: NewEvent['data'], revision: number) => NewEvent['data']): EventStore => ({
    ...target.raw,
    async readAll(options) {
      const page = await target.raw.readAll(options)
      const events = page.events.map((event) => ({ ...event, data: change(event.data, event.revision) }))
      return { ...page, events }
    },
  })
  const other = (await source.keys.of(merchantId, 'another')).id
  const changes: { readonly [what: string]: Parameters<typeof altered>[0] } = {
    'a bit of a ciphertext': (data) => ({ ...data, sealed: String(data.sealed).replace(/.{5}$/, 'AAAAA') }),
    'what is beside it': (data) => ({ ...data, merchantId: 'another' }),
    'in clear beside it': (data) => ({ ...data, accountNumber: 'account of ada' }),
    'another key': (data) => ({ ...data, sealed: `c1.${other}.${String(data.sealed).slice(26)}` }),
    'a key that there is not': (data) => ({ ...data, sealed: `c1.${newId()}.${String(data.sealed).slice(26)}` }),
    'erased though nobody was': ({ sealed, ...data }) => ({
      ...{ ...data, userId: '[erased]', name: '[erased]', username: '[erased]' },
      ...{ accountNumber: '[erased]', identityNumber: '[erased]' },
    }),
  }
  await copy(source, target)
  const logs = { source: source.raw, target: target.raw, sourceKeys: source.keyStore, targetKeys: target.keyStore }
  const rewording = new SealingCopy({ ...logs, box: async () => box })
  const options = { rewording, signal: new AbortController().signal, onProgress: () => {} }
  for (const [what, change] of Object.entries(changes))
    for (const revision of [0, 1]) {
      const bent = altered((data, at) => (at === revision ? change(data, at) : data))
      const differ = { name: 'LogsDifferError', message: /whose data is not the source's$/ }
      await t.rejects(compareLogs(source.raw, bent, nothingYet, options), differ, `${what}, ${revision}`)
    }
})

t.test('a log without anything in clear is copied without the master key', async (t) => {
  const [source, target] = [await openLog(t), await openLog(t)]
  await withdrawal(source.store, 'ada')
  const logs = { source: source.raw, target: target.raw, sourceKeys: source.keyStore, targetKeys: target.keyStore }
  const rewording = new SealingCopy({ ...logs, box: () => Promise.reject(new Error('not asked for')) })
  const options = { ...logs, rewording, signal: new AbortController().signal, onProgress: () => {} }
  t.match(await copyLog(options), { events: 2, verified: 2 })
  await withdrawal(source.raw, 'grace')
  await t.rejects(copyLog(options), { message: 'not asked for' })
  t.equal((await wholeLog(target.raw)).length, 2)
})
