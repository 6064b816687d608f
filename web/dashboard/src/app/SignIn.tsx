import { useEffect, useRef, useState } from 'react'
import { api } from '../api/api-client'
import type { ConfirmRequest, Session, SignInRequest } from '../api/contract'
import { useAction } from '../api/use-action'
import { Button } from '../components/Button'
import { Dialog } from '../components/Dialog'
import { Form } from '../components/Form'
import { AppCodeField, PasswordField } from '../components/SignInFields'
import { TextField } from '../components/TextField'
import { setSession } from './current-session'
import { EntryLayout } from './EntryLayout'
import { onConfirmationNeeded } from './session-link'
import { useText } from './texts'

export function SignIn({ wasSignedOut }: { readonly wasSignedOut: boolean }) {
  const text = useText()
  const { start, pending, error } = useAction({
    run: (request: SignInRequest) => api.send<Session>('POST', '/session', request),
    onSuccess: setSession,
  })
  const asksForCode = useLatch(error?.rule === 'second-factor-needed')
  useEffect(() => {
    document.title = text('shell.titleOf', { page: text('shell.signIn') })
  }, [text])
  const submit = (data: FormData) => start({ email: String(data.get('email')), ...credentialsOf(data) })
  return (
    <EntryLayout>
      <h1>{text('shell.signIn')}</h1>
      {wasSignedOut && <p>{text('shell.signedOut')}</p>}
      <Form onSubmit={submit} error={error} submit={text('shell.signIn')} pending={pending}>
        <TextField
          name="email"
          type="email"
          label={text('fields.email')}
          autoComplete="username"
          required
          maxLength={254}
          autoFocus
        />
        <PasswordField />
        {asksForCode && <CodeField autoFocus />}
      </Form>
    </EntryLayout>
  )
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
          pattern="[A-Za-z2-9 \-]{20,32}"
          maxLength={32}
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
  const [isOpen, setOpen] = useState(false)
  const respond = useRef<(isConfirmed: boolean) => void>(undefined)
  const finish = (isConfirmed: boolean) => {
    setOpen(false)
    respond.current?.(isConfirmed)
    respond.current = undefined
  }
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
      setOpen(true)
      respond.current?.(false)
      return new Promise((resolve) => {
        respond.current = resolve
      })
    })
    return () => {
      respond.current?.(false)
      onConfirmationNeeded(undefined)
    }
  }, [reset])
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
