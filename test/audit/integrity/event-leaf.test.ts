import { createHash, randomUUID } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { isDeepStrictEqual } from 'node:util'
import { logPath, openEventLog } from '@transferd/event-log'
import { Database } from '@transferd/event-log/sqlite'
import { StreamStore } from '@transferd/event-log/streams'
import fc from 'fast-check'
import t, { type Test } from 'tap'
import { leafOf, nameOf, placeIn, redactedFields } from '../../../src/audit/integrity/event-leaf.js'
import { PasswordHash, Sealed } from '../../../src/domain/fields.js'
import { merchantEvents } from '../../../src/domain/merchant/merchant-events.js'
import { userEvents } from '../../../src/domain/user/user.js'
import { walletAccountEvents } from '../../../src/domain/wallet-account.js'
import type { UnparsedEvent } from '../../../src/event-store/event-store.js'
import { openEventStoreDb } from '../../../src/event-store/eventstoredb/eventstoredb-event-store.js'
import type { TObject, TSchema } from '../../../src/kernel/typebox.js'
import { openTestStore } from '../../support/embedded-store.js'
import { startTestEventsServer } from '../../support/events-server.js'

const position = { commit: 7n, prepare: 7n }
const text = '["id-1","Happened",{"b":"€", "a":1},{"actor":"cli:ada"}]'
const event: UnparsedEvent = { stream: 'transfer-1', revision: 2, recordedAtMs: 1_700_000_000_123, position, text }

t.test('a leaf is a JSON array with the stored text of the event, without its position in the log', async (t) => {
  const leaf = `["transferd/2 event","transfer-1",2,1700000000123,${text}]`
  t.equal(leafOf(event), leaf)
  t.equal(leafOf({ ...event, position: { commit: 8n, prepare: 8n } }), leaf)
  const changes: Partial<UnparsedEvent>[] = [
    ...[{ stream: 'transfer-2' }, { revision: 3 }, { recordedAtMs: 0 }, { text: text.replace(', ', ',') }],
    { text: undefined, bytes: [Buffer.from(text)] },
  ]
  for (const change of changes) t.not(leafOf({ ...event, ...change }), leaf, JSON.stringify(change))
})

t.test('a leaf that does not fit into an entry is represented by its hash', async (t) => {
  const long = { ...event, text: `["id-1","Happened",{"text":"${'x'.repeat(70_000)}"},{}]` }
  const whole = `["transferd/2 event","transfer-1",2,1700000000123,${long.text}]`
  const sha256 = createHash('sha256').update(whole).digest('hex')
  t.same(JSON.parse(leafOf(long)), ['transferd/2 sha256', 'transfer-1', 2, 1_700_000_000_123, sha256])
  t.match(JSON.parse(leafOf({ ...long, stream: 'x'.repeat(70_000) })), ['transferd/2 sha256', /^[0-9a-f]{64}$/])
})

t.test('a leaf of a user, a merchant or a wallet account holds the hashes of secrets', async (t) => {
  const sha256 = (text: string) => ({ sha256: createHash('sha256').update(text).digest('hex') })
  const data = { name: 'Ada', passwordHash: '$argon2id$…', secondFactor: null, secretKeys: [{ number: 0 }] }
  const stored = JSON.stringify(['id-1', 'UserCreated', data, { actor: 'cli:ada' }])
  const hashes = { passwordHash: sha256('"$argon2id$…"'), secretKeys: sha256('[{"number":0}]') }
  const redacted = JSON.stringify(['id-1', 'UserCreated', { ...data, ...hashes }, { actor: 'cli:ada' }])
  for (const stream of ['user-1', 'merchant-1', 'wallet-1'])
    t.equal(
      leafOf({ ...event, stream, text: stored }),
      `["transferd/2 redacted","${stream}",2,1700000000123,${redacted}]`,
    )
  const inOtherForms = [
    ['transfer-1', stored, 'a stream without secrets'],
    ['user-1', text, 'an event without secrets'],
    ['user-1', stored.replace('":"', '": "'), 'white space'],
    ['user-1', stored.replace('"name":"Ada"', '"passwordHash":"x","name":"Ada"'), 'a repeated name'],
    ['user-1', stored.replace(/\]$/, ',1]'), 'an additional element'],
    ['user-1', '["id-1","T",null,{}]', 'no data'],
    ['user-1', '{"passwordHash":"x"}', 'not an array'],
    ['user-1', 'not JSON', 'not JSON'],
  ] as const
  for (const [stream, given, title] of inOtherForms)
    t.equal(
      leafOf({ ...event, stream, text: given }),
      `["transferd/2 event","${stream}",2,1700000000123,${given}]`,
      title,
    )
})

