import { ArrowLeftRight } from 'lucide-react'
import type { ReactNode } from 'react'
import { LanguageChoice } from './LanguageChoice'
import { useText } from './texts'
import './SideBar.css'
import './EntryLayout.css'

/** The layout before the pages: sign-in and the choice of the first password. */
export function EntryLayout({ children }: { readonly children: ReactNode }) {
  const text = useText()
  return (
    <main className="EntryLayout">
      <div className="EntryLayout-card">
        <p className="SideBar-brand EntryLayout-name">
          <ArrowLeftRight className="SideBar-logo" />
          {text('shell.product')}
        </p>
        {children}
      </div>
      <LanguageChoice />
    </main>
  )
}
