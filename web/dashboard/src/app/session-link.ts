import { linkSession } from '../api/api-client'
import { onReconnect, probeWith } from '../api/connection'
import { basePath } from './base-path'
import { currentSession, sessionQuery } from './current-session'
import { queryClient } from './query-client'

type Ask = () => Promise<boolean>

/** A question to the user. Its dialog is not part of the first page, so the question may have to wait for it. */
function question() {
  let current: Ask | undefined
  const waiting: ((ask: Ask) => void)[] = []
  return {
    set(ask: Ask | undefined) {
      current = ask
      if (ask) for (const resolve of waiting.splice(0)) resolve(ask)
    },
    async ask(): Promise<boolean> {
      const ask = current ?? (await new Promise<Ask>((resolve) => waiting.push(resolve)))
      return ask()
    },
  }
}

const signInAgain = question()
const confirmation = question()

/** Sets the function that asks the user to sign in again and returns whether the same user did. */
export const onSessionEnded = signInAgain.set

/** Sets the function that asks the user for the password again and returns whether it was confirmed. */
export const onConfirmationNeeded = confirmation.set

/** Connects requests to the session: they use its CSRF token, and renew or refresh it when the server requires it. */
export function linkCurrentSession(): void {
  probeWith(() => fetch(`${basePath}/icon.svg`, { cache: 'no-store' }))
  // Pages that could not be fetched recover without a reload.
  onReconnect(() => void queryClient.refetchQueries({ type: 'active', predicate: ({ state }) => state.error !== null }))
  linkSession({
    csrfToken: () => currentSession()?.csrfToken,
    signInAgain: async () => currentSession() !== null && signInAgain.ask(),
    refresh: async () => {
      const userId = currentSession()?.user.userId
      const session = await queryClient.fetchQuery({ ...sessionQuery, staleTime: 0 }).catch(() => undefined)
      return session !== undefined && session !== null && session.user.userId === userId
    },
    confirm: confirmation.ask,
  })
}
