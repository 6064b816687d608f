import { readFileSync } from 'node:fs'
import t from 'tap'
import { streamPrefix } from '../../src/domain/streams.js'
import { encodeEvent } from '../../src/event-store/event-codec.js'
import { type EventProjection, foldedDocuments, type Projection } from '../../src/projections/projection.js'
import { readPointer } from '../../src/projections/projection-pointer.js'
import { ProjectionTasks, type TaskRequest } from '../../src/projections/projection-tasks.js'
import { startProjections, watchTasks } from '../../src/projections/start-projections.js'
import { sortablePosition } from '../../src/read-models/documents.js'
import type { Document } from '../../src/read-models/read-models.js'
import { until } from '../support/until.js'
import { type TestStores, testStores } from './stores.js'

// docs/operating/projections.md contains the code between the two marks.
// begin
interface BacklogDocument extends Document {
  readonly parked: number
  readonly position: number
}

/** Counts the parked callbacks of each merchant. */
const parkedByMerchant: EventProjection = {
  name: 'parked-by-merchant',
  version: 1,
  streamPrefixes: [streamPrefix.callback],
  collection: 'parked_by_merchant',
  indexes: [],
  ...foldedDocuments<BacklogDocument, 'position'>({
    progressField: 'position',
    idsOf: ({ event }) => (event.type === 'CallbackParked' ? [event.data.merchantId] : []),
    isFirst: () => false,
    next: (before, { position }, id) => ({
      _id: id,
      parked: (before?.parked ?? 0) + 1,
      position: sortablePosition(position),
    }),
  }),
}
// end

const merchantId = '0f0e3cf9-2f6c-4c8e-9d3b-1f6f7a2a9b10'
const metadata = { actor: 'test', $correlationId: 'c', $causationId: 'c' }

async function park({ store, clock }: TestStores, trackingId: string): Promise<void> {
  const webhookId = 'b7d7c1de-58d1-4e0a-8f6c-2c4f6a0c9e21'
  const common = { webhookId, trackingId, merchantId, at: clock() }
  const data = { ...common, attempt: 1, httpStatus: 500, durationMs: 5, reason: 'status 500' }
  await store.append(`callback-${trackingId}`, 'no_stream', [encodeEvent({ type: 'CallbackParked', data }, metadata)])
}

t.test('builds, verifies, switches and rolls back the example of the guide', async (t) => {
  const page = readFileSync('docs/operating/projections.md', 'utf8')
  const source = readFileSync('test/projections/example.test.ts', 'utf8')
  const [, shown] = /```ts\n([^`]+)```/.exec(page)!
  t.equal(/\/\/ begin\n([\s\S]+?)\/\/ end\n/.exec(source)![1], shown, 'the guide shows this code')

  const stores = await testStores(t)
  const parked = async () => {
    const pointer = await readPointer(stores.readModels, parkedByMerchant.name)
    const documents = pointer && stores.readModels.collection(pointer.served.collection)
    return (await documents?.findOne({ _id: merchantId }))?.parked
  }
  for (const n of [1, 2]) await park(stores, `0e1b7c53-4f0f-5a58-9b55-1f3f4d0a7b1${n}`)
  const first = startProjections(stores, [parkedByMerchant])
  await until(async () => (await parked()) === 2)
  await first.stop()

  const next: Projection = { ...parkedByMerchant, version: 2 }
  const outcome = async (request: Pick<TaskRequest, 'what' | 'keep'>) => {
    const tasks = new ProjectionTasks(stores.readModels, stores.clock)
    const { task } = await tasks.request(next.name, { by: 'cli:ada', ...request })
    let last: object | null | undefined
    for await (const watched of watchTasks(stores, [task], new AbortController().signal, [next])) {
      last = watched.get(next.name)
    }
    return last
  }
  t.match(await outcome({ what: 'rebuild' }), { state: 'done' }, 'a build of a different version is not compared')
  await park(stores, '0e1b7c53-4f0f-5a58-9b55-1f3f4d0a7b13')
  t.match(await outcome({ what: 'verify' }), { state: 'done', comparison: { differing: 0 } })
  t.match(await outcome({ what: 'rebuild', keep: true }), { state: 'done', comparison: { differing: 0 } })
  const { built } = (await readPointer(stores.readModels, next.name))!
  t.match(built, { version: 2, comparison: { differing: 0 } })
  t.match(await outcome({ what: 'switch' }), { state: 'done' })
  t.match(await outcome({ what: 'rollback' }), { state: 'done' })
  const second = startProjections(stores, [next])
  await until(async () => (await parked()) === 3)
  await second.stop()
})
