import { createHash } from 'node:crypto'
import { logPath, openEventLog } from '@transferd/event-log'
import Database from 'better-sqlite3'
import t, { type Test } from 'tap'
import { canonicalJson, leafOf, placeInLeaf } from '../../../src/audit/integrity/event-leaf.js'
import type { RecordedEvent } from '../../../src/event-store/event-store.js'
import { openEventStoreDb } from '../../../src/event-store/eventstoredb/eventstoredb-event-store.js'
import { openTestStore } from '../../support/embedded-store.js'
import { startTestEventsServer } from '../../support/events-server.js'

const position = { commit: 7n, prepare: 7n }
const event: RecordedEvent = {
  ...{ id: 'id-1', type: 'Happened', stream: 'transfer-1', revision: 2, recordedAtMs: 1_700_000_000_123, position },
  data: { b: '€', a: { z: 1, y: [true, null] } },
  metadata: { actor: 'cli:ada' },
}

t.test('serializes the examples of RFC 8785', async (t) => {
  const value = {
    numbers: [Number('333333333.33333329'), 1e30, 4.5, 2e-3, 0.000000000000000000000000001, -0],
    string: '\u20ac$\u000F\u000aA\'\u0042\u0022\u005c\\"/',
    literals: [null, true, false],
  }
  const text =
    '{"literals":[null,true,false],"numbers":[333333333.3333333,1e+30,4.5,0.002,1e-27,0],"string":"€$\\u000f\\nA\'B\\"\\\\\\\\\\"/"}'
  t.equal(canonicalJson(value), text)
  const names = {
    '\u20ac': 1,
    '\r': 2,
    '\ufb33': 3,
    '1': 4,
    '\ud83d\ude00': 5,
    '\u0080': 6,
    '\u00f6': 7,
    '10': 8,
    '9': 9,
  }
  const sortedNames = ['\r', '1', '10', '9', '\u0080', '\u00f6', '\u20ac', '\ud83d\ude00', '\ufb33']
  t.same(
    [...canonicalJson(names).matchAll(/"((?:[^"\\]|\\.)+)":/g)].map(([, name]) => JSON.parse(`"${name}"`)),
    sortedNames,
  )
  t.equal(canonicalJson({ a: {}, b: [], c: undefined }), '{"a":{},"b":[]}')
  t.equal(canonicalJson({ c: [{ 2: 1, 10: 2 }], a: undefined, b: {} }), '{"b":{},"c":[{"10":2,"2":1}]}')
  t.equal(canonicalJson(JSON.parse('{"b":1,"__proto__":{"a":2}}')), '{"__proto__":{"a":2},"b":1}')
})

t.test('a leaf contains every field of the event except its position in the log', async (t) => {
  const text =
    '{"data":{"a":{"y":[true,null],"z":1},"b":"€"},"id":"id-1","metadata":{"actor":"cli:ada"},"recordedAtMs":1700000000123,"revision":2,"stream":"transfer-1","type":"Happened"}'
  t.equal(leafOf(event).toString(), text)
  t.equal(leafOf({ ...event, position: { commit: 8n, prepare: 8n } }).toString(), text)
  const changes: Partial<RecordedEvent>[] = [
    ...[{ id: 'id-2' }, { type: 'Other' }, { stream: 'transfer-2' }, { revision: 3 }, { recordedAtMs: 0 }],
    ...[{ data: {} }, { metadata: {} }, { stored: [Buffer.from('x')] }],
  ]
  for (const change of changes) t.not(leafOf({ ...event, ...change }).toString(), text, JSON.stringify(change))
  t.same(placeInLeaf(leafOf(event)), { stream: 'transfer-1', revision: 2, id: 'id-1' })
})

