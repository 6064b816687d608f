import type { ReactNode } from 'react'
import { useText } from '../app/texts'
import { Button } from './Button'
import { notify } from './Toasts'
import './Copyable.css'

interface CopyProps {
  readonly value: string
  /** The name of the value, for screen readers. */
  readonly label: string
}

export function CopyButton({ value, label }: CopyProps) {
  const text = useText()
  const copy = () => {
    navigator.clipboard.writeText(value).then(
      () => notify(text('common.copied', { label })),
      () => notify(text('common.copyFailed'), 'bad'),
    )
  }
  return (
    <Button look="quiet" className="CopyButton" aria-label={text('common.copyValue', { label })} onPress={copy}>
      <svg viewBox="0 0 16 16" aria-hidden="true">
        <path d="M5.5 3.5v-2h9v9h-2M1.5 5.5h9v9h-9z" />
      </svg>
    </Button>
  )
}

interface CopyableIdProps extends CopyProps {
  /** Shown in place of the value. The value itself is copied. */
  readonly shown?: ReactNode
}

export function CopyableId({ value, shown, label }: CopyableIdProps) {
  return (
    <span className="CopyableId">
      <code title={value}>{shown ?? value}</code>
      <CopyButton value={value} label={label} />
    </span>
  )
}
