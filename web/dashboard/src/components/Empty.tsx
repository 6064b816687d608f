import type { ReactNode } from 'react'
import './Empty.css'

interface EmptyProps {
  readonly title: string
  /** The next step of the user. */
  readonly children?: ReactNode
}

export function Empty({ title, children }: EmptyProps) {
  return (
    <div className="Empty">
      <p className="Empty-title">{title}</p>
      {children}
    </div>
  )
}
