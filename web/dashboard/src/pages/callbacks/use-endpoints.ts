import { useQuery } from '@tanstack/react-query'
import type { EndpointsResponse } from '../../../../../src/http/dashboard/api'
import { api } from '../../api/api-client'

export function useEndpoints() {
  return useQuery({
    queryKey: ['endpoints'],
    queryFn: ({ signal }) => api.get<EndpointsResponse>('/endpoints', {}, signal),
    refetchInterval: 15_000,
  })
}
