import { useText } from '../app/texts'
import { Button } from './Button'
import { CopyableId } from './Copyable'
import { Dialog } from './Dialog'
import './SecretsDialog.css'

interface SecretsDialogProps {
  readonly title: string
  readonly help?: string
  readonly secrets: readonly { readonly label: string; readonly value: string }[]
  /** The label of the closing button, with which the user confirms that the secrets are saved. */
  readonly confirm: string
  readonly onClose: () => void
}

/** Shows secrets that the server returns only once. */
export function SecretsDialog({ title, help, secrets, confirm, onClose }: SecretsDialogProps) {
  const text = useText()
  return (
    <Dialog title={title} open onClose={onClose} wide>
      <div className="stack">
        {help !== undefined && <p>{help}</p>}
        {secrets.map(({ label, value }) => (
          <div key={label} className="SecretsDialog-secret">
            <span className="Field-label">{label}</span>
            <CopyableId value={value} label={label} />
          </div>
        ))}
        <p>{text('common.secretOnce')}</p>
        <div className="row">
          <Button look="primary" onPress={onClose}>
            {confirm}
          </Button>
        </div>
      </div>
    </Dialog>
  )
}
