import type { ReactNode } from 'react'
import { useText } from '../../app/texts'
import { Button } from '../../components/Button'
import { notify } from '../../components/Toasts'

interface CopyLineProps {
  readonly label: string
  /** The text that is copied. */
  readonly value: string
  readonly children: ReactNode
}

/** Shows a value that the operator enters in the bank's form, and copies it in the form that banks accept. */
export function CopyLine({ label, value, children }: CopyLineProps) {
  const text = useText()
  const copy = async () => {
    try {
      await navigator.clipboard.writeText(value)
      notify(text('common.copied', { label }), 'plain')
    } catch {
      notify(text('common.copyFailed'), 'bad')
    }
  }
  return (
    <div className="CopyLine">
      <dt>{label}</dt>
      <dd>
        <span className="CopyLine-value">{children}</span>
        <Button aria-label={text('common.copyValue', { label })} onPress={copy}>
          {text('common.copy')}
        </Button>
      </dd>
    </div>
  )
}
