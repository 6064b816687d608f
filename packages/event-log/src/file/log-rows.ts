import { type Body, bodyOf, bytesOfBody } from './event-body.js'
import { isTime, openForAppending, openForReading, prepareLog } from './log-file.js'
import { BrokenLogError } from './log-location.js'
import { nameOfKey, reservingEvents } from './reserved-keys.js'
import { RowInserter } from './row-inserter.js'
import { streamHash } from './stream-hash.js'
import { tombstoneRevision } from './stream-metadata.js'

/** An event as the log stores it. */
export interface LogRow {
  /** From 1, without gaps. */
  readonly position: number
  /** The internal number of the stream. */
  readonly stream: number
  readonly revision: number
  readonly recordedAtMs: number
  readonly name: string
  /** A damaged body that is not text in UTF-8 consists of the stored bytes. */
  readonly body: Body
}

export interface LogEnd {
  /** The position of the last event, which is also the number of events; 0 in an empty log. */
  readonly position: number
  /** `undefined` in an empty log, and if the stored time is damaged. */
  readonly recordedAtMs: number | undefined
}

const rowsPerRead = 1_000
const rowsPerCommit = 10_000

/** Returns where the log in the directory ends. System streams count. */
export function readLogEnd(directory: string): LogEnd {
  const db = openForReading(directory)
  try {
    const last = db
      .prepare<[], LogRow>('SELECT position, recorded_at AS recordedAtMs FROM events ORDER BY position DESC LIMIT 1')
      .get()
    return {
      position: last?.position ?? 0,
      recordedAtMs: last && isTime(last.recordedAtMs) ? last.recordedAtMs : undefined,
    }
  } finally {
    db.close()
  }
}

/**
 * Yields the stored events from position 1 through `through`. Other connections may append in the meantime: no read transaction spans two
 * pages, so the write-ahead log does not grow. @throws BrokenLogError if an event is missing
 */
export function* readLogRows(directory: string, through: number): Generator<LogRow> {
  const db = openForReading(directory)
  try {
    const page = db.prepare<[after: number, through: number], LogRow>(
      `SELECT position, stream, revision, recorded_at AS recordedAtMs, name, body FROM events
       WHERE position > ? AND position <= ? ORDER BY position LIMIT ${rowsPerRead}`,
    )
    const bytes = db.prepare<[number], Uint8Array | null>(bytesOfBody).pluck()
    let last = 0
    while (last < through) {
      const rows = page.all(last, through)
      for (const row of rows) {
        requireNext(row.position, last)
        last = row.position
        yield { ...row, body: bodyOf(row.body, () => bytes.get(row.position) ?? null) }
      }
      if (rows.length === 0) throw new BrokenLogError(`the event at position ${last + 1} is missing`)
    }
  } finally {
    db.close()
  }
}

/**
 * Writes the rows of a log into a directory without one. Keeps positions, revisions, times and bodies, and builds the indexes again.
 * Returns the position of the last event. @throws CannotOpenLogError, and BrokenLogError unless the positions are consecutive from 1
 */
export async function writeLogRows(directory: string, rows: Iterable<LogRow> | AsyncIterable<LogRow>): Promise<number> {
  prepareLog(directory)
  const db = openForAppending(directory)
  try {
    db.pragma('wal_autocheckpoint = 4000')
    const inserter = new RowInserter<[number, number, number, number, string, Body]>(db, 'INSERT INTO events', 6)
    let last = 0
    db.exec('BEGIN')
    for await (const { position, stream, revision, recordedAtMs, name, body } of rows) {
      requireNext(position, last)
      last = position
      inserter.add(position, stream, revision, recordedAtMs, name, body)
      if (position % rowsPerCommit !== 0) continue
      inserter.flush()
      db.exec('COMMIT; BEGIN')
    }
    inserter.flush()
    // Otherwise every process that opens the log would hold the name of every stream in memory.
    db.function('stream_hash', (name) => streamHash(String(name)))
    db.function('key_hash', (key) => streamHash(nameOfKey(String(key))))
    db.exec(`
      INSERT INTO stream_names SELECT stream_hash(name) AS hash, stream
        FROM events INDEXED BY events_by_stream WHERE revision IN (0, ${tombstoneRevision})
        UNION SELECT key_hash(value), stream FROM (${reservingEvents}), json_each(metadata, '$."$reserves"')
        ORDER BY hash;
      UPDATE log_state SET indexed_through = (SELECT coalesce(max(stream), 0) FROM events);
      COMMIT`)
    return last
  } finally {
    db.close()
  }
}

function requireNext(position: number, last: number): void {
  if (position !== last + 1) throw new BrokenLogError(`position ${position} follows position ${last}`)
}
