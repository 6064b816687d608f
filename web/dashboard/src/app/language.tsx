import { createContext, type ReactNode, useContext, useEffect, useMemo, useState } from 'react'
import { I18nProvider } from 'react-aria-components'
import { IntlProvider } from 'react-intl'
import { preference, setPreference } from './preferences'
import { loadTexts, type Messages } from './texts'

export const languages = { en: 'English', tr: 'Türkçe' } as const
export type Language = keyof typeof languages

interface Chosen {
  readonly language: Language
  readonly choose: (language: Language) => void
}

const LanguageContext = createContext<Chosen | undefined>(undefined)

function initialLanguage(): Language {
  const wanted = [preference('language'), ...navigator.languages.map((tag) => tag.split('-')[0])]
  return wanted.find((each): each is Language => each === 'en' || each === 'tr') ?? 'en'
}

/** With the viewer's own region where they have one: it decides how dates are written. */
function localeOf(language: Language): string {
  const own = navigator.languages.find((tag) => tag.startsWith(`${language}-`))
  return own ?? (language === 'en' ? 'en-GB' : 'tr-TR')
}

/** Shows nothing until the texts are there. */
export function LanguageProvider({ children }: { readonly children: ReactNode }) {
  const [language, setLanguage] = useState(initialLanguage)
  const [loaded, setLoaded] = useState<{ readonly language: Language; readonly messages: Messages }>()
  useEffect(() => {
    let isWanted = true
    void loadTexts(language).then((messages) => {
      if (!isWanted) return
      document.documentElement.lang = language
      setLoaded({ language, messages })
    })
    return () => {
      isWanted = false
    }
  }, [language])
  const chosen = useMemo(() => {
    const choose = (next: Language) => {
      setPreference('language', next)
      setLanguage(next)
    }
    return { language: loaded?.language ?? language, choose }
  }, [language, loaded])
  if (!loaded) return null
  const locale = localeOf(loaded.language)
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
  if (!chosen) throw new Error('no language around this component')
  return chosen
}

export function useLanguage(): Language {
  return useChosenLanguage().language
}
