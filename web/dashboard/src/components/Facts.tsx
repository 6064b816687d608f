import type { ReactNode } from 'react'
import './Facts.css'

interface FactsProps {
  /** Items without a value are omitted. */
  readonly items: readonly { readonly label: string; readonly value: ReactNode }[]
}

export function Facts({ items }: FactsProps) {
  return (
    <dl className="Facts">
      {items
        .filter(({ value }) => value !== undefined && value !== null && value !== '')
        .map(({ label, value }) => (
          <div key={label}>
            <dt>{label}</dt>
            <dd>{value}</dd>
          </div>
        ))}
    </dl>
  )
}
