import { QueryClient } from '@tanstack/react-query'
import { ApiError } from '../api/api-error'

/**
 * `networkMode: always`: otherwise a change made while the browser believes it is offline would wait and be sent later, unseen. No
 * change is ever sent twice by itself.
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
