import { readdirSync, readFileSync } from 'node:fs'
import t from 'tap'
import { proposeCsvMapping } from '../../src/bank-formats/propose-csv-mapping.js'
import type { BankEntry, BankRecord, CsvMapping } from '../../src/domain/bank/bank-records.js'
import { parseIban } from '../../src/kernel/iban.js'
import { entriesOf, fixture, recordsOf } from './bank-files.js'

const names = readdirSync('test/fixtures/bank').filter((name) => name !== 'README.md')

/** Returns the proposed mapping of a CSV file, with the currency that some exports do not state. */
function mappingOf(name: string): CsvMapping | undefined {
  if (!name.endsWith('.csv')) return undefined
  return { currency: name.startsWith('turkish') ? 'TRY' : 'GBP', ...proposeCsvMapping(fixture(name))! }
}

const read = (name: string) => recordsOf(fixture(name), mappingOf(name))

t.test('every file is described', async (t) => {
  const page = readFileSync('test/fixtures/bank/README.md', 'utf8')
  t.same([...page.matchAll(/^\| `([^`]+)`/gm)].map(([, name]) => name).sort(), names.sort())
  t.ok(names.length >= 14)
})

t.test('the booked entries of every statement add up to its closing balance', async (t) => {
  let checked = 0
  for (const name of names) {
    let sum = 0n
    for (const record of await read(name)) {
      if (record.type === 'statement') sum = 0n
      if (record.type === 'entry' && record.status === 'booked')
        sum += record.direction === 'credit' ? record.amountMinor : -record.amountMinor
      if (record.type !== 'statement-end' || record.opening === null || record.closing === null) continue
      checked += 1
      t.equal(record.opening.amountMinor + sum, record.closing.amountMinor, name)
    }
  }
  t.ok(checked >= 15, `${checked} statements`)
})

t.test('every IBAN is valid', async (t) => {
  for (const name of names) {
    const accounts = (await read(name)).flatMap((record) =>
      record.type === 'statement'
        ? [record.account]
        : record.type === 'entry'
          ? record.payments.map((each) => each.account)
          : [],
    )
    for (const account of accounts)
      if (account !== null && /^[A-Z]{2}/.test(account)) t.ok(parseIban(account), `${name}: ${account}`)
  }
})

t.test('MT940 and camt.053 of the same day state the same', async (t) => {
  const [camt, mt] = await Promise.all([read('german-camt053-v08.xml'), read('german-mt940.sta')])
  const comparable = (records: readonly BankRecord[]) =>
    records.flatMap((record): unknown[] => {
      if (record.type === 'statement') return [record.account, record.currency]
      if (record.type === 'statement-end') return [record.opening?.amountMinor, record.closing]
      if (record.type !== 'entry' || record.status !== 'booked') return []
      const { number, direction, isReversal, amountMinor, currency, date, bankReference, fileId } = record
      const payments = record.payments.map(({ endToEndId, account, returned }) => [
        endToEndId,
        account,
        returned?.reasonCode,
      ])
      return [{ number, direction, isReversal, amountMinor, currency, date, bankReference, fileId, payments }]
    })
  t.same(comparable(mt), comparable(camt))
  t.equal(comparable(mt).length, 4 + 2 + 2)
})

t.test('camt.054 has the payments of a batch that camt.053 of the day books as one amount', async (t) => {
  const [details] = await entriesOf(fixture('german-camt054-v08.xml'))
  const booked = (await entriesOf(fixture('german-camt053-v08.xml'))).find(({ fileId }) => fileId === details!.fileId)
  t.same({ ...booked, number: 1 }, { ...details, payments: [] })
  const sum = details!.payments.reduce((total, { amountMinor }) => total + amountMinor!, 0n)
  t.equal(sum, booked!.amountMinor)
})

/** Returns the fields of an entry that have a value. */
function summary({ direction, amountMinor, status, isReversal, fileId, payments, paymentCount }: BankEntry) {
  const sign = direction === 'credit' ? '+' : '-'
  const parts = payments.map((each) =>
    [
      ...[each.endToEndId?.slice(0, 8), each.name, each.account, each.remittance.join('|'), each.creditorReference],
      ...[each.returned?.reasonCode, each.instructed && `${each.instructed.amountMinor} ${each.instructed.currency}`],
      each.chargesMinor && `charges ${each.chargesMinor}`,
    ]
      .filter(Boolean)
      .join(', '),
  )
  const batch = [fileId?.slice(0, 8), paymentCount, isReversal && 'reversal', status === 'pending' && status]
  return [`${sign}${amountMinor}`, ...batch.filter(Boolean), ...parts].join('; ')
}

const expected = {
  'german-camt053-v02.xml': [
    '+15025; Jürgen Grünwald, AT611904300234573201, Einzahlung 7d793037a0764c6fa5f4|ed16f4a1b2c3 Danke',
    '-66000; 6f1c0b1e; 3; 3b1f6a9c, Ada Muster, BE68539007547034, Auszahlung; 9e8d7c6b, Bora Örnek, NL91ABNA0417164300, Auszahlung; a1b2c3d4, Carla Esempio, IT60X0542811101000000123456, Auszahlung',
    '+10000; 3b1f6a9c, Ada Muster, BE68539007547034, Auszahlung, AC01',
    '+2210; ORDER-77, Dilan Beispiel, 0532013077, RF18539007547034',
  ],
  'german-camt053-v08.xml': [
    '+8010; c0ffee00, Ada Muster, BE68539007547034, Einzahlung|7d793037a0764c6fa5f4ed16f4a1b2c3',
    '-50000; 0d9c8b7a; 2',
    '+26000; 9e8d7c6b, Bora Örnek, NL91ABNA0417164300, Auszahlung, AC04',
    '+7000; Emre Deneme, TR330006100519786457841326, a1b2c3d4 e5f6 4788 9a0b|1c2d3e4f5a6b',
    '+9999; pending; PENDING-, Fatma Örnek, TR330006100519786457841326, Einzahlung',
  ],
  'german-camt052-v08.xml': [
    '-4200; FEE-MARC, Beispiel Hosting AG, CH9300762011623852957, Rechnung 1001',
    '+1500; pending; Ingrid Eksempel, NO9386011117947',
  ],
  'swiss-camt053-v04.xml': [
    '+139600; 2; Karl Beispiel, AT611904300234573201, Bestellung 15. März, 210000000003139471430009017; E2E-CH-2, Lea Exemple, CH5604835012345678009, Zahlung, 50000 CHF, charges 400',
    '-150',
  ],
  'austrian-camt053-v02.xml': [
    '+8250; US-INVOI, Mia Sample Inc., 000123456789, Invoice 5 & thanks, 10000 USD, charges 500',
  ],
  'dutch-camt053-v02.xml': [
    '+4500; E2E-NL-1, Nina Voorbeeld, BE68539007547034, bestelling 12',
    '-4500; reversal; E2E-NL-1, Nina Voorbeeld, BE68539007547034, bestelling 12',
    '+1999; Otto Voorbeeld, donatie',
  ],
  'nordic-camt054-v02.xml': [
    '+150000; KID-1, Pål Eksempel Sjøberg, 86011117947, 2345676; Søren Eksempel, DK5000400440116243, Innbetaling',
  ],
  'french-camt053-v08.xml': [
    '-1000; E2E-FR-1, Débiteur 1, ES9121000418450200051332, Prélèvement, AM04',
    '-2050; E2E-FR-2, Débiteur 2, ES9121000418450200051332, Prélèvement, MD07',
    '-2500; E2E-FR-3, Débiteur 3, ES9121000418450200051332, Prélèvement',
  ],
  'dutch-mt940.sta': [
    '+156; EV12341R, Paula Voorbeeld, NL91ABNA0417164300, EV10001REP1000000T1000',
    '-157; 6f1c0b1e; 3',
    '+157; 20260302, Quinten Voorbeeld, NL91ABNA0417164300, Terug, MS03',
    '+114; Roos Voorbeeld, BE68539007547034, RF18539007547034',
    '+500; reversal; Terugboeking|van 31 december',
  ],
  'german-mt942.sta': [
    '+1500; pending; Ingrid Eksempel, Danke',
    '-100050; pending; AUSLANDSZAHLUNG|RECHNUNG 7, 110000 USD, charges 250',
  ],
  'swiss-mt940.sta': ['+139600; ORDER-5', '-2000; reversal; STORNO GUTSCHRIFT'],
  'german-bank.csv': ['+100000; Jürgen Grünwald, Bestellung 5;|Teil 2', '-6544; Stadtwerke Köln, Abschlag'],
  'turkish-bank.csv': ["+250000; Ayşe Yılmaz'dan gelen FAST", '-1275; EFT ücreti'],
  'british-bank.csv': ['-2000; Payment to Hosting Ltd', '+100000; From A Sample'],
}

t.test('reads the special parts of every example', async (t) => {
  for (const [name, lines] of Object.entries(expected))
    t.same((await entriesOf(fixture(name), mappingOf(name))).map(summary), lines, name)
})
