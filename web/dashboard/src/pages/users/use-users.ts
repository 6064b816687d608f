import { useQuery } from '@tanstack/react-query'
import { api } from '../../api/api-client'
import type { UsersAnswer } from '../../api/contract'

export function useUsers() {
  return useQuery({
    queryKey: ['users'],
    queryFn: ({ signal }) => api.get<UsersAnswer>('/users', {}, signal),
  })
}

/** What shows users, their sessions or their changes is behind after any of these. */
export const userKeys = [['users'], ['user-sessions'], ['changes']]
