import { chmodSync, mkdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import t, { type Test } from 'tap'
import { readConfiguration } from '../../../src/operations/configuration/configuration.js'
import {
  loadMasterKeys,
  MasterKeyError,
  masterKeysOf,
  outputOfKeyCommand,
} from '../../../src/operations/keys/key-ring.js'
import { temporaryDirectory } from '../../support/processes.js'

const hexOf = (byte: number) => Buffer.alloc(32, byte).toString('hex')

/** Returns the repeated byte of each key. The sealing key is last. */
async function bytesOf(environment: { readonly [name: string]: string }): Promise<number[]> {
  const { keys } = await masterKeysOf(readConfiguration(environment))
  return keys.map(({ key }) => key[0]!)
}

function keyDirectory(t: Test, files: { readonly [name: string]: string }): string {
  const directory = temporaryDirectory(t)
  for (const [name, text] of Object.entries(files)) writeFileSync(join(directory, name), text, { mode: 0o600 })
  return directory
}

t.test('generates a key once, readable only by its owner, and reports it', async (t) => {
  const directory = join(temporaryDirectory(t), 'data')
  const first = loadMasterKeys(directory)
  t.equal(first.keys.length, 1)
  t.equal(first.keys[0].key.length, 32)
  t.match(first.notices, [/generated .*master\.key \(mode 0600\)/])
  t.equal(statSync(join(directory, 'master.key')).mode & 0o777, 0o600)
  t.same(loadMasterKeys(directory), { keys: first.keys, notices: [] })
})

t.test('never generates a key for a log that was sealed with another one', async (t) => {
  const directory = temporaryDirectory(t)
  writeFileSync(join(directory, 'events.db'), '')
  t.throws(() => loadMasterKeys(directory), MasterKeyError)
  t.throws(() => readFileSync(join(directory, 'master.key')))
})

t.test('warns about a key that other users can read, and uses it', async (t) => {
  const directory = temporaryDirectory(t)
  loadMasterKeys(directory)
  chmodSync(join(directory, 'master.key'), 0o644)
  t.match(loadMasterKeys(directory).notices, [/mode 0644, so others can read it/])
})

t.test('rejects a file without a key and does not replace it', async (t) => {
  const directory = temporaryDirectory(t)
  const path = join(directory, 'master.key')
  for (const content of ['', 'ab'.repeat(31), 'not a key', `${hexOf(1)}\nnot a key\n`]) {
    writeFileSync(path, content)
    t.throws(() => loadMasterKeys(directory), MasterKeyError)
    t.equal(readFileSync(path, 'utf8'), content)
  }
})

t.test('throws for a directory that is not writable instead of using a temporary key', async (t) => {
  const parent = temporaryDirectory(t)
  writeFileSync(join(parent, 'file'), '')
  t.throws(() => loadMasterKeys(join(parent, 'file', 'data')))
  mkdirSync(join(parent, 'data'))
  rmSync(join(parent, 'file'))
})

t.test('seals with the key in the last line of master.key', async (t) => {
  const directory = keyDirectory(t, { 'master.key': `${hexOf(1)}\n${hexOf(2)}\n` })
  t.same(await bytesOf({ EVENT_STORE_URL: `embedded:${directory}` }), [1, 2])
})

t.test('reads master.key only if no variable names a source', async (t) => {
  const directory = keyDirectory(t, { 'master.key': 'not a key' })
  const stores = { EVENT_STORE_URL: `embedded:${directory}` }
  const other = keyDirectory(t, { 'a.key': hexOf(1) })
  t.same(await bytesOf({ ...stores, TRANSFERD_MASTER_KEY: hexOf(1) }), [1])
  t.same(await bytesOf({ ...stores, TRANSFERD_MASTER_KEY_FILE: join(other, 'a.key') }), [1])
  t.same(await bytesOf({ ...stores, TRANSFERD_MASTER_KEY_DIRECTORY: other }), [1])
  t.same(await bytesOf({ ...stores, TRANSFERD_MASTER_KEY_COMMAND: `echo ${hexOf(1)}` }), [1])
})

t.test(
  'seals with the last file of a directory by name, ignores hidden files, and counts a repeated key once',
  async (t) => {
    const directory = keyDirectory(t, {
      '2026-02.key': hexOf(2),
      '2025-11.key': hexOf(1),
      '2026-10.key': `${hexOf(3)}\n`,
      '2026-11.key': hexOf(2),
      '.kept': 'no key',
    })
    t.same(await bytesOf({ TRANSFERD_MASTER_KEY_DIRECTORY: directory }), [1, 3, 2])
  },
)

t.test('rejects a directory that is missing, has no keys or has other files, and names it', async (t) => {
  const none = keyDirectory(t, {})
  const foreign = keyDirectory(t, { 'a.key': hexOf(1), notes: 'not a key' })
  for (const directory of [none, foreign, join(none, 'nowhere')]) {
    const error = await bytesOf({ TRANSFERD_MASTER_KEY_DIRECTORY: directory }).catch((error: unknown) => error)
    t.ok(error instanceof MasterKeyError)
    t.match(String(error), directory)
    t.notMatch(String(error), /not a key/)
  }
})

t.test('reads the keys that a command prints', async (t) => {
  const command = `printf '%s\\n' ${hexOf(1)}; echo ${hexOf(2)}; echo to-nobody >&2`
  t.same(await bytesOf({ TRANSFERD_MASTER_KEY_COMMAND: command }), [1, 2])
})

t.test('rejects a command that fails or prints other or too much text, without repeating its output', async (t) => {
  const secret = 'canary-1187'
  for (const command of [`echo ${secret}`, `echo ${secret}; echo ${secret} >&2; exit 3`, 'true', `yes ${secret}`]) {
    const error = await bytesOf({ TRANSFERD_MASTER_KEY_COMMAND: command }).catch((error: unknown) => error)
    t.ok(error instanceof MasterKeyError, command)
    t.match(String(error), /TRANSFERD_MASTER_KEY_COMMAND/)
    t.notMatch(String(error), secret)
  }
})

t.test('kills a command that hangs, with its child processes', async (t) => {
  const directory = temporaryDirectory(t)
  const pidFile = join(directory, 'pid')
  const command = `sleep 600 & echo $! > ${pidFile}; wait`
  await t.rejects(outputOfKeyCommand(command, 300), { name: 'MasterKeyError', message: /within 0.3 s/ })
  const pid = Number(readFileSync(pidFile, 'utf8'))
  // The process is a zombie until init reaps it.
  const state = () => {
    try {
      return readFileSync(`/proc/${pid}/stat`, 'utf8').split(' ')[2]
    } catch {
      return 'gone'
    }
  }
  t.ok(['Z', 'X', 'gone'].includes(state() ?? 'gone'), 'the sleep has ended')
})
