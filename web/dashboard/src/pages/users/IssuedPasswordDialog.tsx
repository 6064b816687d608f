import type { IssuedPassword } from '../../../../../src/http/dashboard/api'
import { useText } from '../../app/texts'
import { SecretsDialog } from '../../components/SecretsDialog'

interface IssuedPasswordDialogProps {
  readonly issued: IssuedPassword
  readonly onClose: () => void
}

export function IssuedPasswordDialog({ issued: { user, password }, onClose }: IssuedPasswordDialogProps) {
  const text = useText()
  const held = user.heldBy.length === 0 ? '' : text('users.passwordHeld', { name: user.name })
  return (
    <SecretsDialog
      title={text('users.passwordTitle', { name: user.name })}
      help={[text('users.passwordHelp', { name: user.name }), held].join(' ').trim()}
      secrets={[{ label: text('users.temporaryPassword'), value: password }]}
      confirm={text('users.passwordSent')}
      onClose={onClose}
    />
  )
}