t.test('every secret of an event is redacted', async (t) => {
  const secretSchemas = new Set<unknown>([Sealed, PasswordHash])
  const isSecret = (schema: TSchema): boolean =>
    secretSchemas.has(schema) ||
    Object.values(schema.properties ?? schema.items?.properties ?? {}).some((each) => isSecret(each as TSchema)) ||
    (schema.anyOf ?? []).some(isSecret)
  const streams = [userEvents, merchantEvents, walletAccountEvents]
  let found = 0
  for (const [type, { properties }] of streams.flatMap((events) => Object.entries<TObject>(events)))
    for (const [name, schema] of Object.entries(properties))
      if (isSecret(schema)) {
        found++
        t.ok(redactedFields.has(name), `${type} ${name}`)
      }
  t.ok(found > 10)
  const section = /### Withheld secrets\n(.*?)\n### /s.exec(readFileSync('docs/auditing/evidence.md', 'utf8'))![1]!
  const listed = [...section.matchAll(/`(\w+)`/g)].map(([, name]) => name)
  t.strictSame(new Set(listed), redactedFields, 'the documentation lists the redacted fields')
})

t.test('no two stored events have the same leaf, whatever another program wrote', async () => {
  // Parts of leaves, so that the generator finds texts that continue a leaf as a different form does.
  const part = fc.constantFrom(
    '"',
    ',',
    '[',
    ']',
    '\\',
    '0',
    '1',
    'AA==',
    'transferd/2 bytes',
    'transferd/2 event',
    'x',
  )
  const words = fc.array(part, { maxLength: 6 }).map((parts) => parts.join(''))
  const stored = fc.oneof(
    fc.record({ text: words }),
    fc.record({ bytes: fc.array(fc.uint8Array({ maxLength: 3 }), { maxLength: 3 }) }),
  )
  const number = fc.nat({ max: 11 })
  const events = fc
    .tuple(fc.record({ stream: words, revision: number, recordedAtMs: number }), stored)
    .map(([place, content]) => ({ ...place, ...content, position }))
  const property = fc.property(
    events,
    events,
    (one, other) => isDeepStrictEqual(one, other) || leafOf(one) !== leafOf(other),
  )
  fc.assert(property, { numRuns: 2_000 })
})

t.test('the name of a leaf contains the place of its event, unless it is too long', async (t) => {
  for (const stream of ['transfer-1', 'a@b@3', '\n@', ''])
    t.same(placeIn(nameOf({ stream, revision: 7 })), { stream, revision: 7 })
  for (const name of ['', 'transfer-1', 'transfer-1@', 'transfer-1@x']) t.equal(placeIn(Buffer.from(name)), undefined)
  t.equal(placeIn(nameOf({ stream: 'x'.repeat(70_000), revision: 0 })), undefined)
})

/** Reads the events of a log through both engines. */
async function readThroughBoth(t: Test, directory: string) {
  const server = await startTestEventsServer(directory)
  const stores = [openEventStoreDb({ url: server.url }), await openEventLog({ directory })]
  const read = await Promise.all(stores.map((store) => store.readUnparsed({ maxCount: 100 })))
  for (const store of stores) await store.close()
  await server.stop()
  t.equal(read[0]!.events.length, read[1]!.events.length)
  return read.map(({ events }) => events)
}

t.test('a log has the same leaves through both engines', async (t) => {
  const store = StreamStore.open(t.testdir())
  const contents = [
    ...[
      ['{"n":1,"a":"€"}', '{"by":"x"}'],
      ['{ "n": 1, "n": 2 }', ' {} '],
      ['{}', ''],
      ['[1]', '{}'],
      ['no JSON', '{}'],
    ],
    ...[
      ['{"\u0000":1}'.replace('\\u0000', '\u0000'), '{}'],
      ['\ufeff{}', '{}'],
      [Buffer.from([0xff, 0xfe]), 'x'],
    ],
  ] as const
  const events = [true, false].flatMap((isJson) =>
    contents.map(([data, metadata]) => {
      const bytes = { data: Buffer.from(data), metadata: Buffer.from(metadata) }
      return { id: randomUUID(), type: 'T "quoted"', isJson, ...bytes }
    }),
  )
  await store.append('transfer-1', 'any', events)
  await store.close()
  const [one, other] = await readThroughBoth(t, t.testdirName)
  t.equal(one!.length, events.length)
  t.same(one!.map(leafOf), other!.map(leafOf))
  t.equal(one!.filter(({ text }) => text !== undefined).length, 2)
  t.equal(new Set(one!.map(leafOf)).size, events.length)
})

t.test('a leaf includes stored bytes that are not part of the event’s JSON', async (t) => {
  const store = await openTestStore(t)
  const id = '6f6a5c0e-52a1-4f0e-9d2b-0f0f5d3c1a11'
  await store.append('transfer-1', 'no_stream', [{ id, type: 'T', data: { amountMinor: '100' }, metadata: {} }])
  await store.close()
  const db = new Database(logPath(t.testdirName))
  const readLeaves = async () => {
    const reopened = await openEventLog({ directory: t.testdirName })
    const { events } = await reopened.readUnparsed({ maxCount: 10 })
    await reopened.close()
    return events.map((each) => leafOf(each))
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
