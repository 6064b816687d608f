import Database from 'better-sqlite3'
import { logSchema, messageOf, openForReading } from './log-file.js'

const maxProblems = 20

/**
 * What is wrong with the log's file itself, as sentences; none when it is whole. It says nothing of what the events are: somebody who edits
 * them with SQLite leaves a whole file. `positions` looks at the order alone, which takes no time; `quick` at everything but whether indexes have each row, which is a sort of the whole
 * log. Others may append meanwhile.
 */
export function checkLogFile(directory: string, how: 'full' | 'quick' | 'positions'): readonly string[] {
  let db: Database.Database | undefined
  try {
    db = openForReading(directory)
    if (how === 'positions') return placeProblems(db)
    return [...fileProblems(db, how), ...schemaProblems(db), ...countProblems(db)]
  } catch (error) {
    return [`The database cannot be read: ${messageOf(error)}.`]
  } finally {
    db?.close()
  }
}

function fileProblems(db: Database.Database, how: 'full' | 'quick'): string[] {
  const check = how === 'full' ? 'integrity_check' : 'quick_check'
  const found = db.pragma(`${check}(${maxProblems})`) as { readonly [check]: string }[]
  return found.flatMap((row) => (row[check] === 'ok' ? [] : [`SQLite says: ${row[check]}.`]))
}

/** A trigger would change what is appended, before anybody seals it. */
function schemaProblems(db: Database.Database): string[] {
  const select = 'SELECT type, name, sql FROM sqlite_schema ORDER BY type, name'
  const fresh = new Database(':memory:')
  fresh.exec(logSchema)
  const expected = JSON.stringify(fresh.prepare(select).raw().all())
  fresh.close()
  const isOurs = JSON.stringify(db.prepare(select).raw().all()) === expected
  return isOurs ? [] : ['The database has other tables, indexes or triggers than the log.']
}

/** A row before the first place is in its stream, but not in the order of the log. */
function placeProblems(db: Database.Database): string[] {
  const first = db.prepare('SELECT min(position) FROM events').pluck().get() as number | null
  return first === null || first === 1 ? [] : [`The log begins at position ${first} and not at 1.`]
}

function countProblems(db: Database.Database): string[] {
  // In one statement, so that of the log at one moment.
  const [count, last] = db.prepare('SELECT count(*), coalesce(max(position), 0) FROM events').raw().get() as number[]
  const gaps = count === last ? [] : [`The log has ${count} events up to position ${last}.`]
  return [...placeProblems(db), ...gaps]
}
