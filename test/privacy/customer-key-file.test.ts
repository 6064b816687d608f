import { existsSync, readFileSync, statSync } from 'node:fs'
import { Database } from '@transferd/event-log/sqlite'
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

t.test('the write-ahead log is cut after a long read', (t) => {
  const path = keyFileIn(t.testdir())
  const keys = openKeyFile(path)
  t.teardown(() => keys.close())
  const reader = new Database(path, { readonly: true })
  t.teardown(() => reader.close())
  const walBytes = () => statSync(`${path}-wal`).size
  const limit = 16 * 1024 * 1024
  const add = (id: string) => keys.ensure([{ id, merchantId: 'm', owner: id, sealed: 'x'.repeat(1_000_000) }])
  add('first')
  reader.exec('BEGIN')
  t.equal(reader.prepare('SELECT count(*) FROM keys').pluck().get(), 1)
  for (let n = 0; walBytes() <= 2 * limit; n++) add(`key ${n}`)
  reader.exec('COMMIT')
  // The first commit copies the log, and the second one starts it again.
  for (const id of ['copies', 'cuts']) add(id)
  t.ok(walBytes() <= limit, `${walBytes()} bytes`)
  t.end()
})
