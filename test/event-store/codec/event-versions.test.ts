import t from 'tap'
import { type OlderVersion, Since, Versions, versionBefore } from '../../../src/domain/event.js'
import { Minor } from '../../../src/domain/fields.js'
import { EventFormatError, eventVersions } from '../../../src/event-store/event-codec.js'
import { Type } from '../../../src/kernel/typebox.js'

// A sample event that changed twice: one field was split in two, then a field was added.
const strict = { additionalProperties: false }
const split: OlderVersion = {
  schema: Type.Object({ route: Type.String() }, strict),
  upcast: ({ route }) => {
    const [from, to] = String(route).split('>')
    return { from, to }
  },
}
const neverHurried: OlderVersion = {
  schema: Type.Object({ from: Type.String(), to: Type.String() }, strict),
  upcast: (data) => ({ ...data, hurried: false }),
}
const moved = Type.Object({ from: Type.String(), to: Type.String(), hurried: Type.Boolean() }, strict)
const Rested = Type.Object({ hours: Type.Integer() }, strict)
const versions = eventVersions({ Moved: Versions([split, neverHurried], moved), Rested })

t.test('upcasts each older version to the newest, one step at a time', async (t) => {
  const expected = { from: 'Ankara', to: 'Izmir', hurried: false }
  t.strictSame(versions.decode('Moved', 1, { route: 'Ankara>Izmir' }), expected)
  t.strictSame(versions.decode('Moved', 2, { from: 'Ankara', to: 'Izmir' }), expected)
  t.strictSame(versions.decode('Moved', 3, { ...expected, hurried: true }), { ...expected, hurried: true })
  t.strictSame(versions.decode('Rested', 1, { hours: 8 }), { hours: 8 })
})

t.test('leaves stored data unchanged', async (t) => {
  const stored = Object.freeze({ route: 'Ankara>Izmir' })
  versions.decode('Moved', 1, stored)
  t.strictSame(stored, { route: 'Ankara>Izmir' })
})

t.test('checks data against the schema of its stored version', async (t) => {
  t.throws(() => versions.decode('Moved', 1, { from: 'a', to: 'b' }), EventFormatError)
  t.throws(() => versions.decode('Moved', 2, { route: 'a>b' }), EventFormatError)
  t.throws(() => versions.decode('Moved', 2, { from: 'a', to: 'b', hurried: true }), EventFormatError)
})

t.test('checks new data against the newest version and returns the version number', async (t) => {
  const data = { from: 'a', to: 'b', hurried: true }
  t.strictSame(versions.encode('Moved', data), { data, schemaVersion: 3 })
  t.equal(versions.encode('Rested', { hours: 1 }).schemaVersion, 1)
  t.throws(() => versions.encode('Moved', { from: 'a', to: 'b' }), EventFormatError)
  t.throws(() => versions.encode('Slept', {}), EventFormatError)
})

t.test('rejects a version that is newer than this program', async (t) => {
  const expected = { name: 'EventFormatError', message: 'unknown event Moved version 4' }
  t.throws(() => versions.decode('Moved', 4, {}), expected)
})

t.test('checks the result of an upcaster', async (t) => {
  const wrong = eventVersions({ Moved: Versions([split, { ...neverHurried, upcast: (data) => data }], moved) })
  t.throws(() => wrong.decode('Moved', 1, { route: 'a>b' }), {
    message: /version 3 does not fit its schema at \/hurried/,
  })
})

t.test('a field that a version added is absent from earlier versions, and null or a value in its own', async (t) => {
  const data = { to: Type.String(), speed: Since(2, Type.Integer()), colour: Since(3, Type.String()) }
  const older = [versionBefore(2, data), versionBefore(3, data)]
  const { encode, decode } = eventVersions({ Moved: Versions(older, Type.Object(data, strict)) })
  t.strictSame(decode('Moved', 1, { to: 'a' }), { to: 'a' })
  t.strictSame(decode('Moved', 2, { to: 'a', speed: null }), { to: 'a', speed: null })
  t.strictSame(decode('Moved', 2, { to: 'a', speed: 5 }), { to: 'a', speed: 5 })
  t.throws(() => decode('Moved', 1, { to: 'a', speed: 5 }), EventFormatError)
  t.throws(() => decode('Moved', 2, { to: 'a', colour: 'red' }), EventFormatError)
  t.equal(encode('Moved', { to: 'a', speed: null, colour: 'red' }).schemaVersion, 3)
})

t.test('a field that was added without a version is an error of the program', async (t) => {
  const Moved = Type.Object({ to: Type.String(), speed: Since(2, Type.Integer()) }, strict)
  t.throws(() => eventVersions({ Moved }), { message: 'Moved has no version 2, in which speed was added' })
})

t.test('amounts are marked in the schema: the names of fields and the keys of texts mean nothing', async (t) => {
  const Texts = Type.Record(Type.String(), Type.String())
  const amounts = Type.Object({ paidMinor: Minor, fee: Type.Union([Minor, Type.Null()]) }, strict)
  const { encode, decode } = eventVersions({ Paid: Type.Object({ amounts, totalMinor: Type.String(), texts: Texts }) })
  const texts = JSON.parse('{"totalMinor":"ten","__proto__":"1","constructor":"2","aMinor":"5"}')
  const stored = { amounts: { paidMinor: '100', fee: null }, totalMinor: '7', texts }
  const decoded = { ...stored, amounts: { paidMinor: 100n, fee: null } }
  t.strictSame(decode('Paid', 1, stored), decoded)
  t.equal(JSON.stringify(encode('Paid', decoded).data), JSON.stringify(stored))
})
