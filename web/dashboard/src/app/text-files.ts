import { preference } from './preferences'

export const languages = { en: 'English', tr: 'Türkçe' } as const
export type Language = keyof typeof languages

/** Returns the language of the first page: the one chosen in this browser, or else the first that the browser prefers. */
export function initialLanguage(): Language {
  const preferred = [preference('language'), ...navigator.languages.map((tag) => tag.split('-')[0])]
  return preferred.find((each): each is Language => each === 'en' || each === 'tr') ?? 'en'
}

/** The texts of each language: those of the first page, and all others. */
export const textFiles = {
  en: { first: () => import('texts:en-first'), others: () => import('texts:en-others') },
  tr: { first: () => import('texts:tr-first'), others: () => import('texts:tr-others') },
}
