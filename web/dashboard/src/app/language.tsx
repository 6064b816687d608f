import { createContext, type ReactNode, useContext, useEffect, useMemo, useState } from 'react'
import { I18nProvider } from 'react-aria-components/I18nProvider'
import { IntlProvider } from 'react-intl'
import { hasAllTexts, noteAllTexts } from './all-texts'
import { loadWhenConnected } from './lazy-page'
import { setPreference } from './preferences'
import { Skeleton } from './Skeleton'
import { initialLanguage, type Language } from './text-files'
import { loadTexts, type Messages } from './texts'

interface Chosen {
  readonly language: Language
  readonly choose: (language: Language) => void
}

const LanguageContext = createContext<Chosen | undefined>(undefined)

/** Dates follow the chosen language only. With the region of the browser, 11/12 would be a different day for each colleague. */
const locales: { readonly [language in Language]: string } = { en: 'en-GB', tr: 'tr-TR' }

/** Provides the language and its texts. Shows the shape of the page until the texts are loaded. */
export function LanguageProvider({ children }: { readonly children: ReactNode }) {
  const [language, setLanguage] = useState(initialLanguage)
  const [loaded, setLoaded] = useState<{ readonly language: Language; readonly messages: Messages }>()
  useEffect(() => {
    let isCurrent = true
    const first = loadWhenConnected(() => loadTexts(language, 'first'))
    const show = (messages: Messages) => {
      if (!isCurrent) return
      document.documentElement.lang = language
      setLoaded({ language, messages })
    }
    // Only the first page is shown without the other texts.
    if (!hasAllTexts()) void first.then(show)
    void Promise.all([first, loadWhenConnected(() => loadTexts(language, 'others'))]).then(([some, others]) => {
      show({ ...some, ...others })
      noteAllTexts()
    })
    return () => {
      isCurrent = false
    }
  }, [language])
  const chosen = useMemo(() => {
    const choose = (next: Language) => {
      setPreference('language', next)
      setLanguage(next)
    }
    return { language: loaded?.language ?? language, choose }
  }, [language, loaded])
  if (!loaded) return <Skeleton />
  const locale = locales[loaded.language]
  return (
    <LanguageContext value={chosen}>
      <I18nProvider locale={locale}>
        <IntlProvider locale={locale} messages={loaded.messages}>
          {children}
        </IntlProvider>
      </I18nProvider>
    </LanguageContext>
  )
}

export function useChosenLanguage(): Chosen {
  const chosen = useContext(LanguageContext)
  if (!chosen) throw new Error('useChosenLanguage was called outside of a LanguageProvider')
  return chosen
}

export function useLanguage(): Language {
  return useChosenLanguage().language
}
