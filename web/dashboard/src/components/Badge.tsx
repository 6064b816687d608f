import { Check, CircleAlert, CircleDashed, Clock, Hand, type LucideIcon, UserCheck, X } from 'lucide-react'
import type { ReactNode } from 'react'
import type { Status } from '../../../../src/domain/transfer/status'
import { useText } from '../app/texts'
import './Badge.css'

/** Each colour has an icon, because meaning must not depend on colour alone. */
const icons = {
  good: Check,
  wait: Clock,
  /** A person must act. */
  person: Hand,
  /** A second person must act. */
  second: UserCheck,
  bad: CircleAlert,
  off: X,
  accent: CircleDashed,
} as const satisfies Record<string, LucideIcon>
export type Tone = keyof typeof icons

interface BadgeProps {
  readonly tone: Tone
  readonly icon?: LucideIcon
  readonly children: ReactNode
}

/** States the status. A row has at most one. */
export function Badge({ tone, icon: Icon = icons[tone], children }: BadgeProps) {
  return (
    <span className={`Badge Badge-${tone}`}>
      <Icon className="icon-12" />
      {children}
    </span>
  )
}

interface FlagProps {
  readonly tone?: 'person' | 'second' | 'accent' | 'bad'
  readonly icon?: LucideIcon
  readonly title?: string
  readonly children: ReactNode
}

/** States the one thing to know before acting. A row has at most one, next to its status. */
export function Flag({ tone, icon: Icon, title, children }: FlagProps) {
  return (
    <span className={tone ? `Flag Flag-${tone}` : 'Flag'} title={title}>
      {Icon && <Icon className="icon-12" />}
      {children}
    </span>
  )
}

export const statusTones: { readonly [status in Status]: Tone } = {
  Pending: 'wait',
  Completed: 'good',
  ManualControl: 'person',
  Cancelled: 'off',
  Failed: 'bad',
}

export function StatusBadge({ status }: { readonly status: Status }) {
  const text = useText()
  return <Badge tone={statusTones[status]}>{text(`common.status.${status}`)}</Badge>
}
