import { QueryClient } from '@tanstack/react-query'
import { ApiError } from '../api/api-error'

const retryEveryMs = 5_000

function isUnreachable(error: Error | null): boolean {
  return error instanceof ApiError && error.outcome === 'unreachable'
}

/**
 * Changes are never retried automatically. `networkMode: always` prevents a change made while the browser is offline from being queued
 * and sent later, unnoticed.
 */
export const queryClient = new QueryClient({
  defaultOptions: {
    queries: {
      networkMode: 'always',
      staleTime: 5_000,
      refetchOnReconnect: true,
      // A list whose service has failed comes back without a reload.
      refetchInterval: ({ state: { error } }) => isUnreachable(error) && retryEveryMs,
      retry: (failures, error) => isUnreachable(error) && failures < 1,
    },
    mutations: { networkMode: 'always', retry: false },
  },
})
