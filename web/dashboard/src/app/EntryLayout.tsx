import type { ReactNode } from 'react'
import { LanguageChoice } from './LanguageChoice'
import { useText } from './texts'
import './EntryLayout.css'

/** The layout before the pages: sign-in and the choice of the first password. */
export function EntryLayout({ children }: { readonly children: ReactNode }) {
  const text = useText()
  return (
    <main className="EntryLayout">
      <div className="EntryLayout-card">
        <p className="EntryLayout-name">{text('shell.product')}</p>
        {children}
      </div>
      <LanguageChoice />
    </main>
  )
}
