import { linkSession } from '../api/api-client'
import { currentSession, sessionQuery, setSession } from './current-session'
import { queryClient } from './query-client'

let confirm: (() => Promise<boolean>) | undefined

/** Sets the function that asks the user for the password again and returns whether it was confirmed. */
export function onConfirmationNeeded(handler: (() => Promise<boolean>) | undefined): void {
  confirm = handler
}

/** Connects requests to the session: they use its CSRF token, and end or refresh it when the server requires it. */
export function linkCurrentSession(): void {
  linkSession({
    csrfToken: () => currentSession()?.csrfToken,
    onEnded: () => {
      if (currentSession()) setSession(null)
    },
    refresh: async () => {
      const userId = currentSession()?.user.userId
      const session = await queryClient.fetchQuery({ ...sessionQuery, staleTime: 0 }).catch(() => undefined)
      return session !== undefined && session !== null && session.user.userId === userId
    },
    confirm: async () => confirm?.() ?? false,
  })
}
