import { useState } from 'react'
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

/** Shows secrets that the server returns only once. Only the button closes it, after each secret was copied. */
export function SecretsDialog({ title, help, secrets, confirm, onClose }: SecretsDialogProps) {
  const text = useText()
  const [copied, setCopied] = useState<ReadonlySet<string>>(new Set())
  const note = (label: string) => setCopied((before) => new Set([...before, label]))
  const left = secrets.filter(({ label }) => !copied.has(label)).length
  return (
    <Dialog title={title} open wide>
      <div className="stack">
        {help !== undefined && <p>{help}</p>}
        {secrets.map(({ label, value }) => (
          <div key={label} className="SecretsDialog-secret" onCopy={() => note(label)}>
            <span className="Field-label">{label}</span>
            <CopyableId value={value} label={label} onCopied={() => note(label)} />
          </div>
        ))}
        <p>{text('common.secretOnce')}</p>
        <div className="row">
          <Button look="primary" onPress={onClose} isDisabled={left > 0}>
            {confirm}
          </Button>
          {left > 0 && <span className="muted small">{text('common.copyFirst', { count: left })}</span>}
        </div>
      </div>
    </Dialog>
  )
}
