import { randomUUID } from 'node:crypto'
import type { Database, Statement } from 'better-sqlite3'
import { type Body, decodeBody, encodeBody, idOfBody, parseObject } from '../file/event-body.js'
import { BrokenLogError } from '../file/log-file.js'
import type { LogTransaction } from '../file/log-transaction.js'
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
import { RecentIds } from './recent-event-ids.js'
import {
  judgeDelete,
  judgeStreamAppend,
  judgeTombstone,
  type StoredIds,
  type StreamState,
  type Verdict,
} from './stream-rules.js'
import { answered, type Operation } from './writer-messages.js'

/** A stream as an operation finds it. */
interface Found extends StreamState {
  readonly name: string
  /** Undefined: the stream never had an event. */
  readonly number: number | undefined
  readonly metadata: StreamMetadata
}

/** What {@link answered} and {@link answerLength} in writer-messages.ts say. */
type Answer = readonly [kind: number, revision: number, position: number]

const none = new Uint8Array(0)

/** Executes operations by the rules of EventStoreDB's streams, inside the transaction under way. */
export class StreamOperations {
  readonly #transaction: LogTransaction
  readonly #numbers: StreamNumbers
  readonly #recentIds: RecentIds
  readonly #lastTwo: Statement<[number], number>
  readonly #lastBody: Statement<[number, number], Body>
  readonly #bodies: Statement<[number, number, number], [number, Body]>
  readonly #placeOf: Statement<[number, number], [position: number, recordedAtMs: number]>

  constructor(db: Database, transaction: LogTransaction) {
    this.#transaction = transaction
    this.#numbers = transaction.numbers
    this.#recentIds = new RecentIds((stream, from, to) => this.#ids(stream, from, to))
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
  }

  execute(operation: Operation): Answer {
    this.#transaction.flush()
    const found = this.#find(operation.stream)
    switch (operation.kind) {
      case 'append':
        return this.#append(found, operation)
      case 'delete':
        return this.#remove(found, judgeDelete(operation.expected, found), () =>
          this.#writeMetadata(found.name, `{"$tb":${softDeletedText}}`),
        )
      case 'tombstone':
        return this.#remove(found, judgeTombstone(operation.expected, found), () => {
          const content = { type: '$streamDeleted', isJson: false, data: none, metadata: none }
          this.#write(found, tombstoneRevision, [encodeBody({ id: randomUUID(), ...content })])
        })
      default:
        return operation satisfies never
    }
  }

  /** How ids are looked up in a stream whose last event has the revision `current`. */
  storedIds(number: number | undefined, current: number): StoredIds {
    if (number === undefined) return { holdsFrom: () => false, firstWith: () => undefined }
    return {
      holdsFrom: (revision, ids) => {
        let at = 0
        for (const { id } of this.#ids(number, revision, revision + ids.length - 1)) if (id !== ids[at++]) return false
        return at === ids.length
      },
      firstWith: (id) => this.#recentIds.firstWith(number, current, id),
    }
  }

  /** @throws BrokenLogError when there is no such event */
  positionOf(number: number, revision: number): number {
    const place = this.#placeOf.get(number, revision)
    if (place === undefined) throw new BrokenLogError(`stream ${number} has no event ${revision}`)
    return place[0]
  }

  #append(found: Found, { expected, bodies }: Extract<Operation, { kind: 'append' }>): Answer {
    const { number, current } = found
    const verdict = judgeStreamAppend(expected, bodies.map(idOfBody), found, this.storedIds(number, current))
    switch (verdict.kind) {
      case 'write': {
        this.#write(found, current + 1, bodies)
        const { position } = this.#transaction
        if (found.isSoftDeleted) this.#recreate(found)
        if (isMetadataStream(found.name)) this.#undelete(found.name.slice(2), bodies)
        return [answered.appended, Math.max(0, current + bodies.length), position]
      }
      case 'done':
        return [answered.appended, verdict.revision, this.#readablePosition(found, verdict.revision)]
      case 'wrong_revision':
        return [answered.refused, current, 0]
      case 'deleted':
        return [answered.deleted, 0, 0]
      default:
        return verdict satisfies never
    }
  }

  #remove({ current }: Found, { kind }: Verdict, remove: () => void): Answer {
    if (kind === 'deleted') return [answered.deleted, 0, 0]
    if (kind !== 'write') return [answered.refused, current, 0]
    remove()
    return [answered.appended, Math.max(0, current), this.#transaction.position]
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
    const content = { type: '$metadata', isJson: true, data: Buffer.from(text), metadata: none }
    const found = this.#find(metadataStream(stream))
    this.#write(found, found.current + 1, [encodeBody({ id: randomUUID(), ...content })])
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

  *#ids(stream: number, from: number, to: number): Generator<{ revision: number; id: string }> {
    // All at once: no statement may be left open when the transaction ends.
    for (const [revision, body] of this.#bodies.all(stream, from, to)) yield { revision, id: idOfBody(body) }
  }

  /** 0 where the event is hidden. */
  #readablePosition({ number, current, metadata, isSoftDeleted, name }: Found, revision: number): number {
    const [position, recordedAtMs] = this.#placeOf.get(number ?? 0, revision) ?? [0, 0]
    const { maxCount, maxAgeMs, truncateBefore } = isMetadataStream(name) ? { ...noMetadata, maxCount: 1 } : metadata
    const isHidden =
      isSoftDeleted ||
      revision < truncateBefore ||
      (maxCount !== undefined && revision <= current - maxCount) ||
      (maxAgeMs !== undefined && recordedAtMs < this.#transaction.nowMs - maxAgeMs)
    return isHidden ? 0 : position
  }

  #write({ name, number }: Found, firstRevision: number, bodies: readonly Body[]): void {
    // Found again: an event written just now may have been the stream's first.
    this.#transaction.write(name, number ?? this.#numbers.find(name), firstRevision, bodies)
    this.#transaction.flush()
  }
}
