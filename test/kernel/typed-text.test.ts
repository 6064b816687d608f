import fc from 'fast-check'
import t from 'tap'
import { normalEmail } from '../../src/domain/password-rules.js'
import { plainAccountNumber } from '../../src/kernel/account-number.js'
import { parseIban } from '../../src/kernel/iban.js'
import { isVisible } from '../../src/kernel/text.js'
import { typedAmount, typedCode, typedNumber, typedText } from '../../src/kernel/typed-text.js'
import { anyText } from '../support/any-text.js'

/** The characters without a meaning that a copied value may have between its characters. */
const gaps = [
  ...[
    '',
    ' ',
    '\u00a0',
    '\u2009',
    '\u202f',
    '\u3000',
    '\t',
    '\n',
    '-',
    '\u2010',
    '\u2011',
    '\u2013',
    '\u2014',
    '\u2212',
  ],
  ...['\u200b', '\u200e', '\u200f', '\u00ad', '\u2060', '\ufeff', '\u202a', '\u202c', '\u2069', '\ufe0f', '\u034f'],
]
/** The digit 0 of ASCII, full-width, Arabic, Persian, Devanagari, Bengali, Thai, Myanmar, Adlam and mathematical digits. */
const zeros = [0x30, 0xff10, 0x660, 0x6f0, 0x966, 0x9e6, 0xe50, 0x1040, 0x1e950, 0x1d7ce]
const gap = fc.array(fc.constantFrom(...gaps), { maxLength: 2 }).map((each) => each.join(''))

/** Returns the forms in which people may paste a text: digits of one script, and gaps between all characters. */
function pasted(text: string, between = gap) {
  const count = [...text].length + 1
  return fc
    .tuple(fc.constantFrom(...zeros), fc.array(between, { minLength: count, maxLength: count }))
    .map(([zero, [first, ...rest]]) => {
      const inScript = (character: string) =>
        /[0-9]/.test(character) ? String.fromCodePoint(zero + Number(character)) : character
      return first + [...text].map((character, index) => inScript(character) + rest[index]).join('')
    })
}

t.test('every form of a code is the code', async (t) => {
  const digits = fc.stringMatching(/^[0-9]{6}$/)
  fc.assert(
    fc.property(
      digits.chain((code) => pasted(code).map((text) => [code, text] as const)),
      ([code, text]) => typedCode(text) === code,
    ),
  )
  const recovery = 'abcde-fgh23-jkmnp-qrs45'
  const plain = recovery.replaceAll('-', '')
  for (const text of [
    recovery,
    ` ${recovery.toUpperCase()} `,
    recovery.replaceAll('-', '\u2013'),
    plain,
    `\u200b${plain}`,
  ])
    t.equal(typedCode(text), plain, text)
  const table = {
    '487 583': '487583',
    '487\u2013583\n': '487583',
    '４８７ ５８３': '487583',
    '٤٨٧٥٨٣': '487583',
    '۴۸۷٬۵۸۳': '487583',
    '487.583': '487583',
    'code 487583': 'code487583',
    '4875834': '4875834',
    '': '',
  }
  for (const [text, code] of Object.entries(table)) t.equal(typedCode(text), code, text)
})

t.test('every form of an IBAN is the IBAN', async (t) => {
  const iban = 'DE89370400440532013000'
  fc.assert(fc.property(pasted(iban), (text) => parseIban(text) === iban && plainAccountNumber(text) === iban))
  for (const text of [
    'de89 3704 0044 0532 0130 00',
    'ＤＥ８９ ３７０４ ００４４ ０５３２ ０１３０ ００',
    'DE89\u20123704\u20120044\u20120532\u20120130\u201200',
    'IBAN DE89 3704 0044 0532 0130 00',
    'iban: DE89370400440532013000',
  ])
    t.equal(parseIban(text), iban, text)
})

