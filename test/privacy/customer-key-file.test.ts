import { existsSync, readFileSync, statSync } from 'node:fs'
import t from 'tap'
import { keyFileIn, openKeyFile } from '../../src/privacy/embedded/embedded-key-store.js'

const lockTable = '/proc/locks'

/** Whether a process has a lock on the file. SQLite holds one while it uses a write-ahead log. */
function isLocked(path: string): boolean {
  const { ino } = statSync(path)
  return readFileSync(lockTable, 'utf8')
    .split('\n')
    .some((line) => line.includes(`:${ino} `))
}

// Without the lock, an older SQLite (such as the installed sqlite3) removes the log when it ends, and with it every
// later key.
t.test(
  'closing a second connection does not release the lock of the first one',
  { skip: !existsSync(lockTable) },
  (t) => {
    const path = keyFileIn(t.testdir())
    const first = openKeyFile(path)
    t.ok(isLocked(path))
    const second = openKeyFile(path)
    t.ok(isLocked(path))
    second.close()
    t.ok(isLocked(path))
    first.close()
    t.notOk(isLocked(path))
    t.end()
  },
)
