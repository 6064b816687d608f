import { type ReactNode, useId } from 'react'
import './Card.css'

interface CardProps {
  /** The target of a link within the page. */
  readonly id?: string
  readonly title?: string
  readonly icon?: ReactNode
  readonly actions?: ReactNode
  readonly children: ReactNode
}

export function Card({ id, title, icon, actions, children }: CardProps) {
  const heading = useId()
  return (
    <section className="Card" id={id} aria-labelledby={title === undefined ? undefined : heading}>
      {(title !== undefined || actions) && (
        <div className="Card-head">
          {title !== undefined && (
            <h2 id={heading}>
              {icon}
              {title}
            </h2>
          )}
          {actions && <div className="row screen-only">{actions}</div>}
        </div>
      )}
      {children}
    </section>
  )
}
