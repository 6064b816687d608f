import { erasedText } from '../domain/erased-data.js'
import { folded } from '../kernel/text.js'

/** The fields from which {@link transferWords} derives. */
export const searchedFields = ['referenceId', 'userId', 'name', 'accountNumber'] as const

type Searched = { readonly [field in (typeof searchedFields)[number]]?: string | null }

const maxCharacters = 60
const uuid = /^[\da-f]{8}(-[\da-f]{4}){3}-[\da-f]{12}$/
/** The beginning of an IBAN in groups of four characters. */
const iban = /^[a-z]{2}\d\d( [a-z\d]{4})*( [a-z\d]{1,4})?$/
const separators = /[^\p{L}\p{N}]+/u
const aroundWord = /^[^\p{L}\p{N}]+|[^\p{L}\p{N}]+$/gu

/**
 * Returns the words by which a transfer is found: the words of its name, its other texts without spaces, and the letters and digits between
 * other characters within all of them. A UUID has no words within it.
 */
export function transferWords({
  referenceId = '',
  userId = '',
  name = '',
  accountNumber = '',
}: Searched): readonly string[] {
  const words = new Set<string>()
  for (const word of name === erasedText ? [] : folded(name ?? '').split(' ')) addWords(words, word)
  for (const text of [referenceId, userId, accountNumber]) if (text !== erasedText) addWords(words, folded(text ?? ''))
  words.delete('')
  return [...words]
}

function addWords(words: Set<string>, text: string): void {
  const whole = shortened(text)
  words.add(whole)
  if (uuid.test(text)) return
  const parts = text.split(separators)
  // The first part is found by a prefix of the whole word.
  for (let n = whole.startsWith(parts[0]!) && parts[0] !== '' ? 1 : 0; n < parts.length; n++)
    words.add(shortened(parts[n]!))
}

function shortened(text: string): string {
  const word = text.replaceAll(' ', '')
  // A text never has more characters than UTF-16 units.
  return word.length <= maxCharacters ? word : Array.from(word).slice(0, maxCharacters).join('')
}

/** Returns the word as which a whole userId, referenceId or account number is found. */
export function wholeWord(text: string): string {
  return shortened(folded(text))
}

/** Returns the prefixes of words that a transfer must all have to be found by a text; none if the text has no visible characters. */
export function queriedWords(text: string): readonly string[] {
  const query = folded(text).trim()
  const parts = iban.test(query) ? [query] : query.split(' ')
  const words = parts.map((part) => shortened(part.replace(aroundWord, '') || part))
  return [...new Set(words)].filter((word) => word !== '')
}
