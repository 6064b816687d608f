import type { ReactNode } from 'react'
import './Empty.css'

interface EmptyProps {
  readonly title: string
  /** What the user can do next. */
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
