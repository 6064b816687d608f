import { createContext, type ReactNode, useContext, useEffect, useMemo, useState } from 'react'
import { I18nProvider } from 'react-aria-components'
import { IntlProvider } from 'react-intl'
import { preference, setPreference } from './preferences'
import { Skeleton } from './Skeleton'
import { loadTexts, type Messages } from './texts'

export const languages = { en: 'English', tr: 'Türkçe' } as const
export type Language = keyof typeof languages

interface Chosen {
  readonly language: Language
  readonly choose: (language: Language) => void
}

const LanguageContext = createContext<Chosen | undefined>(undefined)

function initialLanguage(): Language {
  const preferred = [preference('language'), ...navigator.languages.map((tag) => tag.split('-')[0])]
  return preferred.find((each): each is Language => each === 'en' || each === 'tr') ?? 'en'
}

/** Dates follow the chosen language only. With the region of the browser, 11/12 would be a different day for each colleague. */
const locales: { readonly [language in Language]: string } = { en: 'en-GB', tr: 'tr-TR' }

/** Provides the language and its texts. Shows the shape of the page until the texts are loaded. */
export function LanguageProvider({ children }: { readonly children: ReactNode }) {
  const [language, setLanguage] = useState(initialLanguage)
  const [loaded, setLoaded] = useState<{ readonly language: Language; readonly messages: Messages }>()
  useEffect(() => {
    let isCurrent = true
    void loadTexts(language).then((messages) => {
      if (!isCurrent) return
      document.documentElement.lang = language
      setLoaded({ language, messages })
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
