import { chmodSync, mkdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { loadMasterKey, MasterKeyError } from '../../src/runtime/master-key.js'
import { temporaryDirectory } from '../support/processes.js'

t.test('a key is generated once, for its owner only, and said so', async (t) => {
  const directory = join(temporaryDirectory(t), 'data')
  const first = loadMasterKey(directory)
  t.equal(first.key.length, 32)
  t.match(first.notices, [/generated .*master\.key \(mode 0600\)/])
  t.equal(statSync(join(directory, 'master.key')).mode & 0o777, 0o600)
  const second = loadMasterKey(directory)
  t.same(second, { key: first.key, notices: [] })
})

t.test('a key is never generated beside a log that was sealed with another', async (t) => {
  const directory = temporaryDirectory(t)
  writeFileSync(join(directory, 'events.db'), '')
  t.throws(() => loadMasterKey(directory), MasterKeyError)
  t.throws(() => readFileSync(join(directory, 'master.key')))
})

t.test('a key that others may read is used, with a warning', async (t) => {
  const directory = temporaryDirectory(t)
  loadMasterKey(directory)
  chmodSync(join(directory, 'master.key'), 0o644)
  t.match(loadMasterKey(directory).notices, [/mode 0644: others may read it/])
})

t.test('a file that holds no key is refused, not replaced', async (t) => {
  const directory = temporaryDirectory(t)
  const path = join(directory, 'master.key')
  for (const content of ['', 'ab'.repeat(31), 'not a key']) {
    writeFileSync(path, content)
    t.throws(() => loadMasterKey(directory), MasterKeyError)
    t.equal(readFileSync(path, 'utf8'), content)
  }
})

t.test('a directory that cannot be written is an error, not a key that is forgotten', async (t) => {
  const parent = temporaryDirectory(t)
  writeFileSync(join(parent, 'file'), '')
  t.throws(() => loadMasterKey(join(parent, 'file', 'data')))
  mkdirSync(join(parent, 'data'))
  rmSync(join(parent, 'file'))
})
