import { useQuery } from '@tanstack/react-query'
import { type ReactNode, useState } from 'react'
import { Loading } from '../components/Loaded'
import { Problem } from '../components/Problem'
import { Toasts } from '../components/Toasts'
import { Door } from './Door'
import { FirstPassword } from './FirstPassword'
import { linkedSession } from './linked-session'
import { ConfirmSignIn, SignIn } from './SignIn'
import { SessionContext, sessionQuery } from './session'

linkedSession()

/** In front of every page. Whoever is not signed in signs in at the address they asked for, and is there. */
export function Gate({ children }: { readonly children: ReactNode }) {
  const { data: session, error, refetch } = useQuery(sessionQuery)
  const [hadSession, setHadSession] = useState(false)
  if (session && !hadSession) setHadSession(true)
  const inside = () => {
    if (session === undefined)
      return error ? <Door>{<Problem error={error} retry={() => void refetch()} />}</Door> : <Loading />
    if (session === null) return <SignIn wasSignedOut={hadSession} />
    return (
      <SessionContext key={session.user.userId} value={session}>
        {session.mustChangePassword ? <FirstPassword /> : children}
        <ConfirmSignIn hasSecondFactor={session.user.hasSecondFactor} />
      </SessionContext>
    )
  }
  return (
    <>
      {inside()}
      <Toasts />
    </>
  )
}
