import { createHash } from 'node:crypto'
import { join } from 'node:path'
import type { Database, Statement } from '@transferd/event-log/sqlite'
import type { Status } from '../../src/domain/transfer/status.js'
import type { TransferKind } from '../../src/domain/transfer/transfer-events.js'
import {
  type CallbackDocument,
  collections,
  feedId,
  indexes,
  type TransferDocument,
} from '../../src/read-models/documents.js'
import { EmbeddedReadModels } from '../../src/read-models/embedded/embedded-read-models.js'
import { Connection } from '../../src/read-models/embedded/sqlite-connection.js'
import type { Document } from '../../src/read-models/read-models.js'

/** A connection that records its statements and counts the rows that SQLite reads for a SELECT of documents. */
class WatchedConnection extends Connection {
  readonly statements = new Set<string>()
  rowsRead = 0
  #counting: Database | undefined

  override statement(sql: string): Statement<unknown[]> {
    const isList = /^SELECT .*\bdoc FROM c\d+(_words CROSS JOIN .*)? WHERE (?!id = \?$)/.test(sql)
    if (!isList) return super.statement(sql)
    this.statements.add(sql)
    if (this.#counting !== this.database) {
      this.#counting = this.database
      this.database.function('count_row', { deterministic: false }, (_id) => {
        this.rowsRead++
        return 1
      })
    }
    // SQLite evaluates the first condition for each row that the index returns.
    return super.statement(sql.replace(' WHERE ', ' WHERE count_row(id) AND '))
  }

  /** Returns SQLite's plan of a statement without the counter. */
  planOf(sql: string): string[] {
    const parameters = Array.from(sql.matchAll(/\?/g), () => '')
    const rows = this.database.prepare(`EXPLAIN QUERY PLAN ${sql}`).all(...parameters) as { detail: string }[]
    return rows.map(({ detail }) => detail)
  }
}

export class WatchedReadModels extends EmbeddedReadModels {
  constructor(private readonly watched: WatchedConnection) {
    super(watched)
  }

  /** Returns the number of rows read for a query, and the plans of its statements. */
  async watch<Answer>(question: () => Promise<Answer>) {
    this.watched.rowsRead = 0
    this.watched.statements.clear()
    const answer = await question()
    const plans = [...this.watched.statements].flatMap((sql) => this.watched.planOf(sql))
    return { answer, rowsRead: this.watched.rowsRead, plans }
  }
}

export function openWatchedReadModels(directory: string): WatchedReadModels {
  return new WatchedReadModels(new WatchedConnection(join(directory, 'read-models.db')))
}

/** Whether the plan searches an index in its order, without a sort or a scan. */
export function isServedByIndex(plan: string): boolean {
  return /^(SEARCH c\d+ USING ((COVERING )?INDEX|(INTEGER )?PRIMARY KEY) |SCAN c\d+_words VIRTUAL TABLE INDEX \d+:.*M)/.test(
    plan,
  )
}

export const busyMerchant = '0b7e9a52-3c1d-4f6e-8a90-1b2c3d4e5f60'
export const quietMerchant = '4f0c2d1e-8b7a-4c6d-9e0f-1a2b3c4d5e6f'
const startMs = Date.parse('2026-01-01T00:00:00Z')
/** The number of rows within the same millisecond. */
const perMillisecond = 60

function uuid(name: string): string {
  const hex = createHash('md5').update(name).digest('hex')
  return [hex.slice(0, 8), hex.slice(8, 12), hex.slice(12, 16), hex.slice(16, 20), hex.slice(20)].join('-')
}

export function timeOf(n: number): string {
  return new Date(startMs + Math.floor(n / perMillisecond) * 1000).toISOString()
}

/** Returns one of the amounts. Each amount occurs many times, in random order. */
function amountOf(n: number): number {
  return 1_000 + ((n * 7_919) % 5_003) * 100
}

/** Two names have the same prefix, and one starts like a userId. */
const names = ['Ada Lovelace', 'Adam Smith', 'IŞIK Öz', 'user-7 Bond']

/** Nearly all transfers are completed deposits of one merchant. The kinds and statuses in queries are rare. */
export function transferOf(n: number): TransferDocument {
  const merchantId = n % 499 === 7 ? quietMerchant : busyMerchant
  const kind: TransferKind = n % 9_973 === 5 ? 'withdrawal' : 'deposit'
  const rare: readonly Status[] = ['Pending', 'ManualControl', 'Cancelled', 'Failed']
  const status = n % 997 < 4 ? rare[n % 997]! : 'Completed'
  return {
    _id: uuid(`transfer ${n}`),
    position: n,
    merchantId,
    kind,
    status,
    referenceId: `order-${n}`,
    amountMinor: amountOf(n),
    transactionAmountMinor: status === 'Completed' ? amountOf(n) : 0,
    hasAmountMismatch: false,
    userId: `user-${n % 1_009}`,
    name: names[n % names.length]!,
    username: 'ada',
    paymentMethod: n % 101 === 17 ? 2 : 1,
    ...(kind === 'withdrawal' && { accountNumber: `TR33 0006 ${n}` }),
    createdAt: timeOf(n),
    updatedAt: timeOf(n),
    ...(status === 'Pending' && { openUntil: timeOf(n) }),
    ...(status === 'Failed' && { attention: kind, attentionOf: `${kind} ${merchantId}` }),
    revision: 0,
  }
}

export function callbackOf(n: number): CallbackDocument {
  const status = n % 1_009 === 3 ? 'parked' : n % 499 === 11 ? 'waiting' : 'delivered'
  return {
    _id: uuid(`callback ${n}`),
    position: n,
    merchantId: n % 499 === 7 ? quietMerchant : busyMerchant,
    trackingId: uuid(`transfer ${n}`),
    transferRevision: 1,
    transferStatus: 2,
    referenceId: `order-${n}`,
    status,
    attempts: 0,
    ...(status === 'waiting' && { dueAt: timeOf(n) }),
    ...(status === 'parked' && { parkedAt: timeOf(n) }),
    recordedAt: timeOf(n),
    revision: 0,
  }
}

const batch = 10_000

async function insert(readModels: WatchedReadModels, name: string, count: number, documentOf: (n: number) => Document) {
  const collection = readModels.collection(name)
  for (let from = 0; from < count; from += batch) {
    const rows = Array.from({ length: Math.min(batch, count - from) }, (_, n) => documentOf(from + n))
    await collection.put(rows)
  }
}

/** Writes transfers, and a tenth as many callbacks and events. */
export async function fillReadModels(readModels: WatchedReadModels, count: number): Promise<void> {
  await readModels.createUnfilled(collections.transfers, indexes.transfers)
  await readModels.createUnfilled(collections.callbacks, indexes.callbacks)
  await insert(readModels, collections.transfers, count, transferOf)
  await insert(readModels, collections.callbacks, Math.ceil(count / 10), callbackOf)
  await readModels.createIndexes(collections.transfers, indexes.transfers)
  await readModels.createIndexes(collections.callbacks, indexes.callbacks)
  await readModels.createIndexes(collections.transferEvents, indexes.transferEvents)
  await insert(readModels, collections.transferEvents, Math.ceil(count / 10), (n) => ({
    _id: feedId({ commit: BigInt(n) }),
    merchantId: n % 499 === 7 ? quietMerchant : busyMerchant,
    trackingId: uuid(`transfer ${n}`),
    revision: 0,
  }))
}
