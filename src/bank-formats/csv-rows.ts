import { pipeline, Readable } from 'node:stream'
import { CsvError, parse } from 'csv-parse'
import { fail } from './bank-file-error.js'
import type { Line } from './file-text.js'

export interface CsvRow {
  readonly cells: readonly string[]
  /** The line in which the row ends: a quoted cell can contain line ends. */
  readonly place: string
}

const maxRowLength = 65_536

/** Returns the rows of RFC 4180, except empty ones. @throws BankFileError for a quote that does not fit, or a row without an end in sight */
export async function* csvRows(lines: AsyncIterable<Line>, delimiter: string): AsyncGenerator<CsvRow> {
  const parser = parse({
    delimiter,
    info: true,
    relax_column_count: true,
    skip_empty_lines: true,
    max_record_size: maxRowLength,
  })
  // The pipeline passes an error of the lines on to the loop.
  pipeline(Readable.from(textOf(lines)), parser, () => {})
  try {
    for await (const { record, info } of parser as AsyncIterable<{ record: string[]; info: { lines: number } }>) {
      yield { cells: record.map((cell) => cell.trim()), place: String(info.lines) }
    }
  } catch (error) {
    if (!(error instanceof CsvError)) throw error
    fail('bank-file-damaged', { place: String(error.lines) })
  }
}

async function* textOf(lines: AsyncIterable<Line>): AsyncGenerator<string> {
  for await (const { text } of lines) yield `${text}\n`
}
