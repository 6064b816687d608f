import type { ReactNode } from 'react'
import { LanguageChoice } from './LanguageChoice'
import { useText } from './texts'
import './Door.css'

/** What is seen before the pages: signing in, and choosing the first password. */
export function Door({ children }: { readonly children: ReactNode }) {
  const text = useText()
  return (
    <main className="Door">
      <div className="Door-card">
        <p className="Door-name">{text('shell.product')}</p>
        {children}
      </div>
      <LanguageChoice />
    </main>
  )
}
