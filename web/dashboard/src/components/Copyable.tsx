import { Check, Copy } from 'lucide-react'
import { type ReactNode, useEffect, useState } from 'react'
import { useText } from '../app/texts'
import { Button } from './Button'
import { notify } from './Toasts'
import './Copyable.css'

/** How long the button shows that the value was copied. */
const copiedForMs = 2_000

/** Copies a text. Rejects where the browser has no clipboard, as on pages without HTTPS, and where it does not allow it. */
export async function writeToClipboard(value: string): Promise<void> {
  await navigator.clipboard.writeText(value)
}

interface CopyProps {
  readonly value: string
  /** The name of the value, for screen readers. */
  readonly label: string
  /** Called after the value was copied, and when the browser does not allow it. */
  readonly onCopied?: (() => void) | undefined
}

export function CopyButton({ value, label, onCopied }: CopyProps) {
  const text = useText()
  const [isCopied, setCopied] = useState(false)
  useEffect(() => {
    if (!isCopied) return
    const timer = setTimeout(() => setCopied(false), copiedForMs)
    return () => clearTimeout(timer)
  }, [isCopied])
  const copy = () => {
    void writeToClipboard(value)
      .then(
        () => {
          setCopied(true)
          notify(text('common.copied', { label }))
        },
        () => notify(text('common.copyFailed'), 'bad'),
      )
      .finally(onCopied)
  }
  return (
    <Button
      look="quiet"
      small
      icon
      className="CopyButton"
      aria-label={text('common.copyValue', { label })}
      onPress={copy}
    >
      {isCopied ? <Check /> : <Copy />}
    </Button>
  )
}

interface CopyableIdProps extends CopyProps {
  /** Shown in place of the value. The value itself is copied. */
  readonly shown?: ReactNode
}

export function CopyableId({ value, shown, label, onCopied }: CopyableIdProps) {
  return (
    <span className="CopyableId">
      <code title={value}>{shown ?? value}</code>
      <CopyButton value={value} label={label} onCopied={onCopied} />
    </span>
  )
}
