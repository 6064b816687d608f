import { useRouterState } from '@tanstack/react-router'
import { type ReactNode, useEffect, useRef } from 'react'
import { setPageTitle, useDocumentTitle } from '../app/page-title'
import './Page.css'

interface PageProps {
  readonly title: string
  /** Shown next to the heading, such as a live badge. */
  readonly badge?: ReactNode
  readonly actions?: ReactNode
  readonly children: ReactNode
}

/** The path shown last. When another page opens, the focus moves to its heading, so that screen readers announce it. */
let shownPath: string | undefined

export function Page({ title, badge, actions, children }: PageProps) {
  const heading = useRef<HTMLHeadingElement>(null)
  // The resolved location: while the next page is being fetched, the previous page is still shown.
  const path = useRouterState({ select: ({ resolvedLocation }) => resolvedLocation?.pathname })
  useDocumentTitle(title)
  useEffect(() => setPageTitle(title), [title])
  useEffect(() => {
    if (path === undefined) return
    if (shownPath !== undefined && shownPath !== path) heading.current?.focus({ preventScroll: true })
    shownPath = path
  }, [path])
  return (
    <div className="Page">
      <div className="Page-head">
        <div className={badge ? 'row Page-badge' : 'row'}>
          <h1 ref={heading} tabIndex={-1}>
            {title}
          </h1>
          {badge}
        </div>
        {actions && <div className="Page-actions">{actions}</div>}
      </div>
      {children}
    </div>
  )
}
