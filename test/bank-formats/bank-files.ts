import { readFileSync } from 'node:fs'
import { BankFileError } from '../../src/bank-formats/bank-file-error.js'
import { readBankFile } from '../../src/bank-formats/read-bank-file.js'
import type { BankEntry, BankRecord, CsvMapping } from '../../src/domain/bank/bank-records.js'
import type { RuleValues } from '../../src/domain/rule-values.js'

export const fixture = (name: string): Buffer => readFileSync(`test/fixtures/bank/${name}`)

/** Returns the records of a file that arrives in pieces of the given length. */
export async function recordsOf(file: string | Buffer, csv?: CsvMapping, pieceBytes = 1_000): Promise<BankRecord[]> {
  const bytes = Buffer.from(file as string)
  async function* pieces() {
    for (let from = 0; from < bytes.length; from += pieceBytes) yield bytes.subarray(from, from + pieceBytes)
  }
  const records: BankRecord[] = []
  for await (const record of readBankFile(pieces(), csv === undefined ? {} : { csv })) records.push(record)
  return records
}

export async function entriesOf(file: string | Buffer, csv?: CsvMapping): Promise<BankEntry[]> {
  return (await recordsOf(file, csv)).filter((record) => record.type === 'entry')
}

/** Returns the rule that the file violates, and its values, or `undefined`. */
export async function problemOf(file: string | Buffer, csv?: CsvMapping): Promise<[string, RuleValues] | undefined> {
  try {
    await recordsOf(file, csv)
    return undefined
  } catch (error) {
    if (!(error instanceof BankFileError)) throw error
    return [error.violation.rule, error.violation.values]
  }
}

/** Returns a camt.053 in version 08 with the entries, which start in line 2. */
export const camt053 = (entries: string, extra = ''): string => `<Document><BkToCstmrStmt><Stmt>${[
  '<Id>S-1</Id><Acct><Id><IBAN>DE89370400440532013000</IBAN></Id><Ccy>EUR</Ccy></Acct>',
  extra,
].join('')}
${entries}</Stmt></BkToCstmrStmt></Document>`

/** Returns an entry of 10.00 EUR, in which the given elements replace those with the same name. */
export function ntry(elements: Readonly<Record<string, string>> = {}): string {
  const all = {
    ...{ Amt: '<Amt Ccy="EUR">10.00</Amt>', CdtDbtInd: '<CdtDbtInd>CRDT</CdtDbtInd>', Sts: '<Sts><Cd>BOOK</Cd></Sts>' },
    ...{ BookgDt: '<BookgDt><Dt>2026-03-02</Dt></BookgDt>', ...elements },
  }
  return `<Ntry>${Object.values(all).join('')}</Ntry>`
}

export const withDetails = (details: string, batch = ''): string =>
  ntry({ NtryDtls: `<NtryDtls>${batch}<TxDtls>${details}</TxDtls></NtryDtls>` })

/** Returns an MT940 message with the lines between its balances. */
export const mt940 = (...lines: string[]): string =>
  [
    ...[':20:REF-1', ':25:DE89370400440532013000', ':28C:7/1', ':60F:C260302EUR100,', ...lines],
    ...[':62F:C260302EUR100,', '-', ''],
  ].join('\r\n')

/** Returns a pattern of `t.match` for a list of exactly these items. A list as the pattern would also match longer ones. */
export const only = (...items: readonly unknown[]) => ({ ...items, length: items.length })
