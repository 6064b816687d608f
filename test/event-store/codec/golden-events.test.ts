import t from 'tap'
import { decodeEvent, EventFormatError, encodeEvent } from '../../../src/event-store/event-codec.js'
import type { JsonObject } from '../../../src/event-store/event-store.js'
import type { TSchema } from '../../../src/kernel/typebox.js'
import { decodedData, goldenEvents, knownVersions, recorded, sampleEvent, statesDecodedData } from './golden-events.js'

t.test('every version of every event type has a fixture, and every fixture is of a known version', async (t) => {
  const message = 'test/fixtures/events has a file <type>.v<version>.json for each, with an example as it is stored'
  t.strictSame([...goldenEvents.keys()].sort(), knownVersions.map(({ name }) => name).sort(), message)
})

for (const { name, type, version, isNewest, schema } of knownVersions) {
  const stored = goldenEvents.get(name)
  // The first test reports it.
  if (stored === undefined) continue

  t.test(`${name} decodes to the newest version with amounts as bigint`, async (t) => {
    t.equal(stored.type, type)
    t.equal(stored.metadata.schemaVersion, version)
    const failed = `stored events of ${name} must stay readable: a changed event needs a version (CONTRIBUTING.md)`
    t.strictSame(
      failure(() => decodeEvent(recorded(stored))),
      { type, data: decodedData(name) },
      failed,
    )
    t.ok(isNewest || statesDecodedData(name), 'a fixture of an older version has its decoded form')
  })

  t.test(`${name} encodes back to the identical JSON if it is the newest version`, async (t) => {
    if (!isNewest) return
    const { id: _, ...encoded } = encodeEvent(decodeEvent(recorded(stored)), metadata)
    t.equal(JSON.stringify(encoded), JSON.stringify({ ...stored, metadata: { ...metadata, schemaVersion: version } }))
  })

  t.test(`rejects ${name} with a missing, added or mistyped field, and the error contains no value`, async (t) => {
    const changed = [...mutations(stored.data, schema)]
    t.ok(changed.length > 0)
    // One assertion for all, because tap would report ten thousand.
    const wrong = changed.filter(([, data]) => {
      const error = failure(() => decodeEvent(recorded({ ...stored, data })))
      const text = String(error)
      return !(error instanceof EventFormatError) || !text.includes('some-stream@7') || text.includes(canary)
    })
    t.strictSame(
      wrong.map(([what]) => what),
      [],
      'each error names the event and contains no value',
    )
  })
}

t.test('a field is optional only because a version added it', async (t) => {
  // In version 1, a callback without a delay has no time.
  const fromTheStart = ['CallbackRecorded dueAt']
  const optional = knownVersions.flatMap(({ type, schema }) =>
    Object.entries(schema.properties)
      .filter(([name, { since }]) => since === undefined && !schema.required?.includes(name))
      .map(([name]) => `${type} ${name}`),
  )
  t.strictSame(optional, fromTheStart, 'a new field is Since(version, …), and the event gets this version')
})

t.test('CallbackRecorded can have the time at which a delayed callback is due', async (t) => {
  const stored = goldenEvents.get('CallbackRecorded.v1')!
  const data = { ...stored.data, dueAt: '2026-03-01T10:06:00.000Z' }
  const event = decodeEvent(recorded({ ...stored, data }))
  t.strictSame(event.data, { ...(decodedData('CallbackRecorded.v1') as object), dueAt: data.dueAt })
  t.strictSame(encodeEvent(event, metadata).data, data)
  for (const dueAt of [null, '2026-03-01', 5]) {
    const error = failure(() => decodeEvent(recorded({ ...stored, data: { ...data, dueAt } })))
    t.ok(error instanceof EventFormatError, String(dueAt))
  }
})

const canary = 'canary-5519'
const metadata = { actor: 'system:test', $correlationId: 'c', $causationId: 'c' }

