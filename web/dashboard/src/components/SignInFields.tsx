import { useText } from '../app/texts'
import { TextField } from './TextField'

interface SignInFieldProps {
  readonly name?: string
  readonly label?: string
  readonly autoFocus?: boolean
}

/** A field for the user's current password. */
export function PasswordField({ name = 'password', label, autoFocus = false }: SignInFieldProps) {
  const text = useText()
  return (
    <TextField
      name={name}
      kind="password"
      label={label ?? text('fields.password')}
      autoComplete="current-password"
      required
      maxLength={256}
      autoFocus={autoFocus}
    />
  )
}

/** A field for the code that an authenticator app shows. */
export function AppCodeField({ name = 'code', label, autoFocus = false }: SignInFieldProps) {
  const text = useText()
  return (
    <TextField
      name={name}
      label={label ?? text('shell.code')}
      description={text('shell.codeHelp')}
      kind="code"
      inputMode="numeric"
      autoComplete="one-time-code"
      pattern={/^[0-9]{6}$/}
      required
      autoFocus={autoFocus}
    />
  )
}
