import { useMemo } from 'react'
import { useIntl } from 'react-intl'
import { detailWords, fieldWords } from '../api/server-words'
import { useKnownText } from '../app/texts'
import { exactTime } from './Time'

/** The server's sentences in the viewer's language where we have words for them, and with times as the viewer's own clock shows them. */
export function useServerWords() {
  const known = useKnownText()
  const intl = useIntl()
  return useMemo(() => {
    const inOwnTime = (sentence: string) =>
      sentence.replace(/\b\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:\.\d+)?Z/g, (at) => exactTime(intl, at))
    const said = (words: ReturnType<typeof fieldWords>, sentence: string) => {
      if (!words) return inOwnTime(sentence)
      const values = Object.entries(words.values).map(([name, value]) => [name, inOwnTime(value)])
      return known(words.id, Object.fromEntries(values)) ?? inOwnTime(sentence)
    }
    return {
      field: (sentence: string) => said(fieldWords(sentence), sentence),
      detail: (sentence: string) => said(detailWords(sentence), sentence),
    }
  }, [known, intl])
}
