import { picked } from '../../app/search-params'

const filters = ['status', 'from', 'to', 'attention', 'method', 'minAmount', 'maxAmount', 'text'] as const

/** Filters and order of a list, as its address has them. */
export type TransfersSearch = { readonly [name in (typeof filters)[number] | 'sort']?: string | undefined }

export function transfersSearch(search: Record<string, unknown>): TransfersSearch {
  return picked(search, [...filters, 'sort'])
}

export function isFiltered(search: TransfersSearch): boolean {
  return filters.some((name) => search[name] !== undefined)
}

export const noFilters: TransfersSearch = Object.fromEntries(filters.map((name) => [name, undefined]))

/** What an index of the server's serves: the order by amount goes with the filter by amount. */
export type Facet = 'status' | 'dates' | 'attention' | 'method' | 'amount' | 'text'

/** Each with those that it goes with: what no index serves is not offered. */
const goesWith: { readonly [facet in Facet]: readonly Facet[] } = {
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

/** Those in use, and those that may be added to them. `ofAll`: no merchant is chosen, and the user sees every one. */
export function offeredFacets(search: TransfersSearch, ofAll: boolean): readonly Facet[] {
  const used = facetsIn(search)
  return (Object.keys(goesWith) as Facet[]).filter((facet) => {
    if (used.includes(facet)) return true
    if (ofAll && (facet === 'method' || facet === 'amount')) return false
    return used.every((other) => goesWith[facet].includes(other))
  })
}

export interface Orders {
  readonly byTime: boolean
  readonly byAmount: boolean
}

/** By time goes with all but text and amounts. */
export function offeredOrders(search: TransfersSearch, ofAll: boolean): Orders {
  const { minAmount, maxAmount, text } = search
  return {
    byTime: text === undefined && minAmount === undefined && maxAmount === undefined,
    byAmount: offeredFacets(search, ofAll).includes('amount'),
  }
}

/** The address after a change: an order that does not go with what is filtered by now is left to the server. */
export function changed(search: TransfersSearch, changes: TransfersSearch): TransfersSearch {
  const next = { ...search, ...changes }
  const isByTime = next.sort === 'newest' || next.sort === 'oldest'
  return isByTime && !offeredOrders(next, false).byTime ? { ...next, sort: undefined } : next
}

/** Undefined where there is no choice: text is found in an order of its own. */
export function orderOf(search: TransfersSearch): string | undefined {
  const used = facetsIn(search)
  if (used.includes('text')) return undefined
  return search.sort ?? (used.includes('amount') ? 'largest' : 'newest')
}
