import { useState } from 'react'
import type { ChangePasswordRequest, Session } from '../../../../src/http/dashboard/api'
import { api } from '../api/api-client'
import { useAction } from '../api/use-action'
import { Form } from '../components/Form'
import { PasswordField } from '../components/SignInFields'
import { TextField } from '../components/TextField'
import { setSession, useSession } from './current-session'
import { CodeField, codeOf } from './SignIn'
import { useText } from './texts'

interface ChangePasswordProps {
  /** The label of the current password, which is a temporary one at first. */
  readonly currentLabel: string
  readonly onChanged?: () => void
}

export function ChangePassword({ currentLabel, onChanged }: ChangePasswordProps) {
  const text = useText()
  const { user } = useSession()
  const [next, setNext] = useState('')
  const [round, setRound] = useState(0)
  const { start, pending, error } = useAction({
    run: (request: ChangePasswordRequest) => api.send<Session>('PUT', '/session/password', request),
    onSuccess: (session) => {
      setSession(session)
      setNext('')
      setRound(round + 1)
      onChanged?.()
    },
  })
  const submit = (data: FormData) =>
    start({ current: String(data.get('current')), next: String(data.get('next')), ...codeOf(data) })
  return (
    <Form key={round} onSubmit={submit} error={error} submit={text('shell.changePassword')} pending={pending}>
      {/* Tells password managers which account the password belongs to. */}
      <input
        type="email"
        className="visually-hidden"
        autoComplete="username"
        value={user.email}
        readOnly
        tabIndex={-1}
        aria-hidden="true"
      />
      <PasswordField name="current" label={currentLabel} />
      <TextField
        name="next"
        kind="password"
        label={text('shell.newPassword')}
        description={text('shell.newPasswordHelp')}
        autoComplete="new-password"
        minLength={12}
        maxLength={256}
        required
        value={next}
        onChange={setNext}
      />
      <TextField
        name="again"
        kind="password"
        label={text('shell.newPasswordAgain')}
        autoComplete="new-password"
        required
        validate={(again) => (again === next ? null : text('shell.passwordsDiffer'))}
      />
      {user.hasSecondFactor && <CodeField />}
    </Form>
  )
}
