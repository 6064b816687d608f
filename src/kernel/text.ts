/**
 * The characters that a displayed text may contain. Rejected are those that are not displayed as they are stored, because they make one
 * account number look like another: control characters, marks that change the text direction, characters without a width, and halves of
 * surrogate pairs. Exceptions are the two joiners (U+200C, U+200D) between letters of a script that joins letters, as in Persian and Hindi
 * names, and a variation selector after the ideograph or picture that it varies.
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
const rejected = new RegExp(`(?=${hidden})(?!${joiner}|${selector})[^]`, 'u')
const allRejected = new RegExp(rejected.source, 'gu')
export const isVisible = (text: string): boolean => !rejected.test(text)

/** Returns the text with escapes such as `\u202e` instead of rejected characters. Other programs can write them to the log. */
export function escapeHidden(text: string): string {
  return text.replace(allRejected, (character) => {
    const units = Array.from({ length: character.length }, (_, n) => character.charCodeAt(n))
    return units.map((unit) => `\\u${unit.toString(16).padStart(4, '0')}`).join('')
  })
}

/** Returns the form in which a text is searched: without case, marks and hidden characters, and with the digits 0 to 9. All Turkish letters i are the same. */
export function folded(text: string): string {
  // Most texts are plain ASCII. The general case takes ten times as long.
  if (plain.test(text)) return text.toLowerCase()
  const spaced = text.normalize('NFKD').toLowerCase().replace(whiteSpace, ' ')
  return asciiDigits(spaced.replace(ignored, '').replaceAll('ı', 'i').replaceAll('ς', 'σ'))
}

const plain = /^[\x20-\x7e]*$/
const whiteSpace = /\p{White_Space}/gu
/** Characters from U+E000 are not letters. Without them, the order of UTF-16 (JavaScript) is that of UTF-8 (the stores). */
const ignored = /[\p{M}\p{Cc}\p{Cf}\p{Cs}\ue000-\uffff]/gu

/** Returns the text with the digits of other scripts as 0 to 9. */
export function asciiDigits(text: string): string {
  return text.replaceAll(otherDigits, (digit) => String(digitOf(digit.codePointAt(0)!)))
}

const otherDigits = /(?![0-9])\p{Nd}/gu
const isDigit = (codePoint: number) => /^\p{Nd}$/u.test(String.fromCodePoint(codePoint))

/** The digits of a script are ten characters in a row. */
function digitOf(codePoint: number): number {
  let before = 0
  while (isDigit(codePoint - before - 1)) before++
  return before % 10
}
