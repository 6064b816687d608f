/**
 * What a text may hold that reaches a person's screen: the names, ids and references that merchants send, and what operators type.
 *
 * Refused is what is not seen as it is stored: control characters, marks that turn the direction of what follows, characters
 * without a width, halves of surrogate pairs. They make one account number look like another. The two joiners (U+200C, U+200D)
 * shape letters where letters are joined, as in Persian and Hindi names: they are taken between two letters of such a script and
 * nowhere else. A variation selector is taken behind the ideograph or the picture that it varies.
 */

const hidden = '[\\p{Cc}\\p{Cf}\\p{Cs}\\p{Zl}\\p{Zp}\\p{Default_Ignorable_Code_Point}]'

const joiningScripts = [
  ...['Arabic', 'Syriac', 'Nko', 'Mongolian', 'Devanagari', 'Bengali', 'Gurmukhi', 'Gujarati', 'Oriya'],
  ...['Tamil', 'Telugu', 'Kannada', 'Malayalam', 'Sinhala', 'Khmer', 'Myanmar', 'Tibetan'],
]
const joined = `(?!\\p{N})[${joiningScripts.map((script) => `\\p{Script=${script}}`).join('')}]`
const joiner = `(?<=${joined})[\\u200c\\u200d](?=${joined})`
const varied = '[\\p{Script=Han}\\p{Script=Mongolian}\\p{Extended_Pictographic}]'
const selector = `(?<=${varied})\\p{Variation_Selector}`

const refused = new RegExp(`(?=${hidden})(?!${joiner}|${selector})[^]`, 'u')
const allRefused = new RegExp(refused.source, 'gu')

/** The end of a sentence about a text that {@link isVisible} refuses. */
export const hiddenCharacters = 'must have no control, invisible or direction-changing characters'

export function isVisible(text: string): boolean {
  return !refused.test(text)
}

/** The same text with what is refused written out, as in `\u202e`: for texts that were stored before it was. */
export function escapeHidden(text: string): string {
  return text.replace(allRefused, (character) => {
    const units = Array.from({ length: character.length }, (_, n) => character.charCodeAt(n))
    return units.map((unit) => `\\u${unit.toString(16).padStart(4, '0')}`).join('')
  })
}

/**
 * A text as it is searched by: without case, marks, spaces and what is not seen. The four Turkish letters i become one, since
 * nobody who types `isik` knows which of them IŞIK was stored with.
 */
export function searchable(text: string): string {
  // Most texts are; the way of all others takes ten times as long.
  if (plain.test(text)) return text.toLowerCase().replaceAll(' ', '')
  return text.normalize('NFKD').toLowerCase().replace(unsearched, '').replaceAll('ı', 'i').replaceAll('ς', 'σ')
}

const plain = /^[\x20-\x7e]*$/
/** Also what is left above U+E000, no letters: without them the order of UTF-16, JavaScript's, is that of UTF-8, the stores'. */
const unsearched = /[\p{M}\p{White_Space}\p{Cc}\p{Cf}\p{Cs}\ue000-\uffff]/gu
