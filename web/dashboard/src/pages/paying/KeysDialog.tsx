import { useText } from '../../app/texts'
import { Checkbox } from '../../components/Checkbox'
import { Dialog } from '../../components/Dialog'
import { actionKeys, keyOf } from './paying-keys'

interface KeysDialogProps {
  readonly open: boolean
  readonly onClose: () => void
  readonly on: boolean
  readonly onChange: (on: boolean) => void
}

export function KeysDialog({ open, onClose, on, onChange }: KeysDialogProps) {
  const text = useText()
  const keys = [
    [keyOf('next'), text('paying.key.next')],
    [keyOf('previous'), text('paying.key.previous')],
    [keyOf('select'), text('paying.key.select')],
    ['1 – 4', text('paying.key.copy')],
    ...Object.entries(actionKeys).map(([key, action]) => [key.toUpperCase(), text(`paying.action.${action}`)]),
    [keyOf('file'), text('paying.bulk.file')],
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
