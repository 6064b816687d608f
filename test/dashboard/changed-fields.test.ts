import t from 'tap'
import { misleadingMetadata } from '../domain/transfer-samples.js'
import { pageModule } from './page-module.js'

type Fields = { readonly [name: string]: unknown }
const { changedFields } = await pageModule<{
  changedFields(before: Fields | undefined, after: Fields): readonly Fields[]
}>('pages/audit/changed-fields.ts')

const state = { status: 'Pending', amountMinor: 10_000, funds: { receivedMinor: 0 }, metadata: misleadingMetadata }

t.test('compares the fields of objects individually', async (t) => {
  t.strictSame(changedFields(state, { ...state, status: 'Completed', funds: { receivedMinor: 5 } }), [
    { name: 'status', before: 'Pending', after: 'Completed' },
    { name: 'receivedMinor', before: 0, after: 5 },
  ])
})

t.test('a key of an open record is not mistaken for a field', async (t) => {
  t.strictSame(changedFields(undefined, state), [
    { name: 'status', before: undefined, after: 'Pending' },
    { name: 'amountMinor', before: undefined, after: 10_000 },
    { name: 'receivedMinor', before: undefined, after: 0 },
    { name: 'metadata', before: undefined, after: misleadingMetadata },
  ])
  const erased = changedFields(state, { ...state, metadata: {} })
  t.strictSame(erased, [{ name: 'metadata', before: misleadingMetadata, after: undefined }])
})
