import { createHash } from 'node:crypto'
import { streamPrefixes } from '../../domain/streams.js'
import {
  type EventStore,
  formatPosition,
  logPages,
  type Position,
  type RecordedEvent,
} from '../../event-store/event-store.js'
import { exactCsv } from '../../kernel/csv.js'
import { LogNames } from './log-names.js'
import { auditRecord, merchantIdOf, trackingIdOf } from './records.js'

type Store = Pick<EventStore, 'readAll' | 'readStream'>

export type ExportFormat = 'ndjson' | 'csv'

/** The events to export and their format. The same query of the same log always results in the same bytes. */
export interface ExportQuery {
  readonly format: ExportFormat
  readonly merchantId: string | null
  /** Inclusive recording time; ISO 8601 in UTC with milliseconds. */
  readonly from: string | null
  /** Exclusive recording time. */
  readonly to: string | null
  /** The last examined position; `null` on an empty log. */
  readonly until: Position | null
}

/** Returns the name of the files without their numbers and extension. A CSV file is for programs, not for spreadsheets. */
export const exportName = (format: ExportFormat): string => (format === 'csv' ? 'events-exact' : 'events')

const csvColumns = [
  ...['position', 'recordedAt', 'at', 'stream', 'revision', 'type', 'actor', 'actorName'],
  ...['correlationId', 'causationId', 'id', 'merchantId', 'merchantName', 'trackingId'],
  ...['amountMinor', 'schemaVersion', 'skipped', 'unreadable', 'data'],
]

/** Returns the first line of every file of the format. */
export function headOf(format: ExportFormat): string {
  return format === 'csv' ? exactCsv([csvColumns]) : ''
}

/**
 * Yields the lines of the exported events, possibly none, of each page of the log from its start or after the position of an earlier page.
 * The export can resume from `at`, the last examined position. @throws StoreUnavailableError
 */
export async function* exportPages(store: Store, query: ExportQuery, after?: Position | undefined) {
  const { until } = query
  if (!until) return
  const names = new LogNames(store)
  for await (const { events, through } of logPages(store, { after, until, streamPrefixes })) {
    const lines: string[] = []
    let [first, last]: (Position | undefined)[] = []
    for (const recorded of events) {
      names.pass(recorded)
      if (!isWithin(recorded, query)) continue
      const merchantId = await merchantIdOf(store, recorded)
      if (query.merchantId !== null && merchantId !== query.merchantId) continue
      lines.push(lineOf(await namedRecord(recorded, merchantId, names), query.format))
      first ??= recorded.position
      last = recorded.position
    }
    yield { lines, first, last, at: through }
  }
}

function isWithin({ recordedAtMs }: RecordedEvent, { from, to }: ExportQuery): boolean {
  return (from === null || recordedAtMs >= Date.parse(from)) && (to === null || recordedAtMs < Date.parse(to))
}

async function namedRecord(recorded: RecordedEvent, merchantId: string | null, names: LogNames) {
  const { position } = recorded
  const record = auditRecord(recorded)
  const actorName = await names.actor(record.actor, position)
  const merchantName = merchantId === null ? null : await names.merchant(merchantId, position)
  return { ...record, actorName, merchantId, merchantName, trackingId: trackingIdOf(recorded) }
}

function lineOf(record: Awaited<ReturnType<typeof namedRecord>>, format: ExportFormat): string {
  if (format === 'ndjson') return `${JSON.stringify(record)}\n`
  const { data, skipped } = record
  const text = (name: string) => (typeof data?.[name] === 'string' ? data[name] : '')
  const cells: { readonly [column: string]: unknown } = {
    ...record,
    at: text('at'),
    amountMinor: text('amountMinor'),
    skipped: skipped ? 'true' : '',
    data: data === null ? '' : safeJson(data),
  }
  return exactCsv([csvColumns.map((column) => String(cells[column] ?? ''))])
}

/**
 * Returns JSON that a spreadsheet does not divide, if it ignores quotes and expects semicolons: a customer's `;=…` would be a formula.
 * JSON has semicolons in texts only, where an escape is the same character.
 */
function safeJson(data: object): string {
  return JSON.stringify(data).replaceAll(';', '\\u003b')
}

export interface ExportedFile {
  readonly name: string
  readonly events: number
  readonly bytes: number
  readonly sha256: string
}

export interface Exported {
  readonly first: Position | undefined
  readonly last: Position | undefined
  readonly files: readonly ExportedFile[]
}

export type Manifest = ReturnType<typeof manifestOf>

/** Returns the contents of an export, with which recipients can check that the files are complete and unchanged. */
export function manifestOf({ format, merchantId, from, to, until }: ExportQuery, { first, last, files }: Exported) {
  return {
    format,
    merchantId,
    from,
    to,
    until: until && formatPosition(until),
    events: files.reduce((sum, { events }) => sum + events, 0),
    firstPosition: first ? formatPosition(first) : null,
    lastPosition: last ? formatPosition(last) : null,
    files,
  }
}

/** Measures the export as one file, without writing it. @throws StoreUnavailableError */
export async function measuredExport(
  { store }: { readonly store: Store },
  query: ExportQuery & { readonly name: string },
): Promise<Exported> {
  const hash = createHash('sha256')
  let [first, last]: (Position | undefined)[] = []
  let [events, bytes] = [0, 0]
  const add = (text: string) => {
    hash.update(text)
    bytes += Buffer.byteLength(text)
  }
  add(headOf(query.format))
  for await (const page of exportPages(store, query)) {
    for (const line of page.lines) add(line)
    events += page.lines.length
    first ??= page.first
    last = page.last ?? last
  }
  return { first, last, files: [{ name: query.name, events, bytes, sha256: hash.digest('hex') }] }
}
