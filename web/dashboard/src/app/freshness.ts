import { useQuery } from '@tanstack/react-query'
import { useLocation } from '@tanstack/react-router'
import type { FreshnessResponse } from '../../../../src/http/dashboard/operations/operations-api'
import { api } from '../api/api-client'
import { usePermission } from './current-session'

/** The projections whose documents each page shows. Other pages read the log, or say themselves how old they are. */
const projectionsOf: { readonly [path: string]: readonly string[] } = {
  '/': ['transfers', 'totals', 'callbacks'],
  '/deposits': ['transfers'],
  '/withdrawals': ['transfers'],
  '/pay': ['transfers'],
  '/bank-statements': ['bank-payments', 'bank-accounts'],
  '/reconciliation': ['bank-days'],
  '/callbacks': ['callbacks'],
  '/statement': ['totals'],
}

const freshnessPollMs = 5_000

/** Fetches which projections are stopped or behind. */
export function useFreshness() {
  return useQuery({
    queryKey: ['freshness'],
    queryFn: ({ signal }) => api.get<FreshnessResponse>('/freshness', {}, signal),
    refetchInterval: freshnessPollMs,
    enabled: usePermission('transfers:read'),
  })
}

/** Returns the projections of this page that are stopped or behind, the oldest first. */
export function useStale(): FreshnessResponse['stale'] {
  const path = useLocation({ select: ({ pathname }) => pathname })
  const names = projectionsOf[path] ?? []
  const { data } = useFreshness()
  const stale = data?.stale.filter(({ name }) => names.includes(name)) ?? []
  return stale.sort((a, b) => (a.since ?? '').localeCompare(b.since ?? ''))
}
