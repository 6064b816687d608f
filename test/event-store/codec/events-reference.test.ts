import { readFileSync } from 'node:fs'
import t from 'tap'
import { callbackEvents } from '../../../src/domain/callback.js'
import { merchantEvents } from '../../../src/domain/merchant/merchant-events.js'
import { knownVersions } from './golden-events.js'

const page = readFileSync(new URL('../../../../docs/reference/events.md', import.meta.url), 'utf8')

const [requestedFields = ''] = /^Requested fields,.*?\n\n/ms.exec(page) ?? []
const requested = namesIn(requestedFields)

/** The type, version, meaning and field names in each section of the page. */
const rows = page.split(/^### /m).flatMap((section) => {
  const [, type, version] = /^`([A-Z]\w+)`, version (\d+)$/m.exec(section) ?? []
  if (type === undefined) return []
  const [, meaning = '', fields = ''] = section.split('\n\n')
  const names = [...namesIn(fields), ...(fields.includes('the requested fields') ? requested : [])]
  return [{ name: `${type}.v${version}`, meaning, names }]
})

function namesIn(fields: string): string[] {
  return [...fields.matchAll(/`([A-Za-z]\w*)`/g)].map((match) => match[1] ?? '')
}

const payload = callbackEvents.CallbackRecorded.properties.payload.properties

/** Values of fields that the page formats like the names of fields. */
const notFields = new Set(['hosted', 'native'])

/** A version that later ones only added fields to has no section. */
const described = knownVersions.filter(({ type, schema }, index) => {
  const next = knownVersions[index + 1]
  const isKept = ([name, field]: [string, unknown]) => next?.schema.properties[name] === field
  return next?.type !== type || !Object.entries(schema.properties).every(isKept)
})

t.test('the reference has one row for every version of every event type, in the order of the schemas', async (t) => {
  t.strictSame(
    rows.map(({ name }) => name),
    described.map(({ name }) => name),
    'docs/reference/events.md has a section for each event in the order of the schemas: add, move or remove one',
  )
  for (const { name, meaning } of rows) t.ok(meaning, `${name} has a meaning`)
})

t.test('each row names exactly the fields of its schema', async (t) => {
  for (const { name, schema } of described) {
    const nested = name.startsWith('CallbackRecorded') ? Object.keys(payload) : []
    const named = new Set(rows.find((row) => row.name === name)?.names.filter((field) => !notFields.has(field)))
    const expected = new Set([...Object.keys(schema.properties), ...nested])
    t.strictSame([...named].sort(), [...expected].sort(), `docs/reference/events.md names the fields of ${name}`)
  }
})

t.test('the reference lists the settings and the metadata', async (t) => {
  for (const name of Object.keys(merchantEvents.MerchantRegistered.properties.settings.properties)) {
    t.ok(page.includes(`\`${name}\``), `docs/reference/events.md names the setting ${name}`)
  }
  for (const name of ['actor', '$correlationId', '$causationId', 'schemaVersion'])
    t.ok(page.includes(`\`${name}\``), name)
})

t.test('the reference names the version that added a field', async (t) => {
  for (const { schema } of described)
    for (const [field, { since }] of Object.entries(schema.properties))
      if (since !== undefined) t.match(page, new RegExp(`\`${field}\` [a-z ]+, from version ${since}`), field)
})
