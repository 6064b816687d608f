import { randomUUID } from 'node:crypto'
import {
  type Body,
  decodeBody,
  type EventContent,
  encodeBody,
  idOfBody,
  parseBody,
  parseObject,
} from '../file/event-body.js'
import { BrokenLogError } from '../file/log-location.js'
import type { LogTransaction } from '../file/log-transaction.js'
import { type ReservedKeys, reservedKeys, reservesMember } from '../file/reserved-keys.js'
import {
  isMetadataStream,
  metadataOfMetadata,
  metadataStream,
  parseMetadata,
  type StreamMetadata,
  softDeletedText,
  tombstoneRevision,
  visibleRange,
} from '../file/stream-metadata.js'
import type { StreamNumbers } from '../file/stream-numbers.js'
import type { Database, Statement } from '../sqlite/sqlite.js'
import { RecentEventIds } from './recent-event-ids.js'
import { decideAppend, decideRemoval, type StoredIds, type StreamState } from './stream-rules.js'
import { type Operation, resultKind } from './writer-messages.js'

/** The state of a stream before an operation. */
interface LoadedStream extends StreamState {
  readonly name: string
  /** The stream's number, or `undefined` if it never had an event. */
  readonly number: number | undefined
  readonly metadata: StreamMetadata
}

/** The numbers that {@link resultKind} and `resultLength` describe. */
type Result = readonly [kind: number, revision: number, position: number]

const empty = new Uint8Array(0)
/** A damaged value that is neither text nor bytes counts as no bytes. */
const intactBody = "CASE WHEN typeof(body) IN ('text', 'blob') THEN body ELSE x'' END"

/** Executes operations with the semantics of EventStoreDB's streams, within the current transaction. */
export class StreamOperations {
  readonly #numbers: StreamNumbers
  readonly #recentIds: RecentEventIds
  readonly #lastTwo: Statement<[number], number>
  readonly #body: Statement<[number, number], Body>
  readonly #bodies: Statement<[number, number, number], [number, Body]>
  readonly #position: Statement<[number, number], [position: number, recordedAtMs: number]>

