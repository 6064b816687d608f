import Database from 'better-sqlite3'

const maxProblems = 20

/** Returns the problems of a SQLite database as sentences; an empty list if it is intact. Other processes can write concurrently. */
export function checkDatabaseFile(path: string): readonly string[] {
  let db: Database.Database | undefined
  try {
    db = new Database(path, { readonly: true, fileMustExist: true, timeout: 5_000 })
    const found = db.pragma(`quick_check(${maxProblems})`) as { quick_check: string }[]
    return found.filter(({ quick_check }) => quick_check !== 'ok').map((row) => `SQLite reports: ${row.quick_check}.`)
  } catch (error) {
    return [`The database cannot be read: ${(error as Error).message}.`]
  } finally {
    db?.close()
  }
}
