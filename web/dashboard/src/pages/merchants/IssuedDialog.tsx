import { useText } from '../../app/texts'
import { Button } from '../../components/Button'
import { SecretOnce } from '../../components/Copyable'
import { Dialog } from '../../components/Dialog'

interface IssuedDialogProps {
  readonly title: string
  readonly label: string
  readonly value: string
  readonly onClose: () => void
}

export function IssuedDialog({ title, label, value, onClose }: IssuedDialogProps) {
  const text = useText()
  return (
    <Dialog title={title} open onClose={onClose} wide>
      <div className="stack">
        <SecretOnce label={label} value={value} />
        <div className="row">
          <Button look="primary" onPress={onClose}>
            {text('merchants.saved')}
          </Button>
        </div>
      </div>
    </Dialog>
  )
}
