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

t.test('accepts names in every script', async (t) => {
  const names = [
    'Ada Lovelace',
    "Seán O'Brien",
    'Ğülşen Öztürk',
    'José-María',
    '張偉',
    'Нина',
    'محمد',
    'דוד',
    'अनिल',
    'ひろ 😀',
    'A.',
  ]
  // These are words with a non-joiner or a joiner, and an ideograph and a heart with variation selectors.
  const joined = ['می\u200cخواهم', 'ශ්\u200dරී', 'क्\u200dष', '葛\u{e0100}', '❤\ufe0f']
  for (const name of [...names, ...joined]) t.ok(isVisible(name), name)
})

t.test('accepts a joiner only between two letters of a script that joins letters', async (t) => {
  for (const text of [
    'ad\u200da',
    '1\u200c2',
    'می\u200c',
    '\u200cمی',
    'می\u200c\u200cخ',
    'م\u200ca',
    '१\u200d२',
    'a\ufe0f',
    '7\ufe0f',
  ])
    t.notOk(isVisible(text), [...text].map((each) => each.codePointAt(0)).join())
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
