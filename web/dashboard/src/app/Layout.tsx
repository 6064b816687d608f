import { useQueryClient } from '@tanstack/react-query'
import { useLocation } from '@tanstack/react-router'
import { type ReactNode, Suspense, useEffect, useRef, useState } from 'react'
import { lazyPart, loadOtherParts } from './lazy-page'
import { PageNotices } from './PageNotices'
import { PhoneTabs } from './PhoneTabs'
import { SideBar } from './SideBar'
import { TopBar } from './TopBar'
import { useText } from './texts'
import './Layout.css'

const CommandPalette = lazyPart(async () => (await import('./CommandPalette')).CommandPalette)

export function Layout({ children }: { readonly children: ReactNode }) {
  const text = useText()
  const path = useLocation({ select: ({ pathname }) => pathname })
  // The navigation is open for one page only, so that opening another page closes it.
  const [openFor, setOpenFor] = useState<string>()
  const isOpen = openFor === path
  // The text typed into the palette; undefined while it is closed.
  const [typed, setTyped] = useState<string>()
  const hasPalette = typed !== undefined
  useEffect(() => {
    const onKeyDown = (event: KeyboardEvent) => {
      if (event.key.toLowerCase() !== 'k' || !(event.ctrlKey || event.metaKey) || event.altKey || event.shiftKey) return
      event.preventDefault()
      setTyped(hasPalette ? undefined : '')
    }
    document.addEventListener('keydown', onKeyDown)
    return () => document.removeEventListener('keydown', onKeyDown)
  }, [hasPalette])
  return (
    <div className="Layout">
      <a className="Layout-skip" href="#content">
        {text('shell.skip')}
      </a>
      <SideBar isOpen={isOpen} close={() => setOpenFor(undefined)} />
      <div className="Layout-page">
        <TopBar onSearch={() => setTyped('')} />
        <main id="content" className="Layout-main" tabIndex={-1}>
          <PageNotices />
          {children}
        </main>
      </div>
      <PhoneTabs isOpen={isOpen} onToggle={() => setOpenFor(isOpen ? undefined : path)} />
      <OtherParts />
      {hasPalette && (
        <Suspense fallback={<EarlyInput typed={typed} onType={setTyped} />}>
          <CommandPalette typed={typed} onType={setTyped} close={() => setTyped(undefined)} />
        </Suspense>
      )}
    </div>
  )
}

/** Loads what the first page does not need, once that page has its data. */
function OtherParts() {
  const queries = useQueryClient()
  useEffect(() => {
    const load = () => {
      if (queries.isFetching() === 0) loadOtherParts()
    }
    load()
    return queries.getQueryCache().subscribe(load)
  }, [queries])
  return null
}

interface EarlyInputProps {
  readonly typed: string
  readonly onType: (typed: string) => void
}

/** Receives the keys until the palette is loaded. Otherwise, they would be shortcuts of the page. */
function EarlyInput({ typed, onType }: EarlyInputProps) {
  const text = useText()
  const ref = useRef<HTMLInputElement>(null)
  useEffect(() => ref.current?.focus(), [])
  return (
    <input
      ref={ref}
      className="visually-hidden"
      aria-label={text('shell.palette')}
      value={typed}
      onChange={({ target }) => onType(target.value)}
    />
  )
}
