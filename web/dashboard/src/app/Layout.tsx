import { useLocation } from '@tanstack/react-router'
import { type ReactNode, useState } from 'react'
import { CommandPalette } from './CommandPalette'
import { PageNotices } from './PageNotices'
import { PhoneTabs } from './PhoneTabs'
import { SideBar } from './SideBar'
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
      <SideBar isOpen={isOpen} close={() => setOpenFor(undefined)} />
      <div className="Layout-page">
        <TopBar onSearch={() => setSearching(true)} />
        <main id="content" className="Layout-main" tabIndex={-1}>
          <PageNotices />
          {children}
        </main>
      </div>
      <PhoneTabs isOpen={isOpen} onToggle={() => setOpenFor(isOpen ? undefined : path)} />
      <CommandPalette open={isSearching} onOpenChange={setSearching} />
    </div>
  )
}
