import type { IssuedPassword } from '../../api/contract'
import { useText } from '../../app/texts'
import { Button } from '../../components/Button'
import { SecretOnce } from '../../components/Copyable'
import { Dialog } from '../../components/Dialog'

interface IssuedPasswordDialogProps {
  readonly issued: IssuedPassword
  readonly onClose: () => void
}

export function IssuedPasswordDialog({ issued: { user, password }, onClose }: IssuedPasswordDialogProps) {
  const text = useText()
  return (
    <Dialog title={text('users.passwordTitle', { name: user.name })} open onClose={onClose} wide>
      <div className="stack">
        <p>{text('users.passwordHelp', { name: user.name })}</p>
        <SecretOnce label={text('users.temporaryPassword')} value={password} />
        <div className="row">
          <Button look="primary" onPress={onClose}>
            {text('users.passwordSent')}
          </Button>
        </div>
      </div>
    </Dialog>
  )
}
