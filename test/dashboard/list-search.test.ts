import { tempDirectory } from '@transferd/event-log/test/support/temp-directory'
import t from 'tap'
import type { Status } from '../../src/domain/transfer/status.js'
import { SearchError, searchTransfers, type TransferSearch } from '../../src/queries/transfer-search.js'
import { openWatchedReadModels } from '../queries/listed-rows.js'
import { pageModule } from './page-module.js'

type Search = Readonly<Record<string, string | undefined>>

const { changeSearch, facetsIn, offeredFacets, offeredOrders, orderOf } = await pageModule<{
  changeSearch(search: Search, changes: Search): Search
  facetsIn(search: Search): readonly string[]
  offeredFacets(search: Search, allMerchants: boolean): readonly string[]
  offeredOrders(search: Search, allMerchants: boolean): { readonly byTime: boolean; readonly byAmount: boolean }
  orderOf(search: Search): string | undefined
}>('pages/transfers/list-search.ts')

const values: Readonly<Record<string, Search>> = {
  status: { status: 'Pending' },
  dates: { from: '2026-11-01T00:00:00.000Z' },
  attention: { attention: 'open' },
  method: { method: '1' },
  amount: { minAmount: '100' },
  text: { text: 'ORD' },
}

/** Returns every search that a user can reach by adding filters and choosing orders. */
function reachable(allMerchants: boolean): readonly Search[] {
  const found = new Map<string, Search>()
  const visit = (search: Search) => {
    const key = JSON.stringify(Object.entries(search).sort())
    if (found.has(key)) return
    found.set(key, search)
    for (const facet of offeredFacets(search, allMerchants)) visit(changeSearch(search, values[facet]!))
    const { byTime, byAmount } = offeredOrders(search, allMerchants)
    if (byTime) for (const sort of ['newest', 'oldest']) visit(changeSearch(search, { sort }))
    if (byAmount) for (const sort of ['largest', 'smallest']) visit(changeSearch(search, { sort }))
  }
  visit({})
  return [...found.values()]
}

function queryOf(search: Search, allMerchants: boolean): TransferSearch {
  const { status, from, to, attention, method, minAmount, maxAmount, text, sort } = search
  const number = (value: string | undefined) => (value === undefined ? undefined : Number(value))
  return {
    merchantIds: allMerchants ? undefined : ['8c0c2fa0-5a0c-4b6c-9a5f-1f1f7a1f0001'],
    kind: 'deposit',
    status: status as Status | undefined,
    from,
    to,
    attention: attention as 'open' | undefined,
    method: number(method),
    minAmountMinor: number(minAmount),
    maxAmountMinor: number(maxAmount),
    text,
    sort: sort as TransferSearch['sort'],
    limit: 10,
    cursor: undefined,
  }
}

t.test('the server accepts every search that the lists offer', async (t) => {
  const readModels = openWatchedReadModels(tempDirectory(t))
  t.teardown(() => readModels.close())
  for (const allMerchants of [false, true]) {
    const searches = reachable(allMerchants)
    t.ok(searches.length > 10)
    for (const search of searches) {
      await t.resolves(
        async () => searchTransfers({ readModels }, queryOf(search, allMerchants)),
        JSON.stringify(search),
      )
    }
  }
})

t.test('the server rejects every filter that the lists do not offer', async (t) => {
  const readModels = openWatchedReadModels(tempDirectory(t))
  t.teardown(() => readModels.close())
  for (const allMerchants of [false, true]) {
    for (const search of reachable(allMerchants)) {
      for (const [facet, value] of Object.entries(values)) {
        if (offeredFacets(search, allMerchants).includes(facet)) continue
        const rejected = async () => searchTransfers({ readModels }, queryOf({ ...search, ...value }, allMerchants))
        await t.rejects(rejected, SearchError, `${JSON.stringify(search)} and ${facet}`)
      }
    }
  }
})

t.test('a filter in use can always be removed', async (t) => {
  for (const search of reachable(false)) {
    for (const facet of facetsIn(search)) t.ok(offeredFacets(search, true).includes(facet))
  }
  t.equal(orderOf({}), 'newest')
  t.equal(orderOf({ minAmount: '5' }), 'largest')
  t.equal(orderOf({ text: 'a' }), undefined)
  t.equal(orderOf({ sort: 'oldest' }), 'oldest')
})

interface Row {
  readonly trackingId: string
  readonly revision: number
  readonly status: string
}

t.test('rows change in place, and only to newer revisions', async (t) => {
  const { withNewerRows } = await pageModule<{
    withNewerRows(rows: readonly Row[], changed: readonly Row[]): readonly Row[]
  }>('pages/transfers/live-rows.ts')
  const row = (trackingId: string, revision: number, status = 'Pending'): Row => ({ trackingId, revision, status })
  const rows = [row('a', 0), row('b', 3), row('c', 1)]
  t.strictSame(withNewerRows(rows, [row('c', 2, 'Completed'), row('new', 0), row('b', 2, 'Cancelled')]), [
    row('a', 0),
    row('b', 3),
    row('c', 2, 'Completed'),
  ])
  t.equal(
    withNewerRows(rows, [row('new', 0), row('b', 3)]),
    rows,
    'the same array is returned, so that nothing renders again',
  )
})
