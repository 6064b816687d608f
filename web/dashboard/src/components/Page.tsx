import { useRouterState } from '@tanstack/react-router'
import { type ReactNode, useEffect, useRef } from 'react'
import { useText } from '../app/texts'
import './Page.css'

interface PageProps {
  readonly title: string
  /** Beside the heading, such as the mark of a status. */
  readonly mark?: ReactNode
  readonly actions?: ReactNode
  readonly children: ReactNode
}

/** The path that was shown last: whoever comes from elsewhere in the pages is told where they are, by the focus on the heading. */
let shownPath: string | undefined

export function Page({ title, mark, actions, children }: PageProps) {
  const text = useText()
  const heading = useRef<HTMLHeadingElement>(null)
  // The address where the pages have arrived: while the next page is fetched, the one before is still here.
  const path = useRouterState({ select: ({ resolvedLocation }) => resolvedLocation?.pathname })
  const documentTitle = text('shell.titleOf', { page: title })
  useEffect(() => {
    document.title = documentTitle
  }, [documentTitle])
  useEffect(() => {
    if (path === undefined) return
    if (shownPath !== undefined && shownPath !== path) heading.current?.focus()
    shownPath = path
  }, [path])
  return (
    <div className="Page">
      <div className="Page-head">
        <div className="row">
          <h1 ref={heading} tabIndex={-1}>
            {title}
          </h1>
          {mark}
        </div>
        {actions && <div className="Page-actions">{actions}</div>}
      </div>
      {children}
    </div>
  )
}
