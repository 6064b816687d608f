/**
 * The text of SEPA payments. Banks accept only these Latin characters from everyone, and replace or reject others. Letters are converted as
 * the conversion table of the European Payments Council does (EPC217-08): to their basic letter, Greek and Cyrillic to Latin letters. Letters
 * that the table does not list lose their marks. A full stop replaces every other character.
 */

const conversions = new Map(
  [
    ...['Æ A', 'æ a', 'Ð D', 'ð d', 'Đ D', 'đ d', 'Ħ H', 'ħ h', 'ı i', 'ĸ k', 'Ł L', 'ł l', 'Ŋ N', 'ŋ n', 'Ø O', 'ø o'],
    ...[
      'Œ O',
      'œ o',
      'ß s',
      'ẞ S',
      'Ŧ T',
      'ŧ t',
      'Þ TH',
      'þ th',
      'Ə A',
      'ə a',
      '€ E',
      '& +',
      '; ,',
      '¿ ?',
      '[ (',
      '] )',
    ],
    ...['{ (', '} )', '\\ /', '| /', '_ -', '~ -', '‐ -', '‑ -', '– -', '— -', "` '", "´ '", "‘ '", "’ '", "ʼ '"],
    ...[
      'Α A',
      'Β V',
      'Γ G',
      'Δ D',
      'Ε E',
      'Ζ Z',
      'Η I',
      'Θ TH',
      'Ι I',
      'Κ K',
      'Λ L',
      'Μ M',
      'Ν N',
      'Ξ X',
      'Ο O',
      'Π P',
    ],
    ...[
      'Ρ R',
      'Σ S',
      'Τ T',
      'Υ Y',
      'Φ F',
      'Χ CH',
      'Ψ PS',
      'Ω O',
      'α a',
      'β v',
      'γ g',
      'δ d',
      'ε e',
      'ζ z',
      'η i',
      'θ th',
    ],
    ...[
      'ι i',
      'κ k',
      'λ l',
      'μ m',
      'ν n',
      'ξ x',
      'ο o',
      'π p',
      'ρ r',
      'ς s',
      'σ s',
      'τ t',
      'υ y',
      'φ f',
      'χ ch',
      'ψ ps',
      'ω o',
    ],
    ...[
      'А A',
      'Б B',
      'В V',
      'Г G',
      'Д D',
      'Е E',
      'Ж ZH',
      'З Z',
      'И I',
      'Й Y',
      'К K',
      'Л L',
      'М M',
      'Н N',
      'О O',
      'П P',
    ],
    ...[
      'Р R',
      'С S',
      'Т T',
      'У U',
      'Ф F',
      'Х H',
      'Ц TS',
      'Ч CH',
      'Ш SH',
      'Щ SHT',
      'Ъ A',
      'Ы Y',
      'Ь Y',
      'Э E',
      'Ю YU',
      'Я YA',
    ],
    ...[
      'а a',
      'б b',
      'в v',
      'г g',
      'д d',
      'е e',
      'ж zh',
      'з z',
      'и i',
      'й y',
      'к k',
      'л l',
      'м m',
      'н n',
      'о o',
      'п p',
    ],
    ...[
      'р r',
      'с s',
      'т t',
      'у u',
      'ф f',
      'х h',
      'ц ts',
      'ч ch',
      'ш sh',
      'щ sht',
      'ъ a',
      'ы y',
      'ь y',
      'э e',
      'ю yu',
      'я ya',
    ],
  ].map((pair) => [pair[0], pair.slice(2)]),
)

/** Returns the text in SEPA characters, with at most this many of them. */
export function sepaText(text: string, maxLength: number): string {
  const converted = Array.from(text.normalize('NFC'), convert).join('')
  return converted.replaceAll(/ +/g, ' ').trim().slice(0, maxLength).trimEnd()
}

function convert(character: string): string {
  if (/[A-Za-z0-9/\-?:().,'+ ]/.test(character)) return character
  if (/\s/.test(character)) return ' '
  const known = conversions.get(character)
  if (known !== undefined) return known
  const parts = character.normalize('NFKD').replaceAll(/\p{M}/gu, '')
  return parts === character ? '.' : Array.from(parts, convert).join('')
}

const maxName = 70

/** Returns the name of a payer or payee, or `undefined` if nothing is left of it by which a bank can know the person. */
export function sepaName(name: string): string | undefined {
  const text = sepaText(name, maxName)
  return /[A-Za-z0-9]/.test(text) ? text : undefined
}
