import { useState } from 'react'
import { api } from '../api/api-client'
import type { ChangePasswordRequest, Session } from '../api/contract'
import { useAction } from '../api/use-action'
import { Form } from '../components/Form'
import { TextField } from '../components/TextField'
import { setSession, useSession } from './current-session'
import { useText } from './texts'

interface ChangePasswordProps {
  /** What the present password is called: at first it is the one that was given. */
  readonly currentLabel: string
  readonly done?: () => void
}

export function ChangePassword({ currentLabel, done }: ChangePasswordProps) {
  const text = useText()
  const { user } = useSession()
  const [next, setNext] = useState('')
  const [round, setRound] = useState(0)
  const { start, pending, error } = useAction({
    run: (request: ChangePasswordRequest) => api.send<Session>('PUT', '/session/password', request),
    done: (session) => {
      setSession(session)
      setNext('')
      setRound(round + 1)
      done?.()
    },
  })
  const submit = (data: FormData) => start({ current: String(data.get('current')), next: String(data.get('next')) })
  return (
    <Form key={round} onSubmit={submit} error={error} submit={text('shell.changePassword')} pending={pending}>
      {/* For password managers: whose password it is. */}
      <input
        type="email"
        className="unseen"
        autoComplete="username"
        value={user.email}
        readOnly
        tabIndex={-1}
        aria-hidden="true"
      />
      <TextField name="current" type="password" label={currentLabel} autoComplete="current-password" required />
      <TextField
        name="next"
        type="password"
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
        type="password"
        label={text('shell.newPasswordAgain')}
        autoComplete="new-password"
        required
        validate={(again) => (again === next ? null : text('shell.passwordsDiffer'))}
      />
    </Form>
  )
}
