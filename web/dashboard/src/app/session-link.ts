import { linkSession } from '../api/api-client'
import { onReconnect, probeWith } from '../api/connection'
import { basePath } from './base-path'
import { currentSession, sessionQuery } from './current-session'
import { queryClient } from './query-client'

let signInAgain: (() => Promise<boolean>) | undefined

/** Sets the function that asks the user to sign in again and returns whether the same user did. */
export function onSessionEnded(handler: (() => Promise<boolean>) | undefined): void {
  signInAgain = handler
}

let confirm: (() => Promise<boolean>) | undefined

/** Sets the function that asks the user for the password again and returns whether it was confirmed. */
export function onConfirmationNeeded(handler: (() => Promise<boolean>) | undefined): void {
  confirm = handler
}

/** Connects requests to the session: they use its CSRF token, and renew or refresh it when the server requires it. */
export function linkCurrentSession(): void {
  probeWith(() => fetch(`${basePath}/icon.svg`, { cache: 'no-store' }))
  // Pages that could not be fetched recover without a reload.
  onReconnect(() => void queryClient.refetchQueries({ type: 'active', predicate: ({ state }) => state.error !== null }))
  linkSession({
    csrfToken: () => currentSession()?.csrfToken,
    signInAgain: async () => (currentSession() ? ((await signInAgain?.()) ?? false) : false),
    refresh: async () => {
      const userId = currentSession()?.user.userId
      const session = await queryClient.fetchQuery({ ...sessionQuery, staleTime: 0 }).catch(() => undefined)
      return session !== undefined && session !== null && session.user.userId === userId
    },
    confirm: async () => confirm?.() ?? false,
  })
}
