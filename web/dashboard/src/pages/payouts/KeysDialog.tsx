import { useText } from '../../app/texts'
import { Checkbox } from '../../components/Checkbox'
import { Dialog } from '../../components/Dialog'
import { actionKeys, keyOf } from './payout-keys'

interface KeysDialogProps {
  readonly open: boolean
  readonly onClose: () => void
  readonly on: boolean
  readonly onChange: (on: boolean) => void
}

export function KeysDialog({ open, onClose, on, onChange }: KeysDialogProps) {
  const text = useText()
  const keys = [
    [keyOf('next'), text('payouts.key.next')],
    [keyOf('previous'), text('payouts.key.previous')],
    [keyOf('select'), text('payouts.key.select')],
    ['1 – 4', text('payouts.key.copy')],
    ...Object.entries(actionKeys).map(([key, action]) => [key.toUpperCase(), text(`payouts.action.${action}`)]),
    [keyOf('file'), text('payouts.bulk.file')],
    ['?', text('payouts.keys')],
    ['Esc', text('common.close')],
  ] as const
  return (
    <Dialog title={text('payouts.keys')} open={open} onClose={onClose}>
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
      <Checkbox isSelected={on} onChange={onChange} label={text('payouts.keysOn')} />
    </Dialog>
  )
}
