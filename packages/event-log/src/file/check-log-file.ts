import { Database } from '../sqlite/sqlite.js'
import { logSchema, messageOf, openForReading } from './log-file.js'
import { reservedKeys, reservingEvents } from './reserved-keys.js'
import { StreamNumbers } from './stream-numbers.js'

const maxProblems = 20

/**
 * Returns the problems of the log's file as sentences. It checks the file and not the events, so it cannot detect an event that was
 * edited with SQLite. `positions` only checks the order and takes no time. `quick` checks everything except that each index has
 * every row, which requires sorting the whole log. Appends can continue.
 */
export function checkLogFile(directory: string, depth: 'full' | 'quick' | 'positions'): readonly string[] {
  let db: Database | undefined
  try {
    db = openForReading(directory)
    if (depth === 'positions') return startProblems(db)
    const problems = [...fileProblems(db, depth), ...schemaProblems(db), ...startProblems(db), ...countProblems(db)]
    return depth === 'full' ? [...problems, ...db.transaction(keyProblems)(db)] : problems
  } catch (error) {
    return [`The database cannot be read: ${messageOf(error)}.`]
  } finally {
    db?.close()
  }
}

function fileProblems(db: Database, depth: 'full' | 'quick'): string[] {
  const check = depth === 'full' ? 'integrity_check' : 'quick_check'
  const results = db.pragma(`${check}(${maxProblems})`) as { readonly [check]: string }[]
  return results.flatMap((row) => (row[check] === 'ok' ? [] : [`SQLite reports: ${row[check]}.`]))
}

/** Detects a changed schema: a trigger could change appended events before they are sealed. */
function schemaProblems(db: Database): string[] {
  const select = 'SELECT type, name, sql FROM sqlite_schema ORDER BY type, name'
  const reference = new Database(':memory:')
  reference.exec(logSchema)
  const expected = JSON.stringify(reference.prepare(select).raw().all())
  reference.close()
  const isExpected = JSON.stringify(db.prepare(select).raw().all()) === expected
  return isExpected ? [] : ['The tables, indexes or triggers of the database differ from those of an event log.']
}

/** Detects keys that the index does not find, so that they could be reserved a second time, or that were. In one transaction. */
function keyProblems(db: Database): string[] {
  const numbers = new StreamNumbers(db, true)
  numbers.refresh()
  const problems: string[] = []
  const first = db.prepare<[], [name: string, metadata: string]>(reservingEvents).raw()
  for (const [name, metadata] of first.iterate()) {
    const { owner, keys } = reservedKeys(name, metadata) ?? nothingReserved
    if (keys.every((key) => numbers.ownerOf(key) === owner)) continue
    problems.push(`A key that ${name} reserves has a different owner, or none.`)
    if (problems.length === maxProblems) break
  }
  return problems
}
const nothingReserved = { owner: '', keys: [] }

/** Detects a row before position 1, which is part of its stream but not of the global order. */
function startProblems(db: Database): string[] {
  const first = db.prepare('SELECT min(position) FROM events').pluck().get() as number | null
  return first === null || first === 1 ? [] : [`The log starts at position ${first} instead of 1.`]
}

function countProblems(db: Database): string[] {
  // A single statement reads both numbers from the same state of the log.
  const [count, last] = db.prepare('SELECT count(*), coalesce(max(position), 0) FROM events').raw().get() as number[]
  return count === last ? [] : [`The log has ${count} events, but its last position is ${last}.`]
}
