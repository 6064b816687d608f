import { hash } from 'node:crypto'
import { erasedText } from '../domain/erased-data.js'
import { sepaText } from '../domain/sepa-text.js'
import { plainAccountNumber } from '../kernel/account-number.js'
import { parseIban } from '../kernel/iban.js'
import { folded } from '../kernel/text.js'
import { isStoredUuid, storedUuid } from '../kernel/uuid.js'

/** The texts from which {@link transferWords} derives, apart from the JSON text `metadata`. */
export const searchedFields = ['referenceId', 'userId', 'name', 'accountNumber', 'bankFiles'] as const

type Searched = { readonly [field in (typeof searchedFields)[number] | 'metadata']?: string | null }

const maxCharacters = 60
/** The first words of all values of a transfer's metadata. More would take more space than the transfer. */
const maxMetadataWords = 50
const lettersAndDigits = /[\p{L}\p{N}]+/gu
/** {@link folded} drops the characters from U+E000. */
const symbols = /(?:[^\p{L}\p{N}]|[\ue000-\uffff])*/uy
/** Some of them stand for letters, which are separate words: № is No. */
const otherSymbol = /(?!\p{ASCII})[\p{S}\p{P}]/gu
const hidden = /[\p{White_Space}\p{Cc}\p{Cf}\p{Cs}]/gu

/**
 * Returns the words by which a transfer is found: the {@link textWords} of its texts, of the forms in which a bank file and a bank statement
 * have them, the ids of the bank files that contain it, and a {@link metadataWord} for each text of its metadata.
 */
export function transferWords(document: Searched): readonly string[] {
  const { referenceId, userId, name, accountNumber, bankFiles } = document
  const words = new Set<string>()
  const add = (text: string) => {
    for (const word of textWords(text)) words.add(word)
  }
  for (const text of [name, referenceId, userId, accountNumber]) if (text && text !== erasedText) add(text)
  if (accountNumber && accountNumber !== erasedText) {
    add(plainAccountNumber(accountNumber))
    // Of ASCII texts, a payment has all letters and digits.
    for (const text of [name, referenceId])
      if (text && text !== erasedText && !ascii.test(text)) add(sepaText(text, Number.POSITIVE_INFINITY) ?? '')
  }
  for (const id of bankFiles?.split(' ') ?? []) if (id !== '') words.add(id)
  if (document.metadata) addMetadata(words, metadataOf(document))
  return [...words]
}

/** Returns the metadata of a document. */
export function metadataOf({ metadata }: Pick<Searched, 'metadata'>): { readonly [key: string]: string } {
  return metadata ? JSON.parse(metadata) : {}
}

function addMetadata(words: Set<string>, metadata: { readonly [key: string]: string }): void {
  const entries = Object.entries(metadata)
  for (const word of entries.flatMap(([, value]) => textWords(value)).slice(0, maxMetadataWords)) words.add(word)
  for (const [key, value] of entries) words.add(metadataWord(key, value))
}

/** Returns the word by which a transfer is found that has exactly this text under this key. */
export function metadataWord(key: string, value: string): string {
  return `=${hash('sha256', JSON.stringify([key, value])).slice(0, 32)}`
}

const startsWithWord = /^[A-Za-z0-9]/
const ascii = /^[\x20-\x7e]*$/

/**
 * Returns the words of a text: from each of its letters or digits that follows another character, all letters and digits up to its end. So
 * any part of the text that starts there is a prefix of a word, with whatever between. A UUID is one word. The characters before the first
 * letter are a word as well, because a reference may consist of nothing else. {@link queriedWords} splits a query in the same way.
 */
export function textWords(text: string): readonly string[] {
  const form = formOf(text)
  if (isStoredUuid(form)) return [form.replaceAll('-', '')]
  const parts = form.match(lettersAndDigits) ?? []
  const words: string[] = []
  for (let [n, rest] = [parts.length - 1, '']; n >= 0; n--) {
    rest = parts[n]! + rest
    words.push(shortened(rest))
  }
  words.reverse()
  const before = startsWithWord.test(text) ? '' : symbolsBefore(text)
  return before === '' ? words : [...words, before]
}

const formOf = (text: string) => folded(ascii.test(text) ? text : text.replaceAll(otherSymbol, '-$&-')).trim()

/** Returns the code points before the first letter or digit, because {@link folded} drops marks, of which a symbol such as ¨ consists. */
function symbolsBefore(text: string): string {
  symbols.lastIndex = 0
  const shown = symbols.exec(text.normalize('NFKD'))![0].replaceAll(hidden, '')
  if (shown === '') return ''
  return shortened(`#${Array.from(shown, (each) => each.codePointAt(0)!.toString(16).padStart(6, '0')).join('')}`)
}

function shortened(word: string): string {
  // A text never has more characters than UTF-16 units.
  return word.length <= maxCharacters ? word : Array.from(word).slice(0, maxCharacters).join('')
}

/** Returns the word as which a whole userId is found. */
export function wholeWord(text: string): string {
  return textWords(text)[0] ?? ''
}

/** People write several words with these characters between them. */
const betweenWords = /[\s,;]+/
const digitGroups = /^\d+( \d+)+$/
/** The beginning of an IBAN in groups of four characters. */
const ibanGroups = /^[a-z]{2}\d\d( [a-z\d]{4})*( [a-z\d]{1,4})?$/

/**
 * Returns the prefixes of words that a transfer must all have to be found by a text: several readings of it, the likeliest first, and none if
 * the text has no visible characters. An account number or a UUID in groups is one word. Its beginning can also be several words, such as a
 * reference and a name: `TR12 Ada`.
 */
export function queriedWords(text: string): readonly (readonly string[])[] {
  const query = formOf(text)
  const several = wordsOf(query.split(betweenWords))
  if (several.length === 0) {
    const only = symbolsBefore(text)
    return only === '' ? [] : [[only]]
  }
  const whole = parseIban(text) ?? storedUuid(text)
  if (whole !== text) return [[wholeWord(whole)], several]
  const isOne = several.length > 1 && (ibanGroups.test(query) || digitGroups.test(query))
  return isOne ? [wordsOf([query]), several] : [several]
}

function wordsOf(parts: readonly string[]): readonly string[] {
  const words = parts.map((part) => shortened((part.match(lettersAndDigits) ?? []).join('')))
  return [...new Set(words)].filter((word) => word !== '')
}