t.test('a leaf that does not fit into an entry is represented by its hash', async (t) => {
  const long = { ...event, data: { text: 'x'.repeat(70_000) } }
  const { id, recordedAtMs, revision, stream, type, data, metadata } = long
  const whole = canonicalJson({ data, id, metadata, recordedAtMs, revision, stream, type })
  const sha256 = createHash('sha256').update(whole).digest('hex')
  t.same(JSON.parse(leafOf(long).toString()), { id, recordedAtMs, revision, stream, type, sha256 })
  t.same(placeInLeaf(leafOf(long)), { stream, revision, id })
  t.match(JSON.parse(leafOf({ ...long, stream: 'x'.repeat(70_000) }).toString()), { sha256: /^[0-9a-f]{64}$/ })
})

/** Reads the stored events of a log through both engines. */
async function readThroughBoth(t: Test, directory: string) {
  const server = await startTestEventsServer(directory)
  const stores = [openEventStoreDb({ url: server.url }), await openEventLog({ directory })]
  const read = await Promise.all(stores.map((store) => store.readAll({ maxCount: 100, includeStored: true })))
  for (const store of stores) await store.close()
  await server.stop()
  t.equal(read[0]!.events.length, read[1]!.events.length)
  return read.map(({ events }) => events)
}

t.test('a log has the same leaves through both engines', async (t) => {
  const store = await openTestStore(t)
  const { data, metadata } = event
  const events = [0, 1].map((n) => ({
    id: `6f6a5c0e-52a1-4f0e-9d2b-0f0f5d3c1a1${n}`,
    type: 'T',
    data: { n, ...data },
    metadata,
  }))
  await store.append('transfer-1', 'no_stream', events)
  const [one, other] = await readThroughBoth(t, t.testdirName)
  t.equal(one!.length, 2)
  t.same(
    one!.map((each) => leafOf(each).toString()),
    other!.map((each) => leafOf(each).toString()),
  )
  t.same(
    one!.map(({ text }) => text),
    events.map(({ id, type }, n) => JSON.stringify([id, type, events[n]!.data, metadata])),
  )
})

t.test('a leaf includes stored bytes that are not part of the event’s JSON', async (t) => {
  const store = await openTestStore(t)
  const id = '6f6a5c0e-52a1-4f0e-9d2b-0f0f5d3c1a11'
  await store.append('transfer-1', 'no_stream', [{ id, type: 'T', data: { amountMinor: '100' }, metadata: {} }])
  await store.close()
  const db = new Database(logPath(t.testdirName))
  const readLeaves = async () => {
    const reopened = await openEventLog({ directory: t.testdirName })
    const { events } = await reopened.readAll({ maxCount: 10, includeStored: true })
    await reopened.close()
    return events.map((each) => leafOf(each).toString())
  }
  const [plain] = await readLeaves()
  const before = db.prepare('SELECT body FROM events').pluck().get() as string
  const edits = [
    ['body', before.replace('{"amountMinor":"100"}', '{"amountMinor" :"100"}'), 'white space'],
    ['body', before.replace('{"amountMinor":"100"}', '{"amountMinor":"1","amountMinor":"100"}'), 'a repeated name'],
    ['body', before.replace('amountMinor', '\\u0061mountMinor'), 'an escape'],
    ['body', before.replace(/\]$/, ',1]'), 'an additional element'],
    ['body', Buffer.from(before), 'bytes'],
    ['body', 'not JSON', 'not JSON'],
    ['body', 7, 'a number'],
    ['name', Buffer.from('transfer-1'), 'an invalid name'],
    ['revision', 'x', 'an invalid revision'],
    ['recorded_at', 1.5, 'an invalid time'],
  ] as const
  const leaves = new Set([plain])
  for (const [column, value, title] of edits) {
    const old = db.prepare(`SELECT ${column} FROM events`).pluck().get()
    db.prepare(`UPDATE events SET ${column} = ?`).run(value)
    const [leaf] = await readLeaves()
    t.notOk(leaf === undefined || leaves.has(leaf), title)
    leaves.add(leaf)
    db.prepare(`UPDATE events SET ${column} = ?`).run(old)
  }
  t.same(await readLeaves(), [plain])
  db.close()
})
