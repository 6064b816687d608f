import { randomUUID } from 'node:crypto'
import type { Database, Statement } from 'better-sqlite3'
import { type Body, decodeBody, encodeBody, idOfBody, parseObject } from '../file/event-body.js'
import { LogTransaction } from '../file/log-transaction.js'
import {
  isMetadataStream,
  metadataStream,
  noMetadata,
  parseMetadata,
  type StreamMetadata,
  softDeletedText,
  tombstoneRevision,
} from '../file/stream-metadata.js'
import type { StreamNumbers } from '../file/stream-numbers.js'
import type { Operation, Outcome } from './operations.js'
import { RecentIds } from './recent-ids.js'
import { judgeDelete, judgeStreamAppend, judgeTombstone, type StoredIds, type StreamState } from './stream-rules.js'

/** A stream as an operation finds it. */
interface Found extends StreamState {
  readonly name: string
  /** Undefined: the stream never had an event. */
  readonly number: number | undefined
  readonly metadata: StreamMetadata
}

const none = new Uint8Array(0)

/**
 * Executes what clients of the protocol ask for, several operations in one transaction. Beside `Appender`, which does
 * the little the service itself needs and must stay quick: both write the same file under the same lock.
 */
export class StreamAppender {
  readonly #transaction: LogTransaction
  readonly #numbers: StreamNumbers
  readonly #recentIds: RecentIds
  readonly #insert: Statement<[number, number, number, number, string, Body]>
  readonly #lastTwo: Statement<[number], number>
  readonly #lastBody: Statement<[number, number], Body>
  readonly #bodies: Statement<[number, number, number], [number, Body]>
  readonly #placeOf: Statement<[number, number], [number, number]>

