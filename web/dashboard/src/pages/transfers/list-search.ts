import { pickSearch } from '../../app/search-params'

const filters = ['status', 'from', 'to', 'attention', 'method', 'minAmount', 'maxAmount', 'text'] as const

/** The filters and the order of a list, from its address. */
export type TransfersSearch = { readonly [name in (typeof filters)[number] | 'sort']?: string | undefined }

export function transfersSearch(search: Record<string, unknown>): TransfersSearch {
  return pickSearch(search, [...filters, 'sort'])
}

export function isFiltered(search: TransfersSearch): boolean {
  return filters.some((name) => search[name] !== undefined)
}

/** Returns the filters of a search that have a value, without the order. */
export function filtersIn(search: TransfersSearch): TransfersSearch {
  return Object.fromEntries(filters.flatMap((name) => (search[name] === undefined ? [] : [[name, search[name]]])))
}

export const noFilters: TransfersSearch = Object.fromEntries(filters.map((name) => [name, undefined]))

/** The parts of a search. The order by amount counts as the filter by amount, because both use the same index of the server. */
export type Facet = 'status' | 'dates' | 'attention' | 'method' | 'amount' | 'text'

/** The facets that can be combined with each facet. Combinations without an index on the server are not offered. */
const combinableWith: { readonly [facet in Facet]: readonly Facet[] } = {
  status: ['dates', 'amount'],
  dates: ['status', 'attention', 'method'],
  attention: ['dates'],
  method: ['dates'],
  amount: ['status'],
  text: [],
}

export function facetsIn({ status, from, to, attention, method, minAmount, maxAmount, text, sort }: TransfersSearch) {
  const isByAmount = sort === 'largest' || sort === 'smallest'
  const used: { readonly [facet in Facet]: boolean } = {
    status: status !== undefined,
    dates: from !== undefined || to !== undefined,
    attention: attention !== undefined,
    method: method !== undefined,
    amount: minAmount !== undefined || maxAmount !== undefined || isByAmount,
    text: text !== undefined,
  }
  return (Object.keys(used) as Facet[]).filter((facet) => used[facet])
}

/**
 * Returns the facets in use and those that can be added. `allMerchants` states that no merchant is chosen and the user has access to all of
 * them.
 */
export function offeredFacets(search: TransfersSearch, allMerchants: boolean): readonly Facet[] {
  const used = facetsIn(search)
  return (Object.keys(combinableWith) as Facet[]).filter((facet) => {
    if (used.includes(facet)) return true
    if (allMerchants && facet === 'amount') return false
    return used.every((other) => combinableWith[facet].includes(other))
  })
}

export interface Orders {
  readonly byTime: boolean
  readonly byAmount: boolean
}

/** Returns which orders can be combined with the filters. The order by time cannot be combined with text and amounts. */
export function offeredOrders(search: TransfersSearch, allMerchants: boolean): Orders {
  const { minAmount, maxAmount, text } = search
  return {
    byTime: text === undefined && minAmount === undefined && maxAmount === undefined,
    byAmount: offeredFacets(search, allMerchants).includes('amount'),
  }
}

/** Returns the search after a change. An order that cannot be combined with the new filters is dropped. */
export function changeSearch(search: TransfersSearch, changes: TransfersSearch): TransfersSearch {
  const next = { ...search, ...changes }
  const isByTime = next.sort === 'newest' || next.sort === 'oldest'
  return isByTime && !offeredOrders(next, false).byTime ? { ...next, sort: undefined } : next
}

/** Returns the order of a search, or `undefined` for a text search, whose order cannot be chosen. */
export function orderOf(search: TransfersSearch): string | undefined {
  const used = facetsIn(search)
  if (used.includes('text')) return undefined
  return search.sort ?? (used.includes('amount') ? 'largest' : 'newest')
}