  constructor(
    db: Database,
    private readonly transaction: LogTransaction,
  ) {
    this.#numbers = transaction.numbers
    this.#recentIds = new RecentEventIds((stream, from, to) => this.#ids(stream, from, to))
    const select = <P extends unknown[], T>(sql: string) => db.prepare<P, T>(`SELECT ${sql}`)
    this.#lastTwo = select<[number], number>(
      'revision FROM events WHERE stream = ? ORDER BY revision DESC LIMIT 2',
    ).pluck()
    this.#body = select<[number, number], Body>(`${intactBody} FROM events WHERE stream = ? AND revision = ?`).pluck()
    this.#bodies = select<[number, number, number], [number, Body]>(
      `revision, ${intactBody} FROM events WHERE stream = ? AND revision BETWEEN ? AND ? ORDER BY revision`,
    ).raw()
    this.#position = select<[number, number], [number, number]>(
      'position, recorded_at FROM events WHERE stream = ? AND revision = ?',
    ).raw()
  }

  execute(operation: Operation): Result {
    this.transaction.flush()
    const stream = this.#load(operation.stream)
    return operation.kind === 'append' ? this.#append(stream, operation) : this.#remove(stream, operation)
  }

  /** Returns the ids of a stream whose last event has the revision `current`. */
  storedIds(number: number | undefined, current: number): StoredIds {
    if (number === undefined) return { matchFrom: () => false, firstRevisionOf: () => undefined }
    return {
      matchFrom: (revision, ids) => {
        let i = 0
        for (const { id } of this.#ids(number, revision, revision + ids.length - 1)) if (id !== ids[i++]) return false
        return i === ids.length
      },
      firstRevisionOf: (id) => this.#recentIds.firstRevisionOf(number, current, id),
    }
  }

  /** @throws BrokenLogError if the event does not exist */
  positionOf(number: number, revision: number): number {
    const found = this.#position.get(number, revision)
    if (found === undefined) throw new BrokenLogError(`stream ${number} has no event ${revision}`)
    return found[0]
  }

  #append(stream: LoadedStream, { expected, bodies }: Extract<Operation, { kind: 'append' }>): Result {
    const { name, number, current } = stream
    const decision = decideAppend(expected, bodies.map(idOfBody), stream, this.storedIds(number, current))
    switch (decision.kind) {
      case 'write': {
        const reserved = number === undefined ? reservedIn(name, bodies[0]) : undefined
        // A client of the protocol knows no other rejection. It shows that the stream is as expected.
        if (reserved && this.transaction.isReserved(reserved)) return [resultKind.rejected, current, 0]
        this.#write(stream, current + 1, bodies, reserved?.keys)
        const { position } = this.transaction
        if (stream.isSoftDeleted) this.#recreate(stream)
        if (isMetadataStream(name)) this.#undelete(name.slice(2), bodies)
        return [resultKind.appended, Math.max(0, current + bodies.length), position]
      }
      case 'already_stored':
        return [resultKind.appended, decision.revision, this.#visiblePosition(stream, decision.revision)]
      case 'wrong_revision':
        return [resultKind.rejected, current, 0]
      case 'deleted':
        return [resultKind.deleted, 0, 0]
      default:
        return decision satisfies never
    }
  }

  #remove(stream: LoadedStream, { kind, expected }: Extract<Operation, { kind: 'delete' | 'tombstone' }>): Result {
    const decision = decideRemoval(kind, expected, stream)
    if (decision.kind === 'deleted') return [resultKind.deleted, 0, 0]
    if (decision.kind !== 'write') return [resultKind.rejected, stream.current, 0]
    if (kind === 'delete') this.#writeMetadata(stream.name, `{"$tb":${softDeletedText}}`)
    else {
      const tombstone = { id: randomUUID(), type: '$streamDeleted', isJson: false, data: empty, metadata: empty }
      this.#write(stream, tombstoneRevision, [encodeBody(tombstone)])
    }
    return [resultKind.appended, Math.max(0, stream.current), this.transaction.position]
  }

  /** Makes a soft-deleted stream show the events of the current append and hide the older ones. */
  #recreate({ name, current }: LoadedStream): void {
    const metadata = jsonOf(this.#metadataEvent(name))
    this.#writeMetadata(name, JSON.stringify({ ...metadata, $tb: current + 1 }))
  }

  /** Restores a soft-deleted stream, without its old events, when its metadata is overwritten. */
  #undelete(stream: string, bodies: readonly Body[]): void {
    const body = bodies.at(-1)
    if (body === undefined || !parseMetadata(this.#metadataEvent(stream, bodies.length)).isSoftDeleted) return
    const written = decodeBody(body)
    const { current, isTombstoned } = this.#load(stream)
    if (parseMetadata(written).isSoftDeleted || isTombstoned) return
    this.#writeMetadata(stream, JSON.stringify({ ...jsonOf(written), $tb: current + 1 }))
  }

  #writeMetadata(name: string, text: string): void {
    const stream = this.#load(metadataStream(name))
    const content = { id: randomUUID(), type: '$metadata', isJson: true, data: Buffer.from(text), metadata: empty }
    this.#write(stream, stream.current + 1, [encodeBody(content)])
  }

  #load(name: string): LoadedStream {
    const number = this.#numbers.find(name)
    const [last = -1, previous = -1] = number === undefined ? [] : this.#lastTwo.all(number)
    const isTombstoned = last === tombstoneRevision
    const event = this.#metadataEvent(name)
    const metadata = parseMetadata(event)
    const isSoftDeleted = !isMetadataStream(name) && metadata.isSoftDeleted
    const current = isTombstoned ? previous : last
    return { name, number, current, isTombstoned, isSoftDeleted, hasMetadata: event !== undefined, metadata }
  }

  /** Returns the metadata event of a stream that precedes the last `skip` ones, unless the metadata stream is tombstoned. */
  #metadataEvent(name: string, skip = 0): EventContent | undefined {
    const number = this.#numbers.find(metadataStream(name))
    const [last] = number === undefined ? [] : this.#lastTwo.all(number)
    if (number === undefined || last === undefined || last === tombstoneRevision) return undefined
    const body = this.#body.get(number, last - skip)
    return body === undefined ? undefined : decodeBody(body)
  }

  *#ids(stream: number, from: number, to: number): Generator<{ revision: number; id: string }> {
    // Fetch all rows: no statement may stay open when the transaction ends.
    for (const [revision, body] of this.#bodies.all(stream, from, to)) yield { revision, id: idOfBody(body) }
  }

  /** Returns the position of an event, or 0 if the event is hidden. */
  #visiblePosition({ name, number, current, metadata, isSoftDeleted }: LoadedStream, revision: number): number {
    const [position, recordedAtMs] = this.#position.get(number ?? 0, revision) ?? [0, 0]
    const effective = isMetadataStream(name) ? metadataOfMetadata : metadata
    const { first, notBeforeMs } = visibleRange(effective, current, this.transaction.nowMs)
    return isSoftDeleted || revision < first || recordedAtMs < notBeforeMs ? 0 : position
  }

  #write(
    { name, number }: LoadedStream,
    firstRevision: number,
    bodies: readonly Body[],
    keys?: readonly string[],
  ): void {
    // Look up the number again: an event that was just written may have created the stream.
    this.transaction.write(name, number ?? this.#numbers.find(name), firstRevision, bodies, keys)
    this.transaction.flush()
  }
}

/** Returns the keys that the first event of a stream reserves. */
function reservedIn(stream: string, body: Body | undefined): ReservedKeys | undefined {
  if (typeof body !== 'string' || !body.includes(reservesMember)) return undefined
  return reservedKeys(stream, parseBody(body)[3])
}

function jsonOf(event: EventContent | undefined): Record<string, unknown> {
  return (event?.isJson && parseObject(event.data)) || {}
}
