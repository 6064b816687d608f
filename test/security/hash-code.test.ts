import fc from 'fast-check'
import t from 'tap'
import { hashCode, matchesHashCode } from '../../src/security/api-keys.js'

const referenceId = '3f0c4c7e-8f6b-4d0a-9a52-6a4b6e5d1c01'

// Computed with `printf '%s' 'sk_test100…' | md5sum`. They are published, so they must never change.
const vectors = [
  ['100', '310E9139FD88B047694F1A71B02156E8'],
  ['100.0', '263F1A54B8DBA2D345B2A5735D45F183'],
  ['100.00', '02409B314A779C0A52FDA08F48158E86'],
  ['100.5', 'D5E4B49545C80735AA6F4A603C9FC18F'],
  ['100.50', '595CC635AE9AD9C49CC86D3777E6F10E'],
  ['0.01', 'A1D3CCFE8BFDFF33768ABB40C20C036E'],
  ['1', '702D60B144CFC220B63F99F15140A29D'],
  ['999999.99', 'BFEFB421FCCD2FCC99544D0174259B71'],
] as const

t.test('computes the hash of each published vector and accepts either case', async (t) => {
  for (const [amount, expected] of vectors) {
    t.equal(hashCode('sk_test', amount, referenceId), expected, amount)
    t.ok(matchesHashCode(expected, expected))
    t.ok(matchesHashCode(expected.toLowerCase(), expected))
  }
})

t.test('each amount text has a different hash', async (t) => {
  t.equal(new Set(vectors.map(([, hash]) => hash)).size, vectors.length)
})

t.test('rejects a hash that is changed, cut, padded or spelled with other letters', async (t) => {
  const expected = hashCode('sk_test', '100', referenceId)
  const lookAlikes = [
    expected.slice(1),
    `${expected}0`,
    ` ${expected}`,
    `${expected}\n`,
    '',
    // U+0141 becomes `A` in latin1, and U+FB00 becomes `FF` in upper case. Neither may match the real letters.
    expected.replace('A', '\u0141'),
    expected.replace('FF', '\ufb00'),
    expected.replace(/[0-9]/, (digit) => String.fromCodePoint(0xff10 + Number(digit))),
  ]
  for (const supplied of lookAlikes) {
    if (supplied !== expected) t.notOk(matchesHashCode(supplied, expected), JSON.stringify(supplied))
  }
  fc.assert(
    fc.property(fc.nat(31), fc.constantFrom(...'0123456789ABCDEF'), (index, digit) => {
      const supplied = `${expected.slice(0, index)}${digit}${expected.slice(index + 1)}`
      t.equal(matchesHashCode(supplied, expected), supplied === expected)
    }),
  )
})

t.test('rejects a hash with letters outside ASCII at any position', async (t) => {
  const expected = 'A'.repeat(32)
  for (const letter of ['\u0141', '\u0241', '\uff21', '\u0391', '\u0410']) {
    t.notOk(matchesHashCode(letter + expected.slice(1), expected), letter)
    t.notOk(matchesHashCode(letter.repeat(32), expected), letter)
  }
})
