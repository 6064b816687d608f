import { Check, Copy } from 'lucide-react'
import type { ReactNode } from 'react'
import { useText } from '../../app/texts'
import { Button } from '../../components/Button'

interface CopyLineProps {
  readonly label: string
  readonly children: ReactNode
  /** The key that copies the line. */
  readonly shortcut: string
  readonly isCopied: boolean
  readonly onCopy: () => void
}

/** Shows a value that the operator enters in the bank's form, and copies it in the form that banks accept. */
export function CopyLine({ label, children, shortcut, isCopied, onCopy }: CopyLineProps) {
  const text = useText()
  return (
    <div className="CopyLine" data-copied={isCopied || undefined}>
      <dt>
        {label} <output className="CopyLine-copied">{isCopied && text('payouts.copied')}</output>
      </dt>
      <dd className="CopyLine-value">{children}</dd>
      <dd className="CopyLine-button">
        <Button onPress={onCopy}>
          <span className="visually-hidden">{text('common.copyValue', { label })}</span>
          {isCopied ? <Check /> : <Copy />}
          <kbd aria-hidden>{shortcut}</kbd>
        </Button>
      </dd>
    </div>
  )
}
