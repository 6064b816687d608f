import { useQuery } from '@tanstack/react-query'
import type { OpenResponse } from '../../../../src/http/dashboard/api'
import { api } from '../api/api-client'
import { usePermission } from './current-session'
import { useFreshness } from './freshness'
import { useMerchant } from './merchant-names'
import type { Destination } from './navigation'

interface NavigationCount {
  readonly count: number
  /** `person`: a person should look. `bad`: something is broken. */
  readonly tone: 'plain' | 'person' | 'bad'
}

const refetchMs = 15_000

/** Returns the numbers next to the destinations that have something to do. */
export function useNavigationCounts(): { readonly [to in Destination['to']]?: NavigationCount } {
  const merchantId = useMerchant()
  const { data: open } = useQuery({
    queryKey: ['open', merchantId],
    queryFn: ({ signal }) => api.get<OpenResponse>('/open', { merchantId }, signal),
    refetchInterval: refetchMs,
    enabled: usePermission('transfers:read'),
  })
  const stale = useFreshness().data?.stale.length ?? 0
  if (!open) return {}
  return {
    '/deposits': { count: open.pending.deposit, tone: 'plain' },
    '/withdrawals': { count: open.pending.withdrawal, tone: 'plain' },
    '/pay': { count: open.toPay, tone: 'person' },
    '/callbacks': { count: open.failingEndpoints, tone: 'bad' },
    '/operations': { count: stale, tone: 'person' },
  }
}
