import { linkSession } from '../api/api-client'
import { currentSession, sessionQuery, setSession } from './current-session'
import { queryClient } from './query-client'

let ask: (() => Promise<boolean>) | undefined

/** Who shows the question whether it is still the same person. */
export function onConfirmationNeeded(handler: (() => Promise<boolean>) | undefined): void {
  ask = handler
}

/** Tells requests of the session, and the session of what requests find out. */
export function linkedSession(): void {
  linkSession({
    csrfToken: () => currentSession()?.csrfToken,
    ended: () => {
      if (currentSession()) setSession(null)
    },
    refresh: async () => {
      const before = currentSession()?.user.userId
      const session = await queryClient.fetchQuery({ ...sessionQuery, staleTime: 0 }).catch(() => undefined)
      return session !== undefined && session !== null && session.user.userId === before
    },
    confirm: async () => ask?.() ?? false,
  })
}
