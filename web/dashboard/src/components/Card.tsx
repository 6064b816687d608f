import { type ReactNode, useId } from 'react'
import './Card.css'

interface CardProps {
  readonly title?: string
  readonly actions?: ReactNode
  readonly children: ReactNode
}

export function Card({ title, actions, children }: CardProps) {
  const id = useId()
  return (
    <section className="Card" aria-labelledby={title === undefined ? undefined : id}>
      {(title !== undefined || actions) && (
        <div className="Card-head">
          {title !== undefined && <h2 id={id}>{title}</h2>}
          {actions && <div className="row screen-only">{actions}</div>}
        </div>
      )}
      {children}
    </section>
  )
}
