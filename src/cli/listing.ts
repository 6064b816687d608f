import { type Currency, currencyOf } from '../domain/money.js'
import { exactCsv } from '../kernel/csv.js'
import { escapeHidden } from '../kernel/text.js'
import type { Output } from './output.js'
import { type Columns, cell, exactTime, headOf, table } from './readable.js'

/** How a column of a list is printed. All formats except the csv format are for people. */
export interface ListColumn<Row> {
  /** The only formats that include the column unless `--columns` names it. By default, every format includes it. */
  readonly only?: 'wide and csv' | 'csv'
  /** Defaults to the name of the field. */
  readonly head?: string
  /** Returns the text for people. Defaults to the value of the field. */
  readonly cell?: (row: Row) => unknown
  /** Returns a shorter text for the narrow table, such as the first characters of an id. */
  readonly short?: (row: Row) => unknown
  /** The maximum length in the narrow table. */
  readonly max?: number
  readonly align?: 'right'
}

/** The columns of a list by the fields of its rows in the JSON document, in their order. */
type ListColumns<Row> = { readonly [field: string]: ListColumn<Row> } & Readonly<
  Record<keyof Row & string, ListColumn<Row>>
>

/** The definition of a list, from which it is printed in every format. */
export interface Listing<Row> {
  readonly columns: ListColumns<Row>
  /** The sentence that replaces an empty table. */
  readonly none: string
  /** Returns a suggestion for the next step, which is printed on stderr. */
  readonly hint?: (rows: readonly Row[]) => string | undefined
}

/** A list, or a page of one. */
export type List<Row> = readonly Row[] | { readonly items: readonly Row[]; readonly nextCursor?: string | null }

/** Returns columns that only some formats include. */
export function columnsOnlyIn<Field extends string>(only: 'wide and csv' | 'csv', ...fields: Field[]) {
  return Object.fromEntries(fields.map((field) => [field, { only }])) as {
    readonly [Each in Field]: { readonly only: typeof only }
  }
}

/** Returns an amount in the decimals of its currency. The currency of a log is a supported one. */
export function amountText(amount: number, currency: string): string {
  return `${amount.toFixed((currencyOf(currency) as Currency).decimals)} ${currency}`
}

/** Returns the text of a list in the given format. Prints its hint, and the cursor of the next page. `chosen` are the columns to print. */
export function listed<Row>(
  list: List<Row>,
  listing: Listing<Row>,
  format: 'table' | 'wide' | 'csv',
  chosen: readonly string[] | undefined,
  { notify }: Pick<Output, 'notify'>,
): string {
  const { items, nextCursor = null } = 'items' in list ? list : { items: list }
  if (nextCursor !== null) notify(`there are more: use --cursor ${nextCursor}`)
  const next = listing.hint?.(items)
  if (next !== undefined) notify(next)
  const all = new Map(Object.entries<ListColumn<Row>>(listing.columns))
  const isIncluded = (field: string) => {
    const only = all.get(field)?.only
    return only === undefined || format === 'csv' || (format === 'wide' && only === 'wide and csv')
  }
  const fields = chosen ?? [...all.keys()].filter(isIncluded)
  if (format === 'csv') return csv(items, fields)
  if (items.length === 0) return `${listing.none}\n`
  const columns = fields.map((field) => [field, all.get(field)!] as const)
  return format === 'wide' ? wideTable(items, columns) : narrowTable(items, columns)
}

type NamedColumns<Row> = readonly (readonly [field: string, ListColumn<Row>])[]

function narrowTable<Row>(rows: readonly Row[], columns: NamedColumns<Row>): string {
  const shown = columns.map(([field, { head = headOf(field), short, cell, max, align }]) => [
    head,
    { cell: short ?? cell ?? field, ...(max !== undefined && { max }), ...(align && { align }) },
  ])
  return table(rows, Object.fromEntries(shown) as Columns<Row>)
}

/** The head of a shortened cell, such as AGE, does not name the whole value. */
function wideTable<Row>(rows: readonly Row[], columns: NamedColumns<Row>): string {
  const shown = columns.map(([field, { head = headOf(field), short, cell: of = fieldOf<Row>(field), align }]) => [
    short ? headOf(field) : head,
    { cell: (row: Row) => cell(of(row), field, exactTime), ...(align && { align }) },
  ])
  return table(rows, Object.fromEntries(shown) as Columns<Row>, Number.POSITIVE_INFINITY)
}

/** Returns the exact values, in a first line the names of the fields. A terminal must not interpret characters of a stored text. */
function csv<Row>(rows: readonly Row[], fields: readonly string[]): string {
  const shown = process.stdout.isTTY ? escapeHidden : (text: string) => text
  return exactCsv([fields, ...rows.map((row) => fields.map((field) => shown(exactText(fieldOf<Row>(field)(row)))))])
}

/** Returns a text unchanged, other values as in JSON, and nothing for a missing value. */
function exactText(value: unknown): string {
  if (value === null || value === undefined) return ''
  return typeof value === 'string' ? value : JSON.stringify(value)
}

function fieldOf<Row>(field: string): (row: Row) => unknown {
  return (row) => (row as { readonly [field: string]: unknown })[field]
}
