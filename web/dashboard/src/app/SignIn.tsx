import { useEffect, useRef, useState } from 'react'
import { api } from '../api/api-client'
import type { ConfirmRequest, Session, SignInRequest } from '../api/contract'
import { useAction } from '../api/use-action'
import { Dialog } from '../components/Dialog'
import { Form } from '../components/Form'
import { TextField } from '../components/TextField'
import { setSession } from './current-session'
import { EntryLayout } from './EntryLayout'
import { onConfirmationNeeded } from './session-link'
import { useText } from './texts'

export function SignIn({ wasSignedOut }: { readonly wasSignedOut: boolean }) {
  const text = useText()
  const { start, pending, error } = useAction({
    run: (request: SignInRequest) => api.send<Session>('POST', '/session', request),
    done: setSession,
  })
  const asksForCode = useStays(error?.refusal === 'second-factor-needed')
  useEffect(() => {
    document.title = text('shell.titleOf', { page: text('shell.signIn') })
  }, [text])
  const submit = (data: FormData) => start({ email: textOf(data, 'email'), ...proofOf(data) })
  return (
    <EntryLayout>
      <h1>{text('shell.signIn')}</h1>
      {wasSignedOut && <p>{text('shell.signedOut')}</p>}
      <Form onSubmit={submit} error={error} submit={text('shell.signIn')} pending={pending}>
        <TextField
          name="email"
          type="email"
          label={text('shell.email')}
          autoComplete="username"
          required
          maxLength={254}
          autoFocus
        />
        <TextField
          name="password"
          type="password"
          label={text('shell.password')}
          autoComplete="current-password"
          required
          maxLength={256}
        />
        {asksForCode && <CodeField autoFocus />}
      </Form>
    </EntryLayout>
  )
}

/** Once asked for, the code stays asked for. */
function useStays(isOn: boolean): boolean {
  const [wasOn, setWasOn] = useState(isOn)
  if (isOn && !wasOn) setWasOn(true)
  return isOn || wasOn
}

function CodeField({ autoFocus = false }: { readonly autoFocus?: boolean }) {
  const text = useText()
  return (
    <TextField
      name="code"
      label={text('shell.code')}
      description={text('shell.codeHelp')}
      inputMode="numeric"
      autoComplete="one-time-code"
      pattern="[0-9]{6}"
      maxLength={6}
      required
      autoFocus={autoFocus}
    />
  )
}

function textOf(data: FormData, name: string): string {
  const value = data.get(name)
  return typeof value === 'string' ? value : ''
}

function proofOf(data: FormData): ConfirmRequest {
  const code = textOf(data, 'code')
  return { password: textOf(data, 'password'), ...(code === '' ? {} : { code }) }
}

/** Asks for the password again when the server wants a recent sign-in, and lets what was asked for go on. */
export function ConfirmSignIn({ hasSecondFactor }: { readonly hasSecondFactor: boolean }) {
  const text = useText()
  const [isOpen, setOpen] = useState(false)
  const answer = useRef<(isConfirmed: boolean) => void>(undefined)
  const finish = (isConfirmed: boolean) => {
    setOpen(false)
    answer.current?.(isConfirmed)
    answer.current = undefined
  }
  const { start, pending, error, reset } = useAction({
    run: (request: ConfirmRequest) => api.send<Session>('POST', '/session/confirm', request),
    done: (session) => {
      setSession(session)
      finish(true)
    },
  })
  useEffect(() => {
    onConfirmationNeeded(() => {
      reset()
      setOpen(true)
      answer.current?.(false)
      return new Promise((resolve) => {
        answer.current = resolve
      })
    })
    return () => {
      answer.current?.(false)
      onConfirmationNeeded(undefined)
    }
  }, [reset])
  return (
    <Dialog title={text('shell.confirmTitle')} open={isOpen} onClose={() => finish(false)}>
      <p>{text('shell.confirmHelp')}</p>
      <Form
        onSubmit={(data) => start(proofOf(data))}
        error={error}
        submit={text('shell.confirm')}
        pending={pending}
        cancel={() => finish(false)}
      >
        <TextField
          name="password"
          type="password"
          label={text('shell.password')}
          autoComplete="current-password"
          required
          autoFocus
        />
        {hasSecondFactor && <CodeField />}
      </Form>
    </Dialog>
  )
}
