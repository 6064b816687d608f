/**
 * The text of SEPA payments. Banks accept only these Latin characters from everyone, and replace or reject others. Letters are converted as
 * the conversion table of the European Payments Council does (EPC217-08): to their basic letter, Greek and Cyrillic to Latin letters. Letters
 * that the table does not list lose their marks. A full stop replaces every other character.
 */

/** Each character, followed by its conversion. */
const table =
  'ÆA æa ÐD ðd ĐD đd ĦH ħh ıi ĸk ŁL łl ŊN ŋn ØO øo ŒO œo ßs ẞS ŦT ŧt ÞTH þth ƏA əa ' +
  'ΑA ΒV ΓG ΔD ΕE ΖZ ΗI ΘTH ΙI ΚK ΛL ΜM ΝN ΞX ΟO ΠP ΡR ΣS ΤT ΥY ΦF ΧCH ΨPS ΩO ' +
  'αa βv γg δd εe ζz ηi θth ιi κk λl μm νn ξx οo πp ρr ςs σs τt υy φf χch ψps ωo ' +
  'АA БB ВV ГG ДD ЕE ЖZH ЗZ ИI ЙY КK ЛL МM НN ОO ПP РR СS ТT УU ФF ХH ЦTS ЧCH ШSH ЩSHT ЪA ЫY ЬY ЭE ЮYU ЯYA ' +
  'аa бb вv гg дd еe жzh зz иi йy кk лl мm нn оo пp рr сs тt уu фf хh цts чch шsh щsht ъa ыy ьy эe юyu яya ' +
  "€E &+ ;, ¿? [( ]) {( }) \\/ |/ _- ~- ‐- ‑- –- —- `' ´' ‘' ’' ʼ'"
const conversions = new Map(table.split(' ').map((pair) => [pair[0], pair.slice(1)]))

/**
 * Returns the text in SEPA characters, with at most this many of them, or `undefined` if no letter or digit is left. Banks reject an empty
 * text, and punctuation alone means nothing to the person who reads it.
 */
export function sepaText(text: string, maxLength: number): string | undefined {
  const converted = Array.from(text.normalize('NFC'), convert).join('')
  const fitting = converted.replaceAll(/ +/g, ' ').trim().slice(0, maxLength).trimEnd()
  return /[A-Za-z0-9]/.test(fitting) ? fitting : undefined
}

function convert(character: string): string {
  if (/[A-Za-z0-9/\-?:().,'+ ]/.test(character)) return character
  if (/\s/.test(character)) return ' '
  const known = conversions.get(character)
  if (known !== undefined) return known
  const parts = character.normalize('NFKD').replaceAll(/\p{M}/gu, '')
  return parts === character ? '.' : Array.from(parts, convert).join('')
}

/** Returns the name of a payer or payee, or `undefined` if nothing is left of it by which a bank can know the person. */
export const sepaName = (name: string): string | undefined => sepaText(name, 70)
