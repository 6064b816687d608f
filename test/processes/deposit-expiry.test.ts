import t, { type Test } from 'tap'
import { startExpiry } from '../../src/processes/deposit-expiry.js'
import { startProjections } from '../../src/projections/start-projections.js'
import { transfersProjection } from '../../src/projections/transfers-projection.js'
import { createDeposit, type TestStores, testStores } from '../projections/stores.js'
import { transferCommands } from '../support/transfer-commands.js'
import { until } from '../support/until.js'

const cancelled = (stores: TestStores, id: string) => async () =>
  (await stores.transfers.find(id))?.transfer.status === 'Cancelled'

/** Creates commands whose clock returns `now`. */
async function withClock(t: Test, directory?: string) {
  const stores = await testStores(t, directory)
  const time = { now: Date.parse('2026-11-20T12:00:00.000Z') }
  const clock = () => new Date(time.now).toISOString()
  const transfers = transferCommands(stores.store, clock, async () => undefined)
  return { ...stores, clock, transfers, time }
}

t.test('cancels exactly the deposits that were not paid in time', async (t) => {
  const stores = await withClock(t)
  const projections = startProjections(stores, [transfersProjection])
  const shorter = await createDeposit(stores.transfers, 14)
  const short = await createDeposit(stores.transfers, 15)
  const long = await createDeposit(stores.transfers, 60)
  await stores.caughtUp(['transfers'])
  const expiry = startExpiry(stores)
  stores.time.now += 14 * 60_000
  await until(cancelled(stores, shorter))
  t.equal((await stores.transfers.find(short))?.transfer.status, 'Pending', 'not before it expires')
  stores.time.now += 60_000
  await until(cancelled(stores, short))
  t.match(await stores.transfers.find(short), { transfer: { message: 'expired' }, revision: 1 })
  t.equal((await stores.transfers.find(long))?.transfer.status, 'Pending')
  await expiry.stop()
  await projections.stop()
})

t.test('after a restart, cancels deposits that expired in the meantime', async (t) => {
  const before = await withClock(t)
  const first = [startProjections(before, [transfersProjection]), startExpiry(before)]
  const id = await createDeposit(before.transfers, 15)
  await before.caughtUp(['transfers'])
  await Promise.all(first.map((part) => part.stop()))
  const after = await withClock(t, before.directory)
  after.time.now += 3_600_000
  const second = [startProjections(after, [transfersProjection]), startExpiry(after)]
  await until(cancelled(after, id))
  await Promise.all(second.map((part) => part.stop()))
  t.equal((await after.transfers.find(id))?.revision, 1)
})

t.test('a stalled read model neither causes repeated commands nor hides other deposits', async (t) => {
  const stores = await withClock(t)
  const projections = startProjections(stores, [transfersProjection])
  const ids = await Promise.all(Array.from({ length: 450 }, () => createDeposit(stores.transfers, 15)))
  await stores.caughtUp(['transfers'])
  await projections.stop()
  stores.time.now += 3_600_000
  let attempts = 0
  const transfers: Pick<typeof stores.transfers, 'expire'> = {
    expire: (id, context) => {
      attempts++
      return stores.transfers.expire(id, context)
    },
  }
  let reads = 0
  const clock = () => {
    reads++
    return stores.clock()
  }
  const expiry = startExpiry({ ...stores, transfers, clock })
  await until(async () => (await Promise.all(ids.map((id) => cancelled(stores, id)()))).every(Boolean))
  // The list is read once per round with the current time. The second read from now on follows a complete round.
  const before = reads
  await until(() => reads >= before + 2)
  t.equal(attempts, ids.length, 'each is tried once, although the stalled list still contains all of them')
  await expiry.stop()
})
