import { QueryClient } from '@tanstack/react-query'
import { ApiError } from '../api/api-error'

/**
 * Changes are never retried automatically. `networkMode: always` prevents a change made while the browser is offline from being queued
 * and sent later, unnoticed.
 */
export const queryClient = new QueryClient({
  defaultOptions: {
    queries: {
      networkMode: 'always',
      staleTime: 5_000,
      retry: (failures, error) => error instanceof ApiError && error.outcome === 'unreachable' && failures < 1,
    },
    mutations: { networkMode: 'always', retry: false },
  },
})
