import type { Balance, BankEntry, BankRecord, CsvMapping } from '../domain/bank/bank-records.js'
import { fail } from './bank-file-error.js'
import { type CsvRow, csvRows } from './csv-rows.js'
import { dayIn, signedAmount } from './csv-values.js'
import type { Line } from './file-text.js'
import { referenceOrNull, unstatedPayment, withoutSpaces } from './values.js'

type ColumnKey = keyof CsvMapping['columns']

/** Returns the records of a CSV file, which is one statement. */
export async function* csvRecords(lines: AsyncIterable<Line>, mapping: CsvMapping): AsyncGenerator<BankRecord> {
  yield {
    ...{ type: 'statement', format: 'csv', account: null, currency: mapping.currency ?? null },
    ...{ statementId: null, number: null },
  }
  let cellOf: ReturnType<typeof reader> | undefined
  let place = '1'
  let number = 0
  const balances = new Balances()
  for await (const row of csvRows(after(lines, mapping.skipLines ?? 0), mapping.separator)) {
    place = String(Number(row.place) + (mapping.skipLines ?? 0))
    if (cellOf === undefined) cellOf = reader(mapping, row.cells, place)
    else {
      number += 1
      const entry = entryOf(mapping, cellOf, { ...row, place }, number)
      yield entry
      balances.add(entry, balanceOf(mapping, cellOf, { ...row, place }))
    }
  }
  if (cellOf === undefined) fail('bank-value-missing', { name: mapping.columns.date, place })
  yield { type: 'statement-end', ...balances.ends() }
}

async function* after(lines: AsyncIterable<Line>, count: number): AsyncGenerator<Line> {
  let skipped = 0
  for await (const line of lines) if (skipped++ >= count) yield line
}

/** Returns a function that returns the cell of a column, or null if the mapping has no such column or the cell is empty. */
function reader({ columns }: CsvMapping, head: readonly string[], place: string) {
  const indices = new Map<ColumnKey, number>()
  for (const [key, name] of Object.entries(columns) as [ColumnKey, string][]) {
    const index = head.indexOf(name)
    if (index < 0) fail('bank-value-missing', { name, place })
    indices.set(key, index)
  }
  return (row: CsvRow, key: ColumnKey): string | null => {
    const index = indices.get(key)
    if (index === undefined) return null
    const cell = row.cells[index] ?? fail('bank-value-missing', { name: columns[key]!, place: row.place })
    return cell === '' ? null : cell
  }
}

type CellOf = ReturnType<typeof reader>

function entryOf(mapping: CsvMapping, cellOf: CellOf, row: CsvRow, number: number): BankEntry {
  const { place } = row
  const signed = signedOf(mapping, cellOf, row)
  const amountMinor = signed < 0n ? -signed : signed
  const remittance = cellOf(row, 'remittance')
  return {
    ...{ type: 'entry', number, status: 'booked', direction: signed < 0n ? 'debit' : 'credit', isReversal: false },
    ...{ amountMinor, currency: currencyOf(mapping, cellOf, row) },
    date: dayIn(cellOf(row, 'date') ?? '', mapping.dateFormat) ?? fail('bank-date-invalid', { place }),
    ...{ bankReference: cellOf(row, 'bankReference'), kind: null, text: null, fileId: null, paymentCount: null },
    payments: [
      {
        ...{ ...unstatedPayment, amountMinor, endToEndId: referenceOrNull(cellOf(row, 'endToEndId')) },
        ...{ name: cellOf(row, 'name'), account: withoutSpaces(cellOf(row, 'account')) },
        remittance: remittance?.split('\n').flatMap((line) => line.trim() || []) ?? [],
      },
    ],
  }
}

/** Returns the amount, negative for a debit: from one column with a sign or with a column of the direction, or from two columns. */
function signedOf({ columns, debitValues = [], decimalMark }: CsvMapping, cellOf: CellOf, row: CsvRow): bigint {
  const invalid = () => fail('bank-amount-invalid', { place: row.place })
  const amountIn = (key: ColumnKey) => {
    const cell = cellOf(row, key)
    return cell === null ? 0n : (signedAmount(cell, decimalMark) ?? invalid())
  }
  if (columns.amount === undefined) {
    // Some banks write the debit with a sign, and a zero into the other column.
    const [credit, debit] = [amountIn('credit'), amountIn('debit')]
    if ((credit === 0n) === (debit === 0n) || credit < 0n) invalid()
    return credit !== 0n ? credit : debit < 0n ? debit : -debit
  }
  if (cellOf(row, 'amount') === null) invalid()
  const amount = amountIn('amount')
  if (columns.sign === undefined) return amount
  if (amount < 0n) invalid()
  const direction = cellOf(row, 'sign') ?? fail('bank-value-missing', { name: columns.sign, place: row.place })
  return debitValues.includes(direction) ? -amount : amount
}

function currencyOf(mapping: CsvMapping, cellOf: CellOf, row: CsvRow): string {
  const currency = cellOf(row, 'currency') ?? mapping.currency
  if (currency !== undefined && /^[A-Z]{3}$/.test(currency)) return currency
  const rule = currency === undefined ? 'bank-value-missing' : 'bank-value-unknown'
  return fail(rule, { name: mapping.columns.currency ?? 'currency', place: row.place })
}

function balanceOf(mapping: CsvMapping, cellOf: CellOf, row: CsvRow): bigint | undefined {
  const cell = cellOf(row, 'balance')
  if (cell === null) return undefined
  return signedAmount(cell, mapping.decimalMark) ?? fail('bank-amount-invalid', { place: row.place })
}

interface Row {
  readonly balance: Balance
  readonly before: bigint
}

/** The balances after each entry, of a file whose first entry is the oldest or the latest. A gap or a second currency leaves them unknown. */
class Balances {
  #first: Row | undefined
  #last: Row | undefined
  #isAscending = true
  #isDescending = true

  add({ amountMinor, direction, currency, date }: BankEntry, after: bigint | undefined): void {
    if (after === undefined) {
      this.#isAscending = false
      this.#isDescending = false
      return
    }
    const before = after - (direction === 'credit' ? amountMinor : -amountMinor)
    const row = { balance: { amountMinor: after, currency, date }, before }
    const last = this.#last
    if (last !== undefined) {
      const isSameCurrency = last.balance.currency === currency
      this.#isAscending &&= isSameCurrency && last.balance.amountMinor === before && last.balance.date <= date
      this.#isDescending &&= isSameCurrency && last.before === after && last.balance.date >= date
    }
    this.#first ??= row
    this.#last = row
  }

  ends(): { opening: Balance | null; closing: Balance | null } {
    const [oldest, latest] = this.#isAscending ? [this.#first, this.#last] : [this.#last, this.#first]
    if (oldest === undefined || latest === undefined || (!this.#isAscending && !this.#isDescending))
      return { opening: null, closing: null }
    return { opening: { ...oldest.balance, amountMinor: oldest.before }, closing: latest.balance }
  }
}
