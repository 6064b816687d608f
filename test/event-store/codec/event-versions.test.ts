import t from 'tap'
import { EventFormatError, eventVersions, type OlderVersion } from '../../../src/event-store/event-codec.js'
import { Type } from '../../../src/kernel/typebox.js'

// A sample event that changed twice: one field was split in two, then a field was added.
const strict = { additionalProperties: false }
const newest = {
  Moved: Type.Object({ from: Type.String(), to: Type.String(), hurried: Type.Boolean() }, strict),
  Rested: Type.Object({ hours: Type.Integer() }, strict),
}
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
const versions = eventVersions(newest, { Moved: [split, neverHurried] })

t.test('upcasts each older version to the newest, one step at a time', async (t) => {
  const expected = { from: 'Ankara', to: 'Izmir', hurried: false }
  t.strictSame(versions.upcast('Moved', 1, { route: 'Ankara>Izmir' }), expected)
  t.strictSame(versions.upcast('Moved', 2, { from: 'Ankara', to: 'Izmir' }), expected)
  t.strictSame(versions.upcast('Moved', 3, { ...expected, hurried: true }), { ...expected, hurried: true })
  t.strictSame(versions.upcast('Rested', 1, { hours: 8 }), { hours: 8 })
})

t.test('leaves stored data unchanged', async (t) => {
  const stored = Object.freeze({ route: 'Ankara>Izmir' })
  versions.upcast('Moved', 1, stored)
  t.strictSame(stored, { route: 'Ankara>Izmir' })
})

t.test('checks data against the schema of its stored version', async (t) => {
  t.throws(() => versions.upcast('Moved', 1, { from: 'a', to: 'b' }), EventFormatError)
  t.throws(() => versions.upcast('Moved', 2, { route: 'a>b' }), EventFormatError)
  t.throws(() => versions.upcast('Moved', 2, { from: 'a', to: 'b', hurried: true }), EventFormatError)
})

t.test('checks new data against the newest version and returns the version number', async (t) => {
  t.equal(versions.checkNewest('Moved', { from: 'a', to: 'b', hurried: true }), 3)
  t.equal(versions.checkNewest('Rested', { hours: 1 }), 1)
  t.throws(() => versions.checkNewest('Moved', { from: 'a', to: 'b' }), EventFormatError)
  t.throws(() => versions.checkNewest('Slept', {}), EventFormatError)
})

t.test('rejects a version that is newer than this program', async (t) => {
  const expected = { name: 'EventFormatError', message: 'unknown event Moved version 4' }
  t.throws(() => versions.upcast('Moved', 4, {}), expected)
})

t.test('checks the result of an upcaster', async (t) => {
  const wrong = eventVersions(newest, { Moved: [split, { ...neverHurried, upcast: (data) => data }] })
  t.throws(() => wrong.upcast('Moved', 1, { route: 'a>b' }), {
    message: /version 3 does not fit its schema at \/hurried/,
  })
})
