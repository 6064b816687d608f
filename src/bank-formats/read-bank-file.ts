import type { BankFileFormat, BankRecord, CsvMapping } from '../domain/bank/bank-records.js'
import { fail } from './bank-file-error.js'
import { camtRecords } from './camt.js'
import { csvRecords } from './csv-statement.js'
import { asUtf8, decoded, linesOf, startOf } from './file-text.js'
import { mtFields } from './mt-fields.js'
import { mtRecords } from './mt-statements.js'
import { painStatuses } from './pain-status.js'
import { type MessagePart, readMessage } from './xml-message.js'

/** The formats by the local name of the message, because banks write versions and namespaces in different ways. */
const messages = {
  BkToCstmrAcctRpt: 'camt.052',
  BkToCstmrStmt: 'camt.053',
  BkToCstmrDbtCdtNtfctn: 'camt.054',
  CstmrPmtStsRpt: 'pain.002',
} as const satisfies { readonly [name: string]: BankFileFormat }

/** The encodings that an XML declaration can state. As in browsers, ISO-8859-1 includes the characters of windows-1252. */
const encodings: { readonly [name: string]: string } = {
  ...{ 'utf-8': 'utf-8', utf8: 'utf-8', 'us-ascii': 'utf-8', 'iso-8859-1': 'windows-1252', latin1: 'windows-1252' },
  ...{ 'iso-8859-15': 'iso-8859-15', 'windows-1252': 'windows-1252', cp1252: 'windows-1252' },
}

/**
 * Reads a file of a bank in one pass and in bounded memory, and returns its records in the order of the file. Its first bytes decide the
 * format. Only a CSV file needs `csv`. @throws BankFileError for anything that it cannot read correctly, after the records before it
 */
export async function* readBankFile(
  bytes: AsyncIterable<Uint8Array>,
  options: { readonly csv?: CsvMapping },
): AsyncGenerator<BankRecord> {
  const { start, all } = await startOf(bytes, 2_048)
  const wide = wideEncodingOf(start)
  const text = wide === undefined ? start.toString('latin1') : new TextDecoder(wide).decode(start)
  const utf8 = wide === undefined ? all : asUtf8(all, wide)
  if (text.startsWith('PK\u0003\u0004')) fail('bank-file-zipped')
  const plain = text.replace(/^(?:\u00ef\u00bb\u00bf|\ufeff)?\s*/, '')
  if (plain.startsWith('<')) {
    const [, declared = 'utf-8'] = /^<\?xml[^>]*?encoding\s*=\s*["']([\w.:-]{1,40})["']/.exec(plain) ?? []
    const isByteOrderMarked = text.startsWith('\u00ef\u00bb\u00bf')
    const encoding = wide !== undefined || isByteOrderMarked ? 'utf-8' : encodings[declared.toLowerCase()]
    if (encoding === undefined) fail('bank-file-encoding', { encoding: declared })
    yield* xmlRecords(readMessage(decoded(utf8, encoding), Object.keys(messages), 'TxDtls'))
  } else if (/^(?:\{1:|:20:|:940:|:942:|(?:[A-Z]{4}[A-Z0-9]{2,8}\r?\n)?94[02]\r?\n)/.test(plain)) {
    yield* mtRecords(mtFields(linesOf(utf8)))
  } else if (options.csv !== undefined && plain !== '') yield* csvRecords(linesOf(utf8), options.csv)
  else fail('bank-file-unrecognised')
}

/** Returns the encoding of a file in UTF-16, from its byte order mark or the zero byte next to its first character. */
function wideEncodingOf([a, b]: Buffer): 'utf-16le' | 'utf-16be' | undefined {
  if ((a === 0xff && b === 0xfe) || (a !== 0 && b === 0)) return 'utf-16le'
  return (a === 0xfe && b === 0xff) || (a === 0 && b !== undefined && b !== 0) ? 'utf-16be' : undefined
}

async function* xmlRecords(parts: AsyncGenerator<MessagePart>): AsyncGenerator<BankRecord> {
  const first = await parts.next()
  if (first.done || first.value.type !== 'message') fail('bank-file-unrecognised')
  const format = messages[first.value.name as keyof typeof messages]
  yield* format === 'pain.002' ? painStatuses(parts) : camtRecords(parts, format)
}
