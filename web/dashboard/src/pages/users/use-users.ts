import { useQuery } from '@tanstack/react-query'
import type { UsersResponse } from '../../../../../src/http/dashboard/api'
import { api } from '../../api/api-client'

export function useUsers() {
  return useQuery({
    queryKey: ['users'],
    queryFn: ({ signal }) => api.get<UsersResponse>('/users', {}, signal),
  })
}

/** The queries that are outdated after a change of a user. */
export const userKeys = [['users'], ['user-sessions'], ['changes']]
