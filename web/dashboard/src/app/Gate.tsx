import { useQuery } from '@tanstack/react-query'
import { type ReactNode, Suspense, useState } from 'react'
import { Problem } from '../components/Problem'
import { Toasts } from '../components/Toasts'
import { SessionContext, sessionQuery } from './current-session'
import { EntryLayout } from './EntryLayout'
import { lazyPart } from './lazy-page'
import { Skeleton } from './Skeleton'
import { linkCurrentSession } from './session-link'

const SignIn = lazyPart(async () => (await import('./SignIn')).SignIn, Promise.resolve())
const SignInAgain = lazyPart(async () => (await import('./SignIn')).SignInAgain)
const ConfirmSignIn = lazyPart(async () => (await import('./SignIn')).ConfirmSignIn)
const FirstPassword = lazyPart(async () => (await import('./FirstPassword')).FirstPassword)

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
        <Suspense>
          <SignInAgain user={session.user} />
          <ConfirmSignIn hasSecondFactor={session.user.hasSecondFactor} />
        </Suspense>
      </SessionContext>
    )
  }
  return (
    <>
      <Suspense fallback={<Skeleton />}>{content()}</Suspense>
      <Toasts />
    </>
  )
}
