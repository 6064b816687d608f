import { createRequire } from 'node:module'
import fc from 'fast-check'
import t from 'tap'
import { escapeHidden, folded, isVisible } from '../../src/kernel/text.js'
import { anyText } from '../support/any-text.js'

t.test('rejects characters that are not displayed as stored, at any position', async (t) => {
  const codes = [
    ...[0x00, 0x09, 0x0a, 0x0d, 0x1b, 0x7f, 0x85, 0x9b],
    ...[0x202a, 0x202b, 0x202c, 0x202d, 0x202e, 0x2066, 0x2067, 0x2068, 0x2069, 0x200e, 0x200f, 0x061c],
    ...[0x200b, 0x200c, 0x200d, 0x2060, 0x2061, 0x2064, 0xfeff, 0x00ad, 0x034f, 0x180e, 0x206a, 0xfff9],
    ...[0x115f, 0x3164, 0xffa0, 0x2028, 0x2029, 0xfe0f, 0xe0041, 0xe0100, 0xd800, 0xdfff],
  ]
  for (const code of codes) {
    const character = String.fromCodePoint(code)
    const places = [character, `a${character}`, `${character}a`, `TR33${character}0006`, ` ${character} `]
    t.same(places.map(isVisible), [false, false, false, false, false], `U+${code.toString(16)}`)
  }
})

/** Names as people write them, by script. Escaped are the characters that an editor does not show. */
const names = {
  Latin: [
    'Ada Lovelace',
    "Seán O'Brien",
    'Ğülşen Öztürk',
    'José-María',
    'Nguyễn Thị Hồng',
    'Nguye\u0302\u0303n',
    'Þórður',
    'A.',
  ],
  Cyrillic: ['Нина', 'Ольга Їжакевич', 'Ѓорѓи Ќосев'],
  Greek: ['Γιώργος Παπαδόπουλος', 'Ἀριστοτέλης'],
  Armenian: ['Արամ Խաչատրյան'],
  Georgian: ['შოთა რუსთაველი'],
  Hebrew: ['דוד', 'שָׁלוֹם', 'מַרְגָּלִית'],
  Arabic: ['محمد', 'مُحَمَّد', 'علی\u200cاکبر', 'امیر\u200cحسین', 'می\u200cخواهم', 'عبداللہ'],
  Syriac: ['ܐܦܪܝܡ'],
  Thaana: ['މުހައްމަދު'],
  Nko: ['ߛߟߏߡߊߣߊ'],
  Adlam: ['𞤃𞤢𞤥𞤢𞤣𞤵'],
  Devanagari: ['अनिल', 'श्रीकृष्ण', 'लक्ष्\u200dमी', 'क्\u200dष', 'राजन्\u200d', 'श्\u200cयाम'],
  Bengali: ['রবীন্দ্রনাথ', 'র\u200d\u09cdযাচেল', 'অরুণ\u09cd\u200c'],
  Gurmukhi: ['ਗੁਰਪ੍ਰੀਤ'],
  Gujarati: ['નરેન્દ્ર'],
  Oriya: ['ପ୍ରତିଭା'],
  Tamil: ['தமிழ்ச்செல்வன்'],
  Telugu: ['వెంకటేశ్వర్లు', 'రాజేశ్\u200c'],
  Kannada: ['ಕೃಷ್ಣ', 'ರ\u200d\u0ccdಯಾಮ್\u200c'],
  Malayalam: ['രാജന്\u200d', '\u0d30\u0d3e\u0d1c\u0d28\u0d4d\u200d', 'രാജൻ', 'അനില്\u200dകുമാര്\u200d'],
  Sinhala: ['ශ්\u200dරී', 'ප්\u200dරියන්ත'],
  Thai: ['สมชาย', 'น้ำฝน'],
  Lao: ['ສົມສັກ'],
  Khmer: ['សុខា', 'ប៊\u200cី'],
  Myanmar: ['အောင်ဆန်း', 'မြွှိုင့်'],
  Tibetan: ['བསྟན་འཛིན', 'རྡོ་རྗེ'],
  Ethiopic: ['ኃይለ ሥላሴ'],
  Cherokee: ['ᏍᏏᏉᏯ'],
  Mongolian: ['ᠪᠠᠲᠤ', 'ᠰᠠᠷᠠᠨ\u180eᠠ', 'ᠭᠡᠷ\u180bᠡ'],
  Han: ['張偉', '欧阳娜娜', '葛\u{e0100}', '𠮷田'],
  Kana: ['ひろ 😀', 'サトウ・タロウ', 'プ\u309aさん'],
  Hangul: ['김민수', '\u1100\u1161\u11b7'],
  Javanese: ['ꦱꦸꦏꦂꦤ', 'ꦥ꧀\u200dꦫ'],
  Tifinagh: ['ⵎⴰⵙⵉⵏⵉⵙⴰ'],
  Emoji: ['❤\ufe0f'],
}

t.test('accepts names in every script', async (t) => {
  for (const [script, texts] of Object.entries(names)) {
    for (const name of texts) t.ok(isVisible(name), `${script} ${codesOf(name)}`)
  }
  t.ok(Object.keys(names).length > 30 && Object.values(names).flat().length > 60)
})

