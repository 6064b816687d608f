import { useQuery } from '@tanstack/react-query'
import { api } from '../../api/api-client'
import type { EndpointsResponse } from '../../api/contract'

export function useEndpoints() {
  return useQuery({
    queryKey: ['endpoints'],
    queryFn: ({ signal }) => api.get<EndpointsResponse>('/endpoints', {}, signal),
    refetchInterval: 15_000,
  })
}