  constructor(db: Database) {
    this.#transaction = new LogTransaction(db)
    this.#numbers = this.#transaction.numbers
    this.#insert = db.prepare(
      'INSERT INTO events (position, stream, revision, recorded_at, name, body) VALUES (?, ?, ?, ?, ?, ?)',
    )
    this.#lastTwo = db
      .prepare<[number], number>('SELECT revision FROM events WHERE stream = ? ORDER BY revision DESC LIMIT 2')
      .pluck()
    this.#lastBody = db
      .prepare<[number, number], Body>('SELECT body FROM events WHERE stream = ? AND revision = ?')
      .pluck()
    this.#bodies = db
      .prepare<[number, number, number], [number, Body]>(
        'SELECT revision, body FROM events WHERE stream = ? AND revision BETWEEN ? AND ? ORDER BY revision',
      )
      .raw()
    this.#placeOf = db
      .prepare<[number, number], [number, number]>(
        'SELECT position, recorded_at FROM events WHERE stream = ? AND revision = ?',
      )
      .raw()
    this.#recentIds = new RecentIds((stream, from, to) => this.#ids(stream, from, to))
  }

  begun(nowMs: number): void {
    this.#transaction.begun(nowMs)
  }

  commit(): number {
    return this.#transaction.commit()
  }

  rollback(): void {
    this.#transaction.rollback()
    this.#recentIds.clear()
  }

  execute(operation: Operation): Outcome {
    const found = this.#find(operation.stream)
    switch (operation.kind) {
      case 'append':
        return this.#append(found, operation)
      case 'delete':
        return this.#remove(found, judgeDelete(operation.expected, found).kind, () => this.#softDelete(found))
      case 'tombstone':
        return this.#remove(found, judgeTombstone(operation.expected, found).kind, () => {
          const body = encodeBody({
            id: randomUUID(),
            type: '$streamDeleted',
            isJson: false,
            data: none,
            metadata: none,
          })
          this.#write(found, tombstoneRevision, [body])
          return this.#transaction.position
        })
      default:
        return operation satisfies never
    }
  }

  #append(found: Found, { expected, ids, bodies }: Extract<Operation, { kind: 'append' }>): Outcome {
    const verdict = judgeStreamAppend(expected, ids, found, this.#storedIds(found))
    switch (verdict.kind) {
      case 'write': {
        this.#write(found, found.current + 1, bodies)
        const position = this.#transaction.position
        if (found.isSoftDeleted) this.#recreate(found)
        if (isMetadataStream(found.name)) this.#undelete(found.name.slice(2), bodies)
        return { kind: 'ok', revision: Math.max(0, found.current + bodies.length), position }
      }
      case 'done':
        return { kind: 'ok', revision: verdict.revision, ...this.#readableAt(found, verdict.revision) }
      case 'wrong_revision':
        return { kind: 'wrong_revision', actual: found.current }
      case 'deleted':
        return { kind: 'deleted' }
      default:
        return verdict satisfies never
    }
  }

  #remove(found: Found, verdict: 'write' | 'done' | 'wrong_revision' | 'deleted', remove: () => number): Outcome {
    if (verdict === 'deleted') return { kind: 'deleted' }
    if (verdict !== 'write') return { kind: 'wrong_revision', actual: found.current }
    return { kind: 'ok', revision: Math.max(0, found.current), position: remove() }
  }

  #softDelete(found: Found): number {
    this.#writeMetadata(found.name, `{"$tb":${softDeletedText}}`)
    return this.#transaction.position
  }

  /** A soft-deleted stream that was appended to shows what is new, and nothing older. */
  #recreate(found: Found): void {
    const last = this.#lastMetadata(found.name) ?? {}
    this.#writeMetadata(found.name, JSON.stringify({ ...last, $tb: found.current + 1 }))
  }

  /** Metadata written over that of a soft-deleted stream brings the stream back, without its old events. */
  #undelete(stream: string, bodies: readonly Body[]): void {
    const body = bodies.at(-1)
    if (body === undefined || !this.#wasSoftDeleted(stream, bodies.length)) return
    const { isJson, data } = decodeBody(body)
    if (parseMetadata(isJson, data).isSoftDeleted) return
    const { current, isTombstoned } = this.#find(stream)
    if (isTombstoned) return
    const written = (isJson && parseObject(data)) || {}
    this.#writeMetadata(stream, JSON.stringify({ ...written, $tb: current + 1 }))
  }

  #wasSoftDeleted(stream: string, written: number): boolean {
    const number = this.#numbers.find(metadataStream(stream))
    if (number === undefined) return false
    const [last] = this.#lastTwo.all(number)
    const body = this.#lastBody.get(number, (last ?? 0) - written)
    if (body === undefined) return false
    const { isJson, data } = decodeBody(body)
    return parseMetadata(isJson, data).isSoftDeleted
  }

  #writeMetadata(stream: string, text: string): void {
    const body = encodeBody({
      id: randomUUID(),
      type: '$metadata',
      isJson: true,
      data: Buffer.from(text),
      metadata: none,
    })
    const found = this.#find(metadataStream(stream))
    this.#write(found, found.current + 1, [body])
  }

  #lastMetadata(stream: string): Record<string, unknown> | undefined {
    const { number, current } = this.#find(metadataStream(stream))
    const body = number === undefined ? undefined : this.#lastBody.get(number, current)
    if (body === undefined) return undefined
    const { isJson, data } = decodeBody(body)
    return isJson ? parseObject(data) : undefined
  }

  #find(name: string): Found {
    const number = this.#numbers.find(name)
    const [last = -1, before = -1] = number === undefined ? [] : this.#lastTwo.all(number)
    const isTombstoned = last === tombstoneRevision
    const { metadata, hasMetadata } = this.#metadataOf(name)
    const isSoftDeleted = !isMetadataStream(name) && metadata.isSoftDeleted
    return { name, number, current: isTombstoned ? before : last, isTombstoned, isSoftDeleted, hasMetadata, metadata }
  }

  #metadataOf(name: string): { metadata: StreamMetadata; hasMetadata: boolean } {
    const number = this.#numbers.find(metadataStream(name))
    const [last] = number === undefined ? [] : this.#lastTwo.all(number)
    if (number === undefined || last === undefined || last === tombstoneRevision) {
      return { metadata: noMetadata, hasMetadata: false }
    }
    const { isJson, data } = decodeBody(this.#lastBody.get(number, last)!)
    return { metadata: parseMetadata(isJson, data), hasMetadata: true }
  }

  #storedIds({ number, current }: Found): StoredIds {
    if (number === undefined) return { holdsFrom: () => false, isAt: () => false, firstWith: () => undefined }
    const holdsFrom = (revision: number, ids: readonly string[]) => {
      let at = 0
      for (const { id } of this.#ids(number, revision, revision + ids.length - 1)) if (id !== ids[at++]) return false
      return at === ids.length
    }
    return {
      holdsFrom,
      isAt: (revision, id) => holdsFrom(revision, [id]),
      firstWith: (id) => this.#recentIds.firstWith(number, current, id),
    }
  }

  *#ids(stream: number, from: number, to: number): Generator<{ revision: number; id: string }> {
    // All at once: no statement may be left open when the transaction ends.
    for (const [revision, body] of this.#bodies.all(stream, from, to)) yield { revision, id: idOfBody(body) }
  }

  #readableAt({ number, current, metadata, isSoftDeleted, name }: Found, revision: number): { position?: number } {
    const place = this.#placeOf.get(number ?? 0, revision)
    if (place === undefined) return {}
    const [position, recordedAtMs] = place
    const { maxCount, maxAgeMs, truncateBefore } = isMetadataStream(name) ? { ...noMetadata, maxCount: 1 } : metadata
    const isHidden =
      isSoftDeleted ||
      revision < truncateBefore ||
      (maxCount !== undefined && revision <= current - maxCount) ||
      (maxAgeMs !== undefined && recordedAtMs < this.#transaction.nowMs - maxAgeMs)
    return isHidden ? {} : { position }
  }

  #write({ name, number: known }: Found, firstRevision: number, bodies: readonly Body[]): void {
    if (bodies.length === 0) return
    // Found again: an event written just now may have been the stream's first.
    const number = known ?? this.#numbers.find(name) ?? this.#transaction.addStream(name)
    let revision = firstRevision
    for (const body of bodies) {
      this.#transaction.position += 1
      this.#insert.run(this.#transaction.position, number, revision, this.#transaction.nowMs, name, body)
      revision += 1
    }
  }
}
