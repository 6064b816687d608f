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
const name = fc.oneof(fc.constantFrom('Ayşe Yılmaz', `O'Neil & <Söhne> "KG"`, 'Γιώργος'), anyText())
const withdrawal = fc.record({
  name: name.map((each) => `${each}A`),
  referenceId: fc.oneof(
    fc.uuid(),
    fc.string({ unit: 'grapheme', minLength: 1, maxLength: 128 }).map((each) => `_${each}`),
  ),
  accountNumber: fc.constantFrom(...ibans),
  amountMinor: fc.bigInt(1n, 999_999_999_99n),
})
const batches = fc.record({
  withdrawals: fc.array(withdrawal, { minLength: 1, maxLength: 5 }),
  debtor: fc.record(
    {
      name: fc.constantFrom('Shop & Söhne', 'x'.repeat(70)),
      iban: fc.constantFrom(...ibans),
      bic: fc.constant('BYLADEM1001'),
    },
    { requiredKeys: ['name', 'iban'] },
  ),
  date: fc.constantFrom('2026-03-01', '2028-02-29'),
})

const messageId = 'a'.repeat(32)
/** Files of random batches, as the service writes them. */
const files = fc.sample(batches, { numRuns: 100, seed: 17 }).map(({ withdrawals, ...rest }) => {
  const settler = { by: 'cli:root', underClaim: false, at: later }
  const addition = { type: 'AddToBankFile', ...settler, format: 'pain.001', messageId, again: null } as const
  const transfers = withdrawals.map((fields) => {
    const created = { ...withdrawalCreated, data: { ...withdrawalCreated.data, ...fields } }
    return { transfer: fold([created]) as Transfer, approvalAboveMinor: null }
  })
  const file = bankFile({ addition, withdrawals: transfers, currency: { code: 'EUR', decimals: 2 }, ...rest })
  if (!file.accepted) throw new Error(JSON.stringify(file.problems.map(({ rule }) => rule)))
  return file.text
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
