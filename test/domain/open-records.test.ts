import t from 'tap'
import { hasValue, isOpenRecord, openRecords, timelineFields } from '../../src/domain/event-summary.js'
import { eventSchemas } from '../../src/event-store/event-codec.js'
import { misleadingMetadata } from './transfer-samples.js'

interface Schema {
  readonly patternProperties?: object
  readonly properties?: { readonly [name: string]: Schema }
  readonly items?: Schema
  readonly anyOf?: readonly Schema[]
}

/** Returns the name of each field in a schema, and whether its value can be an open record. */
function fieldsIn({ properties = {}, items, anyOf = [] }: Schema): (readonly [name: string, isOpen: boolean])[] {
  const isOpen = (schema: Schema): boolean => schema.patternProperties !== undefined || !!schema.anyOf?.some(isOpen)
  return [
    ...Object.entries(properties).flatMap(([name, schema]) => [[name, isOpen(schema)] as const, ...fieldsIn(schema)]),
    ...[...anyOf, ...(items ? [items] : [])].flatMap(fieldsIn),
  ]
}

t.test('the list of open records has exactly those of all events', async (t) => {
  const fields = Object.values(eventSchemas).flatMap((schema) => fieldsIn(schema as Schema))
  t.same(new Set(fields.filter(([, isOpen]) => isOpen).map(([name]) => name)), openRecords)
  for (const [name, isOpen] of fields) t.equal(isOpen, openRecords.has(name), name)
})

t.test('an open record consists of texts, and has a value unless it is empty', async (t) => {
  t.ok(isOpenRecord('metadata', misleadingMetadata))
  t.ok(hasValue('metadata', misleadingMetadata))
  t.notOk(isOpenRecord('payload', misleadingMetadata))
  for (const other of [null, undefined, 'text', 1, ['text'], { nested: { amountMinor: 1n } }])
    t.notOk(isOpenRecord('metadata', other), String(other))
  t.notOk(hasValue('metadata', {}))
  for (const value of [0, false, '', {}]) t.ok(hasValue('changes', value), String(value))
  const data = { metadata: {}, message: null, callbackOnCreate: false }
  t.strictSame(timelineFields({ data }), { shown: [], rest: [['callbackOnCreate', false]] })
})
