// The forms in which people type and paste a value, cleaned before its length and pattern are checked. The pages and the server use the same
// functions, so they accept the same forms. Passwords are never cleaned, nor are the amounts and texts that programs send.

/** A copied text contains these marks without showing them. */
const unseen = /[\p{Cf}\p{Default_Ignorable_Code_Point}]/gu

/**
 * Returns a text without the invisible marks and the spaces at its ends. A joiner or a variation selector is kept after a letter that it may
 * change; src/kernel/text.ts has the exact rules.
 */
export function typedText(text: string): string {
  return text
    .replaceAll(/\r\n?/g, '\n')
    .replaceAll(/[\t\v\f\u2028\u2029]/g, ' ')
    .replaceAll(
      /(?!\n|[\u180e\u200c\u200d]|\p{Variation_Selector})[\p{Cc}\p{Cf}\p{Default_Ignorable_Code_Point}]/gu,
      '',
    )
    .replaceAll(/(^|[\0-\u024f])[\u180e\u200c\u200d]+/g, '$1')
    .trim()
}

/** Returns a code without what separates its groups, in lower case: `487583` for `487 583`, `487-583` and `４８７５８３`. */
export function typedCode(text: string): string {
  return asciiDigits(text.normalize('NFKC'))
    .replaceAll(/[^\p{L}\p{N}]/gu, '')
    .toLowerCase()
}

/** Returns the ASCII form of a number, without spaces. */
export function typedNumber(text: string): string {
  return asciiDigits(text).replaceAll(unseen, '').replaceAll(/\s/g, '')
}

/**
 * Returns an email address without the spaces, brackets, `mailto:` and invisible marks with which it is copied. An address in ASCII keeps all
 * its characters, so that two addresses never become the same. A name before the address is kept, because it may contain a different address.
 */
export function typedEmail(text: string): string {
  const plain = text
    .replaceAll(unseen, '')
    .replaceAll(/[\uff01-\uff5e]/g, (character) => String.fromCharCode(character.charCodeAt(0) - 0xfee0))
    .replaceAll(/[\u3002\uff61]/g, '.')
    .trim()
  const [, bracketed = plain] = /^<([^<>]*)>$/.exec(plain) ?? []
  return bracketed.trim().replace(/^mailto:/i, '')
}

/** The most characters of a text that is searched. It is longer than the texts that it finds, because a bank prints several letters for one. */
export const maxSearchedLength = 256

interface Separators {
  /** The separator of thousands, or `undefined` if the text's language is unknown. */
  readonly group?: string | undefined
  readonly decimal: string
}

/**
 * Returns an amount as decimal text such as `1234.50`, or `undefined` if the text is not an amount or could be two. Thousands are separated
 * as in the language, by spaces, or by apostrophes, and only in groups of three, so that 100.50 in Turkish is never ten thousand.
 */
export function typedAmount(text: string, { group = '', decimal }: Separators): string | undefined {
  const typed = asciiDigits(text)
    .replaceAll(unseen, '')
    .trim()
    .replaceAll(/\s/g, ' ')
    .replaceAll(/[’ʼ＇]/g, "'")
    .replaceAll('．', '.')
    .replaceAll('，', ',')
  // The Arabic separators are unambiguous, but not together with others.
  if (/[٫٬]/.test(typed) && /[.,]/.test(typed)) return undefined
  const plain = typed.replace('٫', decimal).replaceAll('٬', "'")
  for (const separator of [' ', "'", group.trim()]) {
    if (separator === '') continue
    const points = [decimal, '.'].filter((point) => point !== separator).join('')
    const thousands = new RegExp(`^([1-9]\\d{0,2}(?:[${separator}]\\d{3})+)(?:[${points}](\\d+))?$`).exec(plain)
    if (thousands) return decimalText(thousands[1]!.replaceAll(separator, ''), thousands[2])
  }
  const [, whole, fraction] = new RegExp(`^(\\d+)(?:[${decimal}.](\\d+))?$`).exec(plain) ?? []
  return whole === undefined ? undefined : decimalText(whole, fraction)
}

const decimalText = (whole: string, fraction: string | undefined) =>
  fraction === undefined ? whole : `${whole}.${fraction}`

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

/** The keyword of a schema for a value that people type: its kind. A body's value is cleaned before the rest of the schema is checked. */
export const typedAs = 'x-typed-as'
export const typedForms = { code: typedCode, email: typedEmail } as const
