import type { ReactNode } from 'react'
import { useText } from '../app/texts'
import { Button } from './Button'
import { Dialog } from './Dialog'
import { Problem } from './Problem'

interface ConfirmProps {
  readonly title: string
  readonly open: boolean
  readonly onClose: () => void
  readonly onConfirm: () => void
  /** The label of the confirming button. */
  readonly confirm: string
  /** The label of the other button. */
  readonly stay?: string
  readonly danger?: boolean
  readonly pending?: boolean
  readonly error?: Error | null
  readonly children?: ReactNode
}

export function Confirm(props: ConfirmProps) {
  const { title, open, onClose, onConfirm, confirm, danger = false, pending = false, error = null, children } = props
  const text = useText()
  const { stay = text('common.cancel') } = props
  return (
    <Dialog title={title} open={open} onClose={onClose} role="alertdialog">
      {children}
      {error && <Problem error={error} />}
      <div className="row">
        <Button look={danger ? 'danger' : 'primary'} pending={pending} onPress={onConfirm}>
          {confirm}
        </Button>
        <Button onPress={onClose}>{stay}</Button>
      </div>
    </Dialog>
  )
}
