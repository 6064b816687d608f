import { useCallback, useEffect, useRef, useState } from 'react'
import type { ConfirmRequest, Session, SignInRequest } from '../../../../src/http/dashboard/api'
import { api } from '../api/api-client'
import { useAction } from '../api/use-action'
import { Button } from '../components/Button'
import { Dialog } from '../components/Dialog'
import { Form } from '../components/Form'
import { AppCodeField, PasswordField } from '../components/SignInFields'
import { TextField } from '../components/TextField'
import { onSignInElsewhere, sessionQuery, setSession } from './current-session'
import { EntryLayout } from './EntryLayout'
import { useDocumentTitle } from './page-title'
import { onConfirmationNeeded, onSessionEnded } from './session-link'
import { useText } from './texts'

/** The form that starts a session. `email` is known when a session has ended. */
function SignInForm({
  email,
  onSignedIn,
}: {
  readonly email?: string
  readonly onSignedIn: (session: Session) => void
}) {
  const text = useText()
  const { start, pending, error } = useAction({
    run: (request: SignInRequest) => api.send<Session>('POST', '/session', request),
    onSuccess: onSignedIn,
  })
  const asksForCode = useLatch(error?.rule === 'second-factor-needed')
  const submit = (data: FormData) => start({ email: String(data.get('email')), ...credentialsOf(data) })
  return (
    <Form onSubmit={submit} error={error} submit={text('shell.signIn')} pending={pending}>
      <TextField
        name="email"
        kind="email"
        label={text('fields.email')}
        autoComplete="username"
        required
        maxLength={254}
        defaultValue={email ?? ''}
        autoFocus={email === undefined}
      />
      <PasswordField autoFocus={email !== undefined} />
      {asksForCode && <CodeField autoFocus />}
    </Form>
  )
}

export function SignIn({ hasSignedOut }: { readonly hasSignedOut: boolean }) {
  const text = useText()
  useDocumentTitle(text('shell.signIn'))
  return (
    <EntryLayout>
      <h1>{text('shell.signIn')}</h1>
      {hasSignedOut && <output>{text('shell.signedOut')}</output>}
      <SignInForm onSignedIn={setSession} />
    </EntryLayout>
  )
}

/** Lets a user whose session has ended sign in above the page, so that a filled dialog below it is not lost. */
export function SignInAgain({ user }: Pick<Session, 'user'>) {
  const text = useText()
  const { isOpen, ask, respond } = useQuestion()
  useEffect(() => {
    onSessionEnded(ask)
    return () => onSessionEnded(undefined)
  }, [ask])
  const continueAs = useCallback(
    (session: Session) => {
      // Another user must not see or send what this one has typed: a different session replaces all pages.
      if (session.user.userId !== user.userId) setSession(session)
      respond(session.user.userId === user.userId)
    },
    [respond, user.userId],
  )
  useEffect(() => {
    if (!isOpen) return
    return onSignInElsewhere(async () => {
      const session = await sessionQuery.queryFn()
      if (session) continueAs(session)
    })
  }, [isOpen, continueAs])
  return (
    <Dialog title={text('shell.signInAgain')} open={isOpen} covering>
      <p>{text('shell.sessionEnded')}</p>
      <SignInForm
        email={user.email}
        onSignedIn={(session) => {
          setSession(session)
          continueAs(session)
        }}
      />
      <Button
        look="quiet"
        onPress={() => {
          respond(false)
          setSession(null)
        }}
      >
        {text('shell.leavePage')}
      </Button>
    </Dialog>
  )
}

/** A dialog that several requests may wait for. All of them get the same response. */
function useQuestion() {
  const [isOpen, setOpen] = useState(false)
  const waiting = useRef<((answer: boolean) => void)[]>([])
  const [{ ask, respond }] = useState(() => {
    const answer = (value: boolean) => {
      setOpen(false)
      for (const each of waiting.current.splice(0)) each(value)
    }
    const open = () => {
      setOpen(true)
      return new Promise<boolean>((resolve) => waiting.current.push(resolve))
    }
    return { ask: open, respond: answer }
  })
  useEffect(() => () => respond(false), [respond])
  return { isOpen, ask, respond }
}

/** Returns true from the first time the value is true. */
function useLatch(isOn: boolean): boolean {
  const [wasOn, setWasOn] = useState(isOn)
  if (isOn && !wasOn) setWasOn(true)
  return isOn || wasOn
}

/** A field for the code of the authenticator app, or for a recovery code. */
export function CodeField({ autoFocus = false }: { readonly autoFocus?: boolean }) {
  const text = useText()
  const [isRecovery, setRecovery] = useState(false)
  return (
    <>
      {isRecovery ? (
        <TextField
          key="recovery"
          name="code"
          label={text('shell.recoveryCode')}
          description={text('shell.recoveryCodeHelp')}
          autoComplete="off"
          kind="code"
          pattern={/^[a-z2-9]{20}$/}
          required
          autoFocus
        />
      ) : (
        <AppCodeField key="app" autoFocus={autoFocus} />
      )}
      <div className="row">
        <Button look="quiet" onPress={() => setRecovery(!isRecovery)}>
          {text(isRecovery ? 'shell.useApp' : 'shell.useRecoveryCode')}
        </Button>
      </div>
    </>
  )
}

function credentialsOf(data: FormData): ConfirmRequest {
  return { password: String(data.get('password')), ...codeOf(data) }
}

export function codeOf(data: FormData): { code?: string } {
  const code = String(data.get('code') ?? '').trim()
  return code === '' ? {} : { code }
}

/** Requests the password again when the server requires a recent sign-in. The rejected request is then repeated. */
export function ConfirmSignIn({ hasSecondFactor }: { readonly hasSecondFactor: boolean }) {
  const text = useText()
  const { isOpen, ask, respond: finish } = useQuestion()
  const { start, pending, error, reset } = useAction({
    run: (request: ConfirmRequest) => api.send<Session>('POST', '/session/confirm', request),
    onSuccess: (session) => {
      setSession(session)
      finish(true)
    },
  })
  useEffect(() => {
    onConfirmationNeeded(() => {
      reset()
      return ask()
    })
    return () => onConfirmationNeeded(undefined)
  }, [ask, reset])
  return (
    <Dialog title={text('shell.confirmTitle')} open={isOpen} onClose={() => finish(false)}>
      <p>{text('shell.confirmHelp')}</p>
      <Form
        onSubmit={(data) => start(credentialsOf(data))}
        error={error}
        submit={text('shell.confirm')}
        pending={pending}
        cancel={() => finish(false)}
      >
        <PasswordField autoFocus />
        {hasSecondFactor && <CodeField />}
      </Form>
    </Dialog>
  )
}
