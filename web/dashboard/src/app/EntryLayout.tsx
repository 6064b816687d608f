import type { ReactNode } from 'react'
import { LanguageChoice } from './LanguageChoice'
import { useText } from './texts'
import './EntryLayout.css'

/** What is seen before the pages: signing in, and choosing the first password. */
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
