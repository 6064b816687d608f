import { useContext, useMemo } from 'react'
import { useIntl } from 'react-intl'
import { detailWords, fieldWords, itemWords, nameWords, type Words } from '../api/server-words'
import { SessionContext } from '../app/current-session'
import { useKnownText } from '../app/texts'
import { amountsIn } from './amount-format'
import { exactTime } from './Time'

/** The server's sentences in the viewer's language where we have words for them, and with times and amounts as the viewer writes them. */
export function useServerWords() {
  const known = useKnownText()
  const intl = useIntl()
  // Nobody is signed in yet where people sign in.
  const currency = useContext(SessionContext)?.currency
  return useMemo(() => {
    const amounts = currency && amountsIn(intl.locale, currency)
    const inOwnTime = (sentence: string) =>
      sentence.replace(/\b\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:\.\d+)?Z/g, (at) => exactTime(intl, at))
    const nameOf = (name: string) => {
      const words = nameWords(name)
      return (words && known(words.id, words.values)) ?? name
    }
    const inOwnWords = (name: string, value: string) => {
      if (name === 'name') return nameOf(value)
      if (name === 'status') return known(`common.status.${value}`) ?? value
      if (name === 'role') return known(`common.role.${value}`) ?? value
      if (amounts && /^\d+\.\d\d$/.test(value)) return amounts.format(BigInt(value.replace('.', '')))
      return inOwnTime(value)
    }
    const said = ({ id, values }: Words) =>
      known(id, Object.fromEntries(Object.entries(values).map(([name, value]) => [name, inOwnWords(name, value)])))
    const detail = (sentence: string) => {
      const words = detailWords(sentence)?.map(said) ?? [undefined]
      return words.includes(undefined) ? inOwnTime(sentence) : words.join(' ')
    }
    const field = (sentence: string) => {
      const item = itemWords(sentence)
      if (item) return `${item.reference}: ${detail(item.reason)}`
      const words = fieldWords(sentence)
      return (words && said(words)) ?? inOwnTime(sentence)
    }
    return { field, detail, name: nameOf }
  }, [known, intl, currency])
}