/** Yields the data with each field, at every depth, removed or replaced, and with an extra field in every object. */
function* mutations(data: JsonObject, schema: TSchema, path = ''): Generator<[what: string, data: JsonObject]> {
  const isRecord = schema.patternProperties !== undefined
  if (!isRecord) yield [`${path} and one more field`, { ...data, more: canary }]
  for (const [name, value] of Object.entries(data)) {
    const { [name]: _, ...rest } = data
    const isRequired = schema.required?.includes(name) === true
    if (isRequired) yield [`${path}${name} missing`, rest]
    const wrong: unknown[] = [[{ canary }], { canary: 1 }, typeof value === 'boolean' ? canary : true]
    if (isRequired) wrong.push(undefined)
    const isSigned = schema.properties?.[name]?.pattern?.includes('-?')
    if (isRecord) wrong.push(null, canary.repeat(100))
    else if (name.endsWith('Minor'))
      wrong.push('007', isSigned ? '-0' : '-1', '1.5', '1e2', ' 1', '1\n', '１', '', '1'.repeat(16))
    if (name === 'at' || name === 'expiresAt' || name === 'nextAttemptAt' || name === 'previousValidUntil') {
      wrong.push('2026-03-01T10:00:00Z', '2026-03-01T10:00:00.000+00:00', '2026-03-01', `${value}\n`)
    }
    for (const other of wrong) yield [`${path}${name} as ${JSON.stringify(other)}`, { ...data, [name]: other }]
    if (typeof value === 'object' && value !== null && !Array.isArray(value)) {
      const inner = objectIn(schema.properties[name])
      for (const [what, changed] of mutations(value as JsonObject, inner, `${path}${name}.`))
        yield [what, { ...data, [name]: changed }]
    }
  }
}

/** Returns the schema of an object that can be null. */
function objectIn(schema: TSchema): TSchema {
  return (schema.anyOf as TSchema[] | undefined)?.find(({ type }) => type === 'object') ?? schema
}

function failure(action: () => unknown): unknown {
  try {
    return action()
  } catch (error) {
    return error
  }
}

t.test(
  'rejects an unknown type and a newer, invalid or missing version, and the error contains no value',
  async (t) => {
    const stored = goldenEvents.get('TransferFailed.v1')!
    for (const schemaVersion of [2, 0, -1, 1.5, Number.NaN, '1', canary, null, undefined, [1], { canary }]) {
      const error = failure(() => decodeEvent(recorded({ ...stored, metadata: { ...stored.metadata, schemaVersion } })))
      t.ok(error instanceof EventFormatError, String(schemaVersion))
      t.match(String(error), 'TransferFailed')
      t.notMatch(String(error), canary)
    }
    for (const type of ['', 'Unknown', 'transferFailed', '__proto__', 'constructor', 'toString']) {
      t.throws(() => decodeEvent(recorded({ ...stored, type })), { name: 'UnreadableEventError' }, type)
    }
  },
)

t.test('does not encode an event that does not fit its schema, and the error contains no value', async (t) => {
  const completed = sampleEvent('TransferCompleted')
  const wrong = {
    amountMinor: 0n,
    transactionAmountMinor: -1n,
    message: undefined,
    receiptUrl: canary.repeat(300),
    more: 1,
  }
  for (const [field, value] of Object.entries(wrong)) {
    const event = { ...completed, data: { ...completed.data, [field]: value } }
    const error = failure(() => encodeEvent(event, metadata))
    t.ok(error instanceof EventFormatError, field)
    t.notMatch(String(error), canary)
  }
  const unknown = Object.assign({}, completed, { type: 'Nothing' })
  t.throws(() => encodeEvent(unknown, metadata), EventFormatError)
})

t.test('encoding gives each event a new id unless one is given, and keeps the metadata', async (t) => {
  const metadata = { actor: 'cli:root', $correlationId: 'job-1', $causationId: 'event-2' }
  const event = sampleEvent('TransferFailed')
  t.match(encodeEvent(event, metadata).id, /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/)
  t.not(encodeEvent(event, metadata).id, encodeEvent(event, metadata).id)
  t.strictSame(encodeEvent(event, metadata, 'an-id').id, 'an-id')
  t.strictSame(encodeEvent(event, metadata).metadata, { ...metadata, schemaVersion: 1 })
})

t.test('encoding and decoding one event takes microseconds', async (t) => {
  const stored = recorded(goldenEvents.get('DepositCreated.v1')!)
  // The processor time of this process excludes other programs.
  const before = process.cpuUsage()
  for (let count = 0; count < 20_000; count++) encodeEvent(decodeEvent(stored), metadata)
  const { user, system } = process.cpuUsage(before)
  const microseconds = (user + system) / 20_000
  t.comment(`${microseconds.toFixed(1)} us`)
  // This takes about 2.5 us on an idle core, and hundreds if the schema is compiled or interpreted for each event.
  t.ok(microseconds < 50, `${microseconds} us`)
})
