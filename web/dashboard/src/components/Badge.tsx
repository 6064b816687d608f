import type { ReactNode } from 'react'
import type { Status } from '../api/contract'
import { useText } from '../app/texts'
import './Badge.css'

/** Each colour has a sign, because meaning must not depend on colour alone. */
const signs = { good: '✓', wait: '◔', check: '!', bad: '✕', off: '–', info: 'i' } as const
export type Tone = keyof typeof signs

export function Badge({ tone, children }: { readonly tone: Tone; readonly children: ReactNode }) {
  return (
    <span className={`Badge Badge-${tone}`}>
      <span aria-hidden="true" className="Badge-sign">
        {signs[tone]}
      </span>
      {children}
    </span>
  )
}

export const statusTones: { readonly [status in Status]: Tone } = {
  Pending: 'wait',
  Completed: 'good',
  ManualControl: 'check',
  Cancelled: 'off',
  Failed: 'bad',
}

export function StatusBadge({ status }: { readonly status: Status }) {
  const text = useText()
  return <Badge tone={statusTones[status]}>{text(`common.status.${status}`)}</Badge>
}
