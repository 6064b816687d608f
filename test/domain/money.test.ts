import fc from 'fast-check'
import t from 'tap'
import { formatShortest, formatTwoDecimals, parseAmount, toJsonNumber } from '../../src/domain/money.js'
import { anyText } from '../support/any-text.js'

const anyAmount = fc.bigInt(1n, 99_999_999_999_999n)

t.test('parses amounts, and formats them in each form', async (t) => {
  const rows = [
    ['100', 10_000n, '100', '100.00'],
    ['100.0', 10_000n, '100', '100.00'],
    ['100.00', 10_000n, '100', '100.00'],
    ['100.5', 10_050n, '100.5', '100.50'],
    ['0.01', 1n, '0.01', '0.01'],
    ['0.1', 10n, '0.1', '0.10'],
    ['10', 1_000n, '10', '10.00'],
    ['1000.10', 100_010n, '1000.1', '1000.10'],
    ['999999.99', 99_999_999n, '999999.99', '999999.99'],
    ['999999999999.99', 99_999_999_999_999n, '999999999999.99', '999999999999.99'],
  ] as const
  for (const [text, minor, shortest, twoDecimals] of rows) {
    t.equal(parseAmount(text), minor, text)
    t.equal(formatShortest(minor), shortest)
    t.equal(formatTwoDecimals(minor), twoDecimals)
  }
})

t.test('accepts only a positive plain number with at most two decimals', async (t) => {
  const wrong = [
    '',
    '0',
    '0.0',
    '0.00',
    '-0',
    '-1',
    '+1',
    '1e2',
    '1E2',
    '1e-2',
    '1.5e1',
    '1e999',
    '0.001',
    '1.000',
    '1.',
  ]
  wrong.push(
    '.5',
    '00',
    '01',
    '007.5',
    '00.5',
    '1,5',
    '1_000',
    '1 000',
    ' 1',
    '1 ',
    '1\n',
    '\t1',
    '1.5.5',
    '1..5',
    '0x10',
  )
  wrong.push(
    '0b1',
    '1n',
    'NaN',
    'Infinity',
    '-Infinity',
    'null',
    'true',
    '"1"',
    '[1]',
    '１００',
    '١٠٠',
    '१',
    '1.٥',
    '²',
  )
  wrong.push('1000000000000', `1${'0'.repeat(400)}`, `1.${'0'.repeat(400)}`, '1\u0000', '\ufeff1', '1\u200b', '−1')
  for (const text of wrong) t.equal(parseAmount(text), undefined, JSON.stringify(text).slice(0, 40))
})

t.test('formatting and parsing are inverse, and JSON prints the shortest form', async () => {
  fc.assert(
    fc.property(anyAmount, (minor) => {
      const [shortest, twoDecimals] = [formatShortest(minor), formatTwoDecimals(minor)]
      return (
        parseAmount(shortest) === minor &&
        parseAmount(twoDecimals) === minor &&
        JSON.stringify(toJsonNumber(minor)) === shortest &&
        shortest.length <= twoDecimals.length
      )
    }),
    { numRuns: 2_000 },
  )
})

t.test('rejects a text or reads exactly the number that JSON reads', async () => {
  const almostAmount = fc.stringMatching(/^[-+ ]?[0-9]{0,14}[.,e]?[0-9]{0,4}[ e]?$/)
  fc.assert(
    fc.property(fc.oneof(almostAmount, anyText({ maxLength: 8 })), (text) => {
      const minor = parseAmount(text)
      return minor === undefined || (minor > 0n && JSON.parse(text) === toJsonNumber(minor))
    }),
    { numRuns: 2_000 },
  )
})
