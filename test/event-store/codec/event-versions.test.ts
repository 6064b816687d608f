import { Type } from '@sinclair/typebox'
import t from 'tap'
import { EventFormatError, eventVersions, type Upcaster } from '../../../src/event-store/event-versions.js'

/** A made-up event that was changed twice: a field split in two, then one that came to be. */
const strict = { additionalProperties: false }
const schemas = {
  Moved: [
    Type.Object({ route: Type.String() }, strict),
    Type.Object({ from: Type.String(), to: Type.String() }, strict),
    Type.Object({ from: Type.String(), to: Type.String(), hurried: Type.Boolean() }, strict),
  ],
  Rested: [Type.Object({ hours: Type.Integer() }, strict)],
}
const split: Upcaster = ({ route }) => {
  const [from, to] = String(route).split('>')
  return { from, to }
}
const neverHurried: Upcaster = (data) => ({ ...data, hurried: false })
const versions = eventVersions(schemas, { Moved: [split, neverHurried] })

t.test('each older version is led to the newest, one step after the other', async (t) => {
  const newest = { from: 'Ankara', to: 'Izmir', hurried: false }
  t.strictSame(versions.upcast('Moved', 1, { route: 'Ankara>Izmir' }), newest)
  t.strictSame(versions.upcast('Moved', 2, { from: 'Ankara', to: 'Izmir' }), newest)
  t.strictSame(versions.upcast('Moved', 3, { ...newest, hurried: true }), { ...newest, hurried: true })
  t.strictSame(versions.upcast('Rested', 1, { hours: 8 }), { hours: 8 })
})

t.test('stored data is left as it was', async (t) => {
  const stored = Object.freeze({ route: 'Ankara>Izmir' })
  versions.upcast('Moved', 1, stored)
  t.strictSame(stored, { route: 'Ankara>Izmir' })
})

t.test('data is checked against the version it was stored as, not against another', async (t) => {
  t.throws(() => versions.upcast('Moved', 1, { from: 'a', to: 'b' }), EventFormatError)
  t.throws(() => versions.upcast('Moved', 2, { route: 'a>b' }), EventFormatError)
  t.throws(() => versions.upcast('Moved', 2, { from: 'a', to: 'b', hurried: true }), EventFormatError)
})

t.test('new data is checked against the newest version, which is what it is stored as', async (t) => {
  t.equal(versions.newest('Moved', { from: 'a', to: 'b', hurried: true }), 3)
  t.equal(versions.newest('Rested', { hours: 1 }), 1)
  t.throws(() => versions.newest('Moved', { from: 'a', to: 'b' }), EventFormatError)
  t.throws(() => versions.newest('Slept', {}), EventFormatError)
})

t.test('a newer version than this program knows is refused', async (t) => {
  t.throws(() => versions.upcast('Moved', 4, {}), {
    name: 'EventFormatError',
    message: 'unknown event Moved version 4',
  })
})

t.test(
  'an upcaster that leads to the wrong shape is found at the event, not in the states folded from it',
  async (t) => {
    const wrong = eventVersions(schemas, { Moved: [split, (data) => data] })
    t.throws(() => wrong.upcast('Moved', 1, { route: 'a>b' }), {
      message: /version 3 does not fit its schema at \/hurried/,
    })
  },
)

t.test('a version without an upcaster, or an upcaster too many, fails at the start', async (t) => {
  t.throws(() => eventVersions(schemas, { Moved: [split] }), /Moved has 3 versions and 1 upcasters/)
  t.throws(() => eventVersions(schemas, { Moved: [split, neverHurried, neverHurried] }), /Moved has 3 versions/)
  t.throws(() => eventVersions({ Nothing: [] }, {}), /Nothing has 0 versions/)
})
