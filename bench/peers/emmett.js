/**
 * Fastify and Emmett on PostgreSQL, as documented by Emmett: a command handler loads the transfer's stream, decides and appends, and an
 * inline projection writes the transfer's document in the same transaction. The messages table is the outbox, which consumers read by
 * position.
 */
import { randomUUID } from 'node:crypto'
import { CommandHandler, projections } from '@event-driven-io/emmett'
import { getPostgreSQLEventStore, pongoSingleStreamProjection } from '@event-driven-io/emmett-postgresql'
import { readOptions, serveCreates } from './app.js'

const transfers = pongoSingleStreamProjection({
  collectionName: 'transfers',
  canHandle: ['DepositCreated'],
  evolve: (_document, { data }) => ({ ...data, status: 1 }),
})

const handle = CommandHandler({
  initialState: () => ({ trackingId: undefined }),
  evolve: (state, { type, data }) => (type === 'DepositCreated' ? { trackingId: data.trackingId } : state),
})

const { merchant, database } = readOptions()
const { user, host, port } = database
const url = `postgresql://${user}@localhost:${port}/${database.database}?host=${encodeURIComponent(host)}`
const store = getPostgreSQLEventStore(url, { projections: projections.inline([transfers]) })
await store.schema.migrate()

async function create(transfer) {
  const stream = `transfer-${transfer.merchantId}-deposit-${transfer.referenceId}`
  const { newState } = await handle(store, stream, ({ trackingId }) =>
    trackingId === undefined ? [{ type: 'DepositCreated', data: transfer }] : [],
  )
  return newState.trackingId
}

// The first document creates the collection. Concurrent requests would collide.
await create({ trackingId: randomUUID(), merchantId: merchant.merchantId, referenceId: 'first' })
await serveCreates(merchant, create)