const codesOf = (text: string) => [...text].map((each) => each.codePointAt(0)!.toString(16)).join(' ')

t.test('rejects joiners that change nothing', async (t) => {
  const invisible = [
    ...[
      'ad\u200da',
      '1\u200c2',
      '१\u200d२',
      '١\u200c٢',
      'a\u200c',
      '\u200dक',
      '\u200cمی',
      'می\u200c',
      'م\u200ca',
      'a\u200cم',
    ],
    ...[
      'می\u200c\u200cخ',
      'രാജന്\u200d\u200d',
      'ശ്\u200c\u200d',
      'م\u200dم',
      'क\u200dख',
      'क\u200cख',
      'क\u200d',
      '한\u200d국',
      '張\u200d偉',
    ],
    ...['a\ufe0f', '7\ufe0f', 'ᠠ\u180e', 'a\u180eᠠ'],
  ]
  for (const text of invisible) t.notOk(isVisible(text), codesOf(text))
})

/** The regular expressions of RFC 5892, appendix A, from the data of Unicode. */
const rfc5892 = createRequire(import.meta.url)('tr46/lib/regexes.js') as {
  readonly combiningClassVirama: RegExp
  readonly validZWNJ: RegExp
}

/** Scripts that no one writes today. */
const historical =
  /[\p{Script=Manichaean}\p{Script=Psalter_Pahlavi}\p{Script=Sogdian}\p{Script=Chorasmian}\p{Script=Old_Uyghur}\p{Script=Phags_Pa}]/u

t.test('accepts every joiner that RFC 5892 allows next to a letter, and after each virama only', async (t) => {
  const wrong: string[] = []
  for (let code = 0; code <= 0x10ffff; code++) {
    const character = String.fromCodePoint(code)
    if (!isVisible(`a${character}`)) continue
    const isVirama = rfc5892.combiningClassVirama.test(character)
    const ends = ['\u200c', '\u200d'].map((joiner) => isVisible(`a${character}${joiner}`))
    if (ends.some((isAccepted) => isAccepted !== isVirama)) wrong.push(codesOf(character))
    if (!/[\p{L}\p{M}]/u.test(character) || historical.test(character)) continue
    for (const text of [`${character}\u200cب`, `ب\u200c${character}`, `ب${character}\u200cب`, `ب\u200c${character}ب`]) {
      if (rfc5892.validZWNJ.test(text) && !isVisible(text)) wrong.push(codesOf(text))
    }
  }
  t.same(wrong, [])
})

t.test('rejects what is blank or has no look of its own, and marks without a letter', async (t) => {
  const blank = [0x2800, 0x115f, 0x1160, 0x17b4, 0x3164, 0xffa0, 0xfffc, 0x1d159, 0x13441, 0x13442, 0x16fe4]
  const nobodys = [0xe000, 0xf8ff, 0xf0000, 0x10fffd, 0xfdd0, 0xfffe, 0xffff, 0x10ffff, 0x378]
  for (const code of [...blank, ...nobodys]) {
    const character = String.fromCodePoint(code)
    for (const text of [character, `Ada ${character}`, `TR${character}33`]) t.notOk(isVisible(text), codesOf(text))
  }
  const piled = [`e${'\u0301'.repeat(5)}`, `1${'\u0338\u20dd'.repeat(3)}`, '\u0301Ada', '\u0e48', '\u20e3', '\u093e']
  for (const text of piled) t.notOk(isVisible(text), codesOf(text))
  for (const text of [`e${'\u0301'.repeat(4)}`, '7\u20e3', 'a\u00a0b', 'a\u3000b']) t.ok(isVisible(text), codesOf(text))
})

t.test('an escaped text is visible, and a visible text is unchanged', async (t) => {
  t.equal(escapeHidden('a\u202eb\nc\u{e0041}'), 'a\\u202eb\\u000ac\\udb40\\udc41')
  fc.assert(
    fc.property(anyText(), (text) => {
      const escaped = escapeHidden(text)
      return isVisible(escaped) && (escaped === text) === isVisible(text)
    }),
  )
})

t.test('ignores case and marks in a search, even in Turkish', async (t) => {
  for (const text of ['ışık', 'IŞIK', 'Işık', 'isik', 'İSİK', 'ıșık']) t.equal(folded(text), 'isik', text)
  t.equal(folded('TR33\u00a00006\t1005'), 'tr33 0006 1005', 'every white space is a space')
  t.equal(folded('Ünal ÖZGÜR'), 'unal ozgur')
  t.equal(folded('ＡＤＡ'), 'ada', 'full-width letters match plain ones')
  t.equal(folded('\u202e\u00ad\ue000\ufffd'), '')
})

t.test('the searchable form keeps prefixes and sorts as the stores do', async () => {
  const text = anyText({ maxLength: 40 })
  fc.assert(fc.property(text, text, (prefix, rest) => folded(prefix + rest).startsWith(folded(prefix))))
  const bytes = (text: string) => Buffer.from(text)
  fc.assert(
    fc.property(text, text, (one, other) => {
      const [a, b] = [folded(one), folded(other)]
      return Math.sign(Buffer.compare(bytes(a), bytes(b))) === (a < b ? -1 : a === b ? 0 : 1)
    }),
  )
})
