import { randomUUID } from 'node:crypto'
import { readFileSync } from 'node:fs'
import fc from 'fast-check'
import t from 'tap'
import { validateXML } from 'xmllint-wasm'
import { bankFile } from '../../src/domain/bank-file.js'
import type { Transfer } from '../../src/domain/transfer/transfer.js'
import { transferDecider } from '../../src/domain/transfer/transfer-decider.js'
import { later, withdrawalCreated } from '../domain/transfer-samples.js'
import { anyText } from '../support/any-text.js'
import { specification } from '../support/given-when-then.js'

const { fold } = specification(transferDecider)
const ibans = ['DE89370400440532013000', 'GB82 WEST 1234 5698 7654 32', 'no9386011117947', 'RS35260005601001611379']
const qrIban = 'CH4431999123000889012'
/** Texts that SEPA can write, texts that it cannot, and any others. */
const text = (maxLength: number) =>
  fc.oneof(
    fc.constantFrom(
      'Ayşe Yılmaz',
      `O'Neil & <Söhne> "KG"`,
      'Γιώργος',
      '\u00a8',
      '李明',
      '😀',
      '...',
      ' ',
      '\u0301',
      '/',
    ),
    fc.string({ unit: 'grapheme', minLength: 1, maxLength }),
    anyText({ minLength: 1, maxLength }),
  )
/** Mostly a usual value, so that many batches lead to a file. */
const often = (usual: string, any: fc.Arbitrary<string>) =>
  fc.oneof({ arbitrary: fc.constant(usual), weight: 3 }, { arbitrary: any, weight: 1 })
const withdrawal = fc.record({
  name: often('Ayşe Yılmaz', text(128)),
  referenceId: fc.oneof(fc.uuid(), text(128)),
  accountNumber: fc.oneof({ arbitrary: fc.constantFrom(...ibans), weight: 9 }, fc.constantFrom(qrIban, '481920375566')),
  amountMinor: fc.bigInt(1n, 999_999_999_99n),
})
const address = fc.record(
  {
    street: often('Königsallee', text(70)),
    building: often('5a', fc.constant('Щ'.repeat(16))),
    postcode: fc.constant('80331'),
    town: often('München', text(35)),
    country: often('DE', fc.constantFrom('gb', 'ZZ', '')),
  },
  { requiredKeys: ['town', 'country'] },
)
const batches = fc.record({
  withdrawals: fc.array(withdrawal, { minLength: 1, maxLength: 3 }),
  debtor: fc.record(
    {
      name: often('Shop & Söhne', text(70)),
      iban: fc.constantFrom(...ibans),
      bic: fc.constantFrom('BYLADEM1001', ''),
      address,
    },
    { requiredKeys: ['name', 'iban'] },
  ),
  date: often('2026-03-02', fc.constantFrom('2026-04-07', '2026-04-06')),
})

const plain = { name: 'Ada', referenceId: 'r', accountNumber: ibans[0]!, amountMinor: 1n }
const debtor = { name: 'Shop', iban: ibans[0]! }
const messageId = 'a'.repeat(32)
const written = ({ withdrawals, ...rest }: typeof batches extends fc.Arbitrary<infer Each> ? Each : never) => {
  const settler = { by: 'cli:root', underClaim: false, at: later }
  const addition = {
    type: 'AddToBankFile',
    ...settler,
    format: 'pain.001',
    messageId,
    payingAccountId: null,
    repeat: null,
  } as const
  const transfers = withdrawals.map((fields) => {
    const trackingId = randomUUID()
    const created = { ...withdrawalCreated, data: { ...withdrawalCreated.data, ...fields, trackingId } }
    return { transfer: fold([created]) as Transfer, approvalAboveMinor: null }
  })
  return bankFile({ addition, withdrawals: transfers, currency: { code: 'EUR', decimals: 2 }, ...rest })
}

/** Files of random batches, as the service writes them. A batch without a file has a problem for each input that cannot be in one. */
const results = fc.sample(batches, { numRuns: 1_000, seed: 17 }).map(written)
const files = results.flatMap((file) => (file.accepted ? [file.text] : []))

t.test('the batches lead to files, and every input that cannot be in one to a problem', async (t) => {
  t.ok(files.length > 50, `${files.length} files`)
  const rules = new Set(results.flatMap((file) => (file.accepted ? [] : file.problems.map(({ rule }) => rule))))
  t.same([...rules].sort(), [
    ...['account-not-iban', 'address-needed', 'country-invalid', 'name-not-payable', 'not-sepa-text'],
    ...['not-target-day', 'qr-iban', 'required', 'too-long'],
  ])
  for (const empty of ['\u00a8', '李明', '...'])
    t.equal(written({ withdrawals: [{ ...plain, referenceId: empty }], debtor, date: '2026-03-02' }).accepted, true)
})

async function problemsOf(schemaPath: string, texts: readonly string[]) {
  const xml = texts.map((contents, n) => ({ fileName: `${n}.xml`, contents }))
  const { errors } = await validateXML({ xml, schema: readFileSync(schemaPath, 'utf8') })
  return errors.map(({ rawMessage }) => rawMessage)
}

const restricted = 'test/fixtures/bank-file.xsd'

t.test('every SEPA file is valid for the part of the schema that SEPA allows', async (t) => {
  t.same(await problemsOf(restricted, files), [])
})

t.test('the schema finds a wrong file', async (t) => {
  const [text = ''] = files
  for (const [right, wrong] of [
    ['<PmtMtd>TRF</PmtMtd>', ''],
    ['<Nm>', '<Nm>ş'],
    ['Ccy="EUR"', 'Ccy="TRY"'],
    [/<IBAN>../, '<IBAN>DE99'],
    ['</InstdAmt>', '5</InstdAmt>'],
    [/<Ustrd>[^<]*/, '<Ustrd>'],
    ['</CreDtTm>', '.000Z</CreDtTm>'],
  ] as const)
    t.not((await problemsOf(restricted, [text.replace(right, wrong)])).length, 0, String(right))
})

/** The schema of ISO 20022, which the project may not distribute. .ci/run takes it from a Maven artifact. */
const official = process.env.TEST_PAIN_001_XSD
const skip = official === undefined && 'TEST_PAIN_001_XSD does not name the schema pain.001.001.09'

t.test('every SEPA file is valid for the schema of ISO 20022', { skip }, async (t) => {
  t.match(readFileSync(official!, 'utf8'), 'targetNamespace="urn:iso:std:iso:20022:tech:xsd:pain.001.001.09"')
  t.same(await problemsOf(official!, files), [])
})
