import { useText } from '../../app/texts'
import { Checkbox } from '../../components/Checkbox'
import { Dialog } from '../../components/Dialog'
import { actionKeys } from './paying-keys'

interface KeysDialogProps {
  readonly open: boolean
  readonly onClose: () => void
  readonly on: boolean
  readonly onChange: (on: boolean) => void
}

export function KeysDialog({ open, onClose, on, onChange }: KeysDialogProps) {
  const text = useText()
  const keys = [
    ['j', text('paying.key.next')],
    ['k', text('paying.key.previous')],
    [text('paying.key.space'), text('paying.key.select')],
    ...Object.entries(actionKeys).map(([key, action]) => [key, text(`common.action.${action}`)]),
    ['?', text('paying.keys')],
    ['Esc', text('common.close')],
  ] as const
  return (
    <Dialog title={text('paying.keys')} open={open} onClose={onClose}>
      <dl className="Keys">
        {keys.map(([key, what]) => (
          <div key={key}>
            <dt>
              <kbd>{key}</kbd>
            </dt>
            <dd>{what}</dd>
          </div>
        ))}
      </dl>
      <Checkbox isSelected={on} onChange={onChange} label={text('paying.keysOn')} />
    </Dialog>
  )
}
