import { useQuery } from '@tanstack/react-query'
import { api } from '../../api/api-client'
import type { EndpointsAnswer } from '../../api/contract'

export function useEndpoints() {
  return useQuery({
    queryKey: ['endpoints'],
    queryFn: ({ signal }) => api.get<EndpointsAnswer>('/endpoints', {}, signal),
    refetchInterval: 15_000,
  })
}
