import { useQuery } from '@tanstack/react-query'
import type { PayoutsResponse } from '../../../../src/http/dashboard/api'
import { api } from '../api/api-client'

export const payoutsQuery = {
  queryKey: ['payouts'],
  queryFn: ({ signal }: { readonly signal: AbortSignal }) => api.get<PayoutsResponse>('/payouts', {}, signal),
  refetchInterval: 30_000,
}

/** Returns whether payouts are stopped because the log failed verification. Returns false until the state is known. */
export function usePayoutsStopped(): boolean {
  return useQuery(payoutsQuery).data?.stopped ?? false
}
