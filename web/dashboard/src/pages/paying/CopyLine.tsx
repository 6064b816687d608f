import type { ReactNode } from 'react'
import { useText } from '../../app/texts'
import { Button } from '../../components/Button'
import { notify } from '../../components/Toasts'
import { inFours } from './account-number'

interface CopyLineProps {
  readonly label: string
  /** What is copied. */
  readonly value: string
  readonly children: ReactNode
}

/** What is typed into the bank's form: large, and copied exactly as the bank takes it. */
export function CopyLine({ label, value, children }: CopyLineProps) {
  const text = useText()
  const copy = async () => {
    try {
      await navigator.clipboard.writeText(value)
      notify(text('paying.copied', { what: label }), 'plain')
    } catch {
      notify(text('common.copyFailed'), 'bad')
    }
  }
  return (
    <div className="CopyLine">
      <dt>{label}</dt>
      <dd>
        <span className="CopyLine-value">{children}</span>
        <Button look="plain" aria-label={text('common.copyIt', { label })} onPress={copy}>
          {text('common.copy')}
        </Button>
      </dd>
    </div>
  )
}

/** The gaps are drawn, not written: who marks and copies it gets the plain number. */
export function AccountNumber({ account }: { readonly account: string }) {
  const fours = inFours(account).map((four, index) => ({ four, key: index * 4 }))
  return (
    <span className="AccountNumber">
      {fours.map(({ four, key }) => (
        <span key={key} className="AccountNumber-four">
          {four}
        </span>
      ))}
    </span>
  )
}
