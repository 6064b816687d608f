import { useQuery } from '@tanstack/react-query'
import { type ReactNode, useState } from 'react'
import { Problem } from '../components/Problem'
import { Toasts } from '../components/Toasts'
import { SessionContext, sessionQuery } from './current-session'
import { EntryLayout } from './EntryLayout'
import { FirstPassword } from './FirstPassword'
import { ConfirmSignIn, SignIn, SignInAgain } from './SignIn'
import { Skeleton } from './Skeleton'
import { linkCurrentSession } from './session-link'

linkCurrentSession()

/** Shows the sign-in instead of the page until the user has signed in. The address stays the same. */
export function Gate({ children }: { readonly children: ReactNode }) {
  const { data: session, error, refetch } = useQuery(sessionQuery)
  const [hadSession, setHadSession] = useState(false)
  if (session && !hadSession) setHadSession(true)
  const content = () => {
    if (session === undefined)
      return error ? <EntryLayout>{<Problem error={error} retry={() => void refetch()} />}</EntryLayout> : <Skeleton />
    if (session === null) return <SignIn hasSignedOut={hadSession} />
    return (
      <SessionContext key={session.user.userId} value={session}>
        {session.mustChangePassword ? <FirstPassword /> : children}
        <SignInAgain user={session.user} />
        <ConfirmSignIn hasSecondFactor={session.user.hasSecondFactor} />
      </SessionContext>
    )
  }
  return (
    <>
      {content()}
      <Toasts />
    </>
  )
}
