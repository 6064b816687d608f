import { asciiDigits } from './typed-text.js'

/**
 * The characters that a displayed text may contain. Rejected are those that are not displayed as they are stored, because they make one
 * account number look like another: control and format characters, blank, private and unassigned ones, halves of surrogate pairs, and marks
 * without a letter or in piles. Exceptions are the joiners (U+200C, U+200D) and the vowel separator (U+180E) where they change the letters
 * next to them, and a variation selector after the ideograph or picture that it varies.
 */

/** The last class has the blank symbols, for which Unicode has no property, and the place of an object that is not in the text. */
const hidden = /[\p{C}\p{Zl}\p{Zp}\p{Default_Ignorable_Code_Point}]|[\u2800\u{1d159}\u{13441}\u{13442}\u{16fe4}\ufffc]/u
  .source

/** The characters of combining class 9, for which regular expressions have no property. A test compares them with the data of Unicode. */
const virama = [
  /[\u094d\u09cd\u0a4d\u0acd\u0b4d\u0bcd\u0c4d\u0ccd\u0d3b\u0d3c\u0d4d\u0dca\u0e3a\u0eba\u0f84\u1039\u103a\u1714\u1715]/u,
  /[\u1734\u17d2\u1a60\u1b44\u1baa\u1bab\u1bf2\u1bf3\u2d7f\ua806\ua82c\ua8c4\ua953\ua9c0\uaaf6\uabed\u{10a3f}\u{11046}]/u,
  /[\u{11070}\u{1107f}\u{110b9}\u{11133}\u{11134}\u{111c0}\u{11235}\u{112ea}\u{1134d}\u{113ce}-\u{113d0}\u{11442}]/u,
  /[\u{114c2}\u{115bf}\u{1163f}\u{116b6}\u{1172b}\u{11839}\u{1193d}\u{1193e}\u{119e0}\u{11a34}\u{11a47}\u{11a99}]/u,
  /[\u{11c3f}\u{11d44}\u{11d45}\u{11d97}\u{11f41}\u{11f42}\u{1612f}]/u,
]
  .map(({ source }) => source)
  .join('|')
const among = (kind: string, scripts: string) =>
  `(?=${kind})[${scripts.replaceAll(/\w+/g, String.raw`\p{Script_Extensions=$&}`).replaceAll(' ', '')}]`
/** The scripts in use today (UAX 31). Browsers that do not know the others could not load this file. */
const cursive = among('\\p{L}', 'Arab Syrc Nkoo Mong Mand Rohg Adlm')
const indic = 'Deva Beng Guru Gujr Orya Taml Telu Knda Mlym Sinh Khmr Mymr Tibt'
const accepted = [
  // RFC 5892, appendix A.1 and A.2: as in Hindi, Malayalam and Sinhala names.
  `(?<=${virama})[\\u200c\\u200d]`,
  // RFC 5892, appendix A.1: as in Persian names, in which people write it after letters that do not join, too.
  `(?<=${cursive}\\p{M}*)\\u200c(?=\\p{M}*${cursive})`,
  // It selects the form of the mark, as in Bengali names.
  `(?<=${among('[\\p{L}\\p{M}]', indic)})[\\u200c\\u200d](?=${among('\\p{M}', indic)})`,
  // As in Mongolian names, before the last vowel.
  '(?<=\\p{Script=Mongolian})\\u180e(?=[\\u1820\\u1821])',
  '(?<=[\\p{Script=Han}\\p{Script=Mongolian}\\p{Extended_Pictographic}])\\p{Variation_Selector}',
].join('|')

/** More than four marks in a row (UTS 39, section 5.4), apart from those of a single script. */
const mark = '(?=\\p{Script=Inherited})[\\p{Mn}\\p{Me}]'
const piled = `(?<=(?:${mark}){4})${mark}`
const rejected = new RegExp(`(?=${hidden})(?!${accepted})[^]|^\\p{M}|${piled}`, 'u')
const allRejected = new RegExp(rejected.source, 'gu')
export const isVisible = (text: string): boolean => !rejected.test(text)

/** Returns the text with escapes such as `\u202e` instead of rejected characters. Other programs can write them to the log. */
export function escapeHidden(text: string): string {
  return text.replace(allRejected, (character) => {
    const units = Array.from({ length: character.length }, (_, n) => character.charCodeAt(n))
    return units.map((unit) => `\\u${unit.toString(16).padStart(4, '0')}`).join('')
  })
}

/**
 * Returns the form in which a text is searched: without case, marks and hidden characters, and with the digits 0 to 9. All Turkish letters i
 * are the same, and so are letters with the same capitals, such as ß and ss.
 */
export function folded(text: string): string {
  // Most texts are plain ASCII. The general case takes ten times as long.
  if (plain.test(text)) return text.toLowerCase()
  const letters = text.normalize('NFKD').replace(whiteSpace, ' ').replace(ignored, '')
  return asciiDigits(letters.toUpperCase().toLowerCase().replaceAll('ς', 'σ'))
}

const plain = /^[\x20-\x7e]*$/
const whiteSpace = /\p{White_Space}/gu
/** Characters from U+E000 are not letters. Without them, the order of UTF-16 (JavaScript) is that of UTF-8 (the stores). */
const ignored = /[\p{M}\p{Cc}\p{Cf}\p{Cs}\ue000-\uffff]/gu

/** Returns a number with its noun, such as `1 event` or `2 events`. */
export function counted(count: number, noun: string): string {
  return `${count} ${count === 1 ? noun : `${noun}s`}`
}