t.test('an email is cleaned of what it is copied with, and two ASCII addresses never become the same', async (t) => {
  const email = 'ada.lovelace+x@example.com'
  const copied = [
    ...[
      ` ${email}`,
      `${email}\n`,
      `\u00a0${email}\u3000`,
      `\ufeff${email}\u200b`,
      'ada.lovelace+x\u200b@example\u00ad.com',
    ],
    ...[`<${email}>`, ` < ${email} > `, `mailto:${email}`, `MAILTO:${email.toUpperCase()}`, `<mailto:${email}>`],
    ...['ada.lovelace+x＠example．com', 'ａｄａ.lovelace＋x@example。com', `\u202a${email}\u202c`],
  ]
  for (const text of copied) t.equal(normalEmail(text), email, JSON.stringify(text))
  const others = [
    ...[
      `Ada <${email}>`,
      `"ceo@example.com" <${email}>`,
      `${email}, b@example.com`,
      `<${email}`,
      `${email}>`,
      `<<${email}>>`,
    ],
    ...[
      `mailto:mailto:${email}`,
      `${email}?subject=x`,
      'ada lovelace@example.com',
      'ad\u0430@example.com',
      'ada@exa\nmple.com',
    ],
  ]
  for (const text of others) t.equal(normalEmail(text), undefined, JSON.stringify(text))
  const local = fc.stringMatching(/^[A-Za-z0-9.!#$%&'*+/=?^_`{|}~-]{1,12}$/)
  const mark = fc.constantFrom('', '\u200b', '\u200e', '\u00ad', '\ufeff')
  fc.assert(
    fc.property(local, mark, (name, hidden) => {
      const normal = normalEmail(` ${name}${hidden}@example.com`)
      return normal === `${name}@example.com`.toLowerCase()
    }),
  )
})

t.test('a text keeps what is displayed', async (t) => {
  const table = {
    ' Ada ': 'Ada',
    '\ufeffAda\u200b Love\u00adlace\u202c': 'Ada Lovelace',
    'Ada\u200d': 'Ada',
    '\u200cAda': 'Ada',
    'a\tb': 'a b',
    'a\r\nb': 'a\nb',
    'രാജന്\u200d': 'രാജന്\u200d',
    'علی\u200cاکبر ': 'علی\u200cاکبر',
    '葛\u{e0100}': '葛\u{e0100}',
    'TR33\u200b0006': 'TR330006',
    '\u2800': '\u2800',
  }
  for (const [text, cleaned] of Object.entries(table)) t.equal(typedText(text), cleaned, JSON.stringify(text))
  fc.assert(
    fc.property(anyText(), (text) => {
      const cleaned = typedText(text)
      const isKept = !isVisible(text) || cleaned === text.trim()
      return isKept && typedText(cleaned) === cleaned && /^[^\p{Cc}]*$/u.test(cleaned.replaceAll('\n', ''))
    }),
    { numRuns: 2_000 },
  )
  for (const [text, number] of Object.entries({
    ' 1 440 ': '1440',
    '１４４０': '1440',
    '١٠': '10',
    '1,5': '1,5',
    '-5': '-5',
  }))
    t.equal(typedNumber(text), number, text)
})

t.test('an amount is never read as two different ones', async (t) => {
  const english = { group: ',', decimal: '.' }
  const turkish = { group: '.', decimal: ',' }
  const unknown = { decimal: '.' }
  const table: readonly (readonly [string, string | undefined, string | undefined, string | undefined])[] = [
    // The text, and its amount in English, in Turkish, and in no language.
    ['1234.5', '1234.5', '1234.5', '1234.5'],
    ['1,234.50', '1234.50', undefined, undefined],
    ['1.234,50', undefined, '1234.50', undefined],
    ['1,234', '1234', '1.234', undefined],
    ['1 234.50', '1234.50', '1234.50', '1234.50'],
    ['1\u00a0234,50', undefined, '1234.50', undefined],
    ['1\u202f234\u202f567.50', '1234567.50', '1234567.50', '1234567.50'],
    ["1'234.50", '1234.50', '1234.50', '1234.50'],
    ['1’234', '1234', '1234', '1234'],
    ['١٢٣٤٫٥٠', '1234.50', '1234.50', '1234.50'],
    ['١٬٢٣٤٫٥٠', '1234.50', '1234.50', '1234.50'],
    ['\u200f۱٬۲۳۴\u200f', '1234', '1234', '1234'],
    ['１２３４．５０', '1234.50', '1234.50', '1234.50'],
    ['１，２３４', '1234', '1.234', undefined],
    ['१२३४', '1234', '1234', '1234'],
    ['1٬234.500', undefined, undefined, undefined],
    ['1 23', undefined, undefined, undefined],
    ['12 34.50', undefined, undefined, undefined],
    ['1 234 56', undefined, undefined, undefined],
    ["1 234'567", undefined, undefined, undefined],
    ['1.234.50', undefined, undefined, undefined],
    ['1,234,50', undefined, undefined, undefined],
    ['1٫2٫3', undefined, undefined, undefined],
    ['−5', undefined, undefined, undefined],
    ['-5', undefined, undefined, undefined],
    ['₺5', undefined, undefined, undefined],
    ['', undefined, undefined, undefined],
  ]
  for (const [text, inEnglish, inTurkish, inNone] of table) {
    t.equal(typedAmount(text, english), inEnglish, `${text} in English`)
    t.equal(typedAmount(text, turkish), inTurkish, `${text} in Turkish`)
    t.equal(typedAmount(text, unknown), inNone, `${text} in no language`)
  }
  const amountLike = fc.stringMatching(/^[0-9]{1,4}([ .,'٬٫][0-9]{1,3}){0,3}$/)
  fc.assert(
    fc.property(amountLike, (text) => {
      const digits = text.replaceAll(/[^0-9]/g, '')
      const read = [english, turkish, unknown].map((separators) => typedAmount(text, separators))
      // No digit is lost, and the command line reads what both languages read if they agree.
      const isWhole = read.every((amount) => amount === undefined || amount.replace('.', '') === digits)
      return isWhole && (read[2] === undefined || read[2] === read[0])
    }),
    { numRuns: 5_000 },
  )
})
