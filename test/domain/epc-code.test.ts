import { equal, ok } from 'node:assert/strict'
import fc from 'fast-check'
import t from 'tap'
import { epcCode } from '../../src/domain/epc-code.js'
import { parseAmount } from '../../src/domain/money.js'

const account = { name: 'Blue Shop Ltd', iban: 'DE89370400440532013000', bic: 'COBADEFFXXX' }

t.test('has one element of EPC069-12 on each line', async (t) => {
  t.same(epcCode(account, 1234_50n, 'order 17')?.split('\n'), [
    ...['BCD', '002', '1', 'SCT', 'COBADEFFXXX', 'Blue Shop Ltd', 'DE89370400440532013000', 'EUR1234.50'],
    ...['', '', 'order 17'],
  ])
})

t.test('leaves the line of the BIC empty without one, and ends with the reference', async (t) => {
  const content = epcCode({ ...account, bic: undefined }, 1n, 'order 17')
  t.match(content, /^BCD\n002\n1\nSCT\n\nBlue Shop Ltd\n/)
  t.match(content, /\nEUR0\.01\n\n\norder 17$/)
})

t.test('states amounts from 0.01 to 999,999,999.99', async (t) => {
  t.match(epcCode(account, 999_999_999_99n, 'a'), /\nEUR999999999\.99\n/)
  for (const amountMinor of [-1n, 0n, 1_000_000_000_00n]) t.equal(epcCode(account, amountMinor, 'a'), undefined)
})

t.test('states the reference in SEPA characters, and nothing without a complete reference', async (t) => {
  const stated = (reference: string) => epcCode(account, 1n, reference)?.split('\n').at(-1)
  t.equal(stated('sipariş_42\n€'), 'siparis-42 E')
  t.equal(stated('a'.repeat(140)), 'a'.repeat(140))
  t.equal(stated('a'.repeat(141)), undefined, 'a cut reference would match another deposit or none')
  t.equal(stated('щ'.repeat(47)), undefined, 'a conversion can be longer')
  for (const reference of ['', ' ', '注文', '#?', '---']) t.equal(stated(reference), undefined, reference)
})

t.test('keeps the letters of the name if they fit, and otherwise states it in SEPA characters', async (t) => {
  const payee = (name: string, reference = 'a') => epcCode({ ...account, name }, 1n, reference)?.split('\n')[5]
  t.equal(payee('Müller & Söhne Çiçek'), 'Müller & Söhne Çiçek')
  t.equal(payee('Mu\u0308ller'), 'M\u00fcller', 'composed, as keyboards enter it')
  const umlauts = 'ü'.repeat(70)
  t.equal(payee(umlauts), umlauts)
  t.equal(payee(umlauts, 'a'.repeat(140)), 'u'.repeat(70))
})

t.test('has no code for an account that a SEPA transfer with a text cannot reach', async (t) => {
  const reaches = (iban: string) => epcCode({ ...account, iban }, 1n, 'a') !== undefined
  t.equal(reaches('TR330006100519786457841326'), false, 'outside SEPA')
  t.equal(reaches('CH4431999123000889012'), false, 'a QR-IBAN requires its own reference')
  t.equal(reaches('CH9300762011623852957'), true)
})

t.test('has at most 331 bytes, 11 lines and one meaning, whatever it states', async () => {
  const text = (maxLength: number) => fc.string({ unit: 'grapheme', maxLength })
  const iban = fc.constantFrom('DE89370400440532013000', 'MT84MALT011000012345MTLCAST001S')
  fc.assert(
    fc.property(
      fc.record({
        name: text(70).map((name) => `A${name.slice(0, 69).replaceAll(/\p{C}|[\u2028\u2029]/gu, '')}`),
        iban,
        bic: fc.constantFrom(undefined, 'COBADEFFXXX'),
      }),
      fc.bigInt(1n, 999_999_999_99n),
      text(140),
      (receiving, amountMinor, reference) => {
        const content = epcCode(receiving, amountMinor, reference)
        if (content === undefined) return
        ok(Buffer.byteLength(content) <= 331)
        const lines = content.split('\n')
        equal(lines.length, 11)
        equal(lines[6], receiving.iban)
        equal(parseAmount(lines[7]!.slice(3)), amountMinor)
        ok(/^[A-Za-z0-9/\-?:().,'+ ]{1,140}$/.test(lines[10]!))
      },
    ),
  )
})
