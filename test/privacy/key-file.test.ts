import { existsSync, readFileSync, statSync } from 'node:fs'
import t from 'tap'
import { keyFileIn } from '../../src/privacy/embedded/embedded-key-store.js'
import { KeyFile } from '../../src/privacy/embedded/key-file.js'

const lockTable = '/proc/locks'

/** Whether any process has a lock on the file, as SQLite takes one for as long as a write-ahead log is in use. */
function isLocked(path: string): boolean {
  const { ino } = statSync(path)
  return readFileSync(lockTable, 'utf8')
    .split('\n')
    .some((line) => line.includes(`:${ino} `))
}

// Without it an older SQLite, as the sqlite3 of the machine, removes the log as it ends, and with it every key that is kept from then on.
t.test('a second connection to the keys leaves the first one its lock', { skip: !existsSync(lockTable) }, (t) => {
  const path = keyFileIn(t.testdir())
  const first = KeyFile.open(path)
  t.ok(isLocked(path))
  const second = KeyFile.open(path)
  t.ok(isLocked(path))
  second.close()
  t.ok(isLocked(path))
  first.close()
  t.notOk(isLocked(path))
  t.end()
})
