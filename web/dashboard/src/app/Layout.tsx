import { Link, useLocation } from '@tanstack/react-router'
import { type ReactNode, useState } from 'react'
import { Button } from '../components/Button'
import { CommandPalette } from './CommandPalette'
import { useDestinations } from './navigation'
import { PayoutsStopped } from './PayoutsStopped'
import { TopBar } from './TopBar'
import { useText } from './texts'
import './Layout.css'

export function Layout({ children }: { readonly children: ReactNode }) {
  const text = useText()
  const path = useLocation({ select: ({ pathname }) => pathname })
  // The navigation is open for one page only, so that opening another page closes it.
  const [openFor, setOpenFor] = useState<string>()
  const isOpen = openFor === path
  const [isSearching, setSearching] = useState(false)
  return (
    <div className="Layout">
      <a className="Layout-skip" href="#content">
        {text('shell.skip')}
      </a>
      <header className="Layout-top">
        <Button
          look="quiet"
          className="Layout-toggle"
          aria-expanded={isOpen}
          aria-controls="navigation"
          aria-label={text(isOpen ? 'shell.closeNavigation' : 'shell.openNavigation')}
          onPress={() => setOpenFor(isOpen ? undefined : path)}
        >
          <span aria-hidden="true">☰</span>
        </Button>
        <TopBar onSearch={() => setSearching(true)} />
      </header>
      <Navigation isOpen={isOpen} />
      <main id="content" className="Layout-main" tabIndex={-1}>
        <PayoutsStopped />
        {children}
      </main>
      <CommandPalette open={isSearching} onOpenChange={setSearching} />
    </div>
  )
}

function Navigation({ isOpen }: { readonly isOpen: boolean }) {
  const text = useText()
  const destinations = useDestinations()
  return (
    <nav
      id="navigation"
      className={isOpen ? 'Layout-nav Layout-nav-open' : 'Layout-nav'}
      aria-label={text('shell.navigation')}
    >
      <ul>
        {destinations.map(({ to, label }) => (
          <li key={to}>
            <Link to={to} activeOptions={{ exact: to === '/', includeSearch: false }} className="Layout-link">
              {text(label)}
            </Link>
          </li>
        ))}
      </ul>
    </nav>
  )
}
