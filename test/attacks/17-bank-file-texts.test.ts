import fc from 'fast-check'
import { getCountrySpecifications } from 'ibantools'
import t from 'tap'
import { sepaName, sepaText } from '../../src/domain/sepa-text.js'
import { countryOutsideEea, countryOutsideSepa, isQrIban, parseIban } from '../../src/kernel/iban.js'
import { dateIn } from '../../src/kernel/time.js'
import { anyText } from '../support/any-text.js'

const isSepa = (text: string) => /^[A-Za-z0-9/\-?:().,'+ ]*$/.test(text)

t.test('converts names to the characters that every bank in SEPA accepts', async (t) => {
  for (const [name, text] of [
    ['Ayşe Yılmaz İĞÜÖÇ', 'Ayse Yilmaz IGUOC'],
    ['Jürgen Groß & Söhne', 'Jurgen Gros + Sohne'],
    ['Łukasz Żółć', 'Lukasz Zolc'],
    ['Ærø Đặng Þór', 'Aro Dang THor'],
    ['Γιώργος Θεοχάρης', 'Giorgos THeocharis'],
    ['Юлия Щербакова', 'YUliya SHTerbakova'],
    ['Ａｄａ　Ｌｏｖｅｌａｃｅ', 'Ada Lovelace'],
    ['d’Artagnan_x; <b>', "d'Artagnan-x, .b."],
    ['  Ada\u00a0\tLovelace ', 'Ada Lovelace'],
  ] as const)
    t.equal(sepaName(name), text)
  t.equal(sepaName('x'.repeat(80)), 'x'.repeat(70))
  for (const nothing of ['', ' ', '***', '李明', '😀', '...']) t.equal(sepaName(nothing), undefined, nothing)
})

t.test(
  'no text leads to a character outside SEPA, to spaces at the ends, or to a text without a letter or digit',
  async () => {
    fc.assert(
      fc.property(anyText({ maxLength: 200 }), fc.integer({ min: 1, max: 140 }), (text, most) => {
        const converted = sepaText(text, most)
        if (converted === undefined) return true
        const isTrimmed = converted.trim() === converted
        return isSepa(converted) && converted.length <= most && isTrimmed && /[A-Za-z0-9]/.test(converted)
      }),
      { numRuns: 2000 },
    )
    fc.assert(
      fc.property(fc.string({ unit: fc.constantFrom(..."aZ09/-?:().,'+") }), (text) => {
        return sepaText(text, 999) === (/[aZ09]/.test(text) ? text : undefined)
      }),
    )
  },
)

t.test('a text without a convertible letter or digit has no SEPA form', async (t) => {
  for (const nothing of [
    '',
    ' ',
    '\u00a8',
    '\u00b4',
    '***',
    '...',
    '李明',
    '😀',
    '\u0301',
    '¿?',
    '—',
    `${'.'.repeat(70)}a`,
  ])
    t.equal(sepaText(nothing, 70), undefined, nothing)
  for (const [text, converted] of [
    ['\u00a8a', 'a'],
    ['李明 1', '.. 1'],
    ['—7', '-7'],
  ] as const)
    t.equal(sepaText(text, 70), converted)
})

/** Returns the IBAN of an account with these check digits. */
const remainder = (country: string, account: string) =>
  Number(BigInt([...`${account}${country}00`].map((each) => Number.parseInt(each, 36)).join('')) % 97n)

t.test('accepts only the check digits 02 to 98, although 00, 01 and 99 have the same remainder', async (t) => {
  const seen = new Set<string>()
  for (let n = 0; seen.size < 4; n++) {
    const account = `3704004405320${String(n).padStart(5, '0')}`
    const digits = 98 - remainder('DE', account)
    const twins: { readonly [digits: number]: string } = { 97: '00', 98: '01', 2: '99' }
    t.equal(parseIban(`DE${String(digits).padStart(2, '0')}${account}`) !== undefined, true)
    const twin = twins[digits]
    if (twin !== undefined) t.equal(parseIban(`DE${twin}${account}`), undefined, `DE${twin}${account}`)
    seen.add(twin ?? 'none')
  }
})

t.test('accepts only the structure of the country, in any case and as people write it', async (t) => {
  for (const text of [
    'DE89370400440532013000',
    'TR330006100519786457841326',
    'GB82 WEST 1234 5698 7654 32',
    'no9386011117947',
  ])
    t.equal(parseIban(text), text.replaceAll(' ', '').toUpperCase())
  for (const text of [
    'DE89-3704-0044-0532-0130-00',
    'IBAN DE89 3704 0044 0532 0130 00',
    'iban:DE89370400440532013000',
    'DE８９370400440532013000',
    'DE٨٩\u00a03704 0044.0532/0130–00\u200e',
  ])
    t.equal(parseIban(text), 'DE89370400440532013000', text)
  const letters = `DE${String(98 - remainder('DE', 'ABCDEFGHIJKLMNOPQR')).padStart(2, '0')}ABCDEFGHIJKLMNOPQR`
  const wrong = [
    '',
    'IBAN',
    'IBAN IBAN DE89370400440532013000',
    'DE',
    'DE88370400440532013000',
    'DE8937040044053201300',
    'ZZ89370400440532013000',
    '481920375566',
    letters,
  ]
  for (const text of [...wrong, 'DЕ89370400440532013000', 'DE89_370400440532013000'])
    t.equal(parseIban(text), undefined, text)
})

t.test(
  'knows the countries outside the European Economic Area, whose banks need the address of the payer',
  async (t) => {
    const inSepa = Object.keys(getCountrySpecifications()).filter(
      (country) => countryOutsideSepa(`${country}00`) === undefined,
    )
    const outside = inSepa.filter((country) => countryOutsideEea(`${country}00`) !== undefined)
    t.same(outside.sort(), 'AD AL CH GB GI MC MD ME MK RS SM VA'.split(' '))
  },
)

t.test('knows QR-IBANs, whose institutions have the numbers 30000 to 31999', async (t) => {
  for (const [country, institution, isQr] of [
    ['CH', '30000', true],
    ['CH', '31999', true],
    ['LI', '30808', true],
    ['CH', '29999', false],
    ['CH', '32000', false],
    ['CH', '00762', false],
    ['DE', '30000', false],
  ] as const)
    t.equal(isQrIban(`${country}00${institution}000000000000`), isQr, `${country} ${institution}`)
})

t.test('knows the countries of SEPA', async (t) => {
  const inSepa = Object.keys(getCountrySpecifications()).filter(
    (country) => countryOutsideSepa(`${country}00`) === undefined,
  )
  const all =
    'AD AL AT BE BG CH CY CZ DE DK EE ES FI FR GB GI GR HR HU IE IS IT LI LT LU LV MC MD ME MK MT NL NO PL PT RO RS SE SI SK SM VA'
  t.same(inSepa.sort(), all.split(' '))
  for (const country of ['TR', 'US', 'UA', 'FO']) t.equal(countryOutsideSepa(`${country}00`), country)
})

t.test('the day of a payment is that of the operator', async (t) => {
  const at = '2026-02-28T22:30:00.000Z'
  t.equal(dateIn('UTC', at), '2026-02-28')
  t.equal(dateIn('Europe/Istanbul', at), '2026-03-01')
  t.equal(dateIn('America/New_York', at), '2026-02-28')
  t.equal(dateIn('Asia/Kathmandu', '2026-02-28T18:15:00.000Z'), '2026-03-01')
})
