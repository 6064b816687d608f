import { createContext, useContext } from 'react'
import type { Permission } from '../../../../src/domain/user/permissions'
import type { Session } from '../../../../src/http/dashboard/api'
import { api } from '../api/api-client'
import { ApiError } from '../api/api-error'
import { queryClient } from './query-client'

export const sessionQuery = {
  queryKey: ['session'],
  staleTime: Number.POSITIVE_INFINITY,
  gcTime: Number.POSITIVE_INFINITY,
  /** Returns null if no one is signed in. */
  queryFn: async (): Promise<Session | null> => {
    try {
      return await api.get<Session>('/session')
    } catch (error) {
      if (error instanceof ApiError && error.status === 401) return null
      throw error
    }
  },
}

/** Tells the other tabs of this browser that a user has signed in. A tab does not receive its own messages. */
const signIns = new BroadcastChannel('transferd-sign-ins')

/** Calls `onSignIn` when a user signs in in another tab. Returns a function that stops this. */
export function onSignInElsewhere(onSignIn: () => void): () => void {
  signIns.addEventListener('message', onSignIn)
  return () => signIns.removeEventListener('message', onSignIn)
}

/** Replaces the session. Cached data of another user is dropped. */
export function setSession(session: Session | null): void {
  if (session === null || currentSession()?.user.userId !== session.user.userId) {
    queryClient.removeQueries({ predicate: ({ queryKey }) => queryKey[0] !== sessionQuery.queryKey[0] })
  }
  queryClient.setQueryData(sessionQuery.queryKey, session)
  if (session !== null) signIns.postMessage(null)
}

export function currentSession(): Session | null {
  return queryClient.getQueryData<Session | null>(sessionQuery.queryKey) ?? null
}

export const SessionContext = createContext<Session | null>(null)

/** Returns the session of the signed-in user. Pages are shown only while there is one. */
export function useSession(): Session {
  const session = useContext(SessionContext)
  if (!session) throw new Error('useSession was called outside of a session')
  return session
}

export function usePermission(permission: Permission): boolean {
  return useSession().permissions.includes(permission)
}
