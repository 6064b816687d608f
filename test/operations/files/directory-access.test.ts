import { execFileSync } from 'node:child_process'
import { chmodSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { tempDirectory } from '@transferd/event-log/test/support/temp-directory'
import t, { type Test } from 'tap'
import { checkDirectory, explainedFullDisk, messageWithRemedy } from '../../../src/operations/files/directory-access.js'
import { runCli } from '../../cli/in-process.js'

const isRoot = process.getuid?.() === 0
const stranger = 65_534

/** Returns the message of the error for a user who is not root, or an empty text. */
function refusalOf(path: string, check = 'checkDirectory(process.argv[1])'): string {
  const module = new URL('../../../src/operations/files/directory-access.js', import.meta.url)
  // Imported first, because this user may be unable to read the program.
  const program = `
    import { readFileSync } from 'node:fs'
    import { checkDirectory, messageWithRemedy } from ${JSON.stringify(String(module))}
    if (process.getuid() === 0) { process.setgroups([]); process.setgid(${stranger}); process.setuid(${stranger}) }
    try { ${check} } catch (error) { console.log(messageWithRemedy(error)) }`
  return execFileSync(process.execPath, ['--input-type=module', '-e', program, path], { encoding: 'utf8' }).trim()
}

/** Returns a directory that everyone can reach. */
function openDirectory(test: Test): string {
  const directory = tempDirectory(test)
  chmodSync(directory, 0o755)
  return directory
}

t.test('names the owner, the user and the command for a directory of someone else', async (t) => {
  const ownId = isRoot ? stranger : process.getuid!()
  const foreign = isRoot ? join(openDirectory(t), 'data') : '/'
  if (isRoot) mkdirSync(foreign, { mode: 0o755 })
  t.match(
    refusalOf(foreign),
    new RegExp(`^${foreign} belongs to root \\(0\\), but transferd runs as \\S+ \\(${ownId}\\)`),
  )
  t.match(refusalOf(foreign), `Run as root: chown -R ${ownId}:`)
  t.match(refusalOf(foreign), `docker run --rm --user 0 --volume <volume>:${foreign} --entrypoint chown <image>`)
  const missing = join(foreign, 'a', 'b')
  t.match(refusalOf(missing), `Run as root: mkdir -p ${missing} && chown -R ${ownId}:`, 'not the directory above it')
})

t.test('names the database that this user cannot write, and ignores what is not written', async (t) => {
  const directory = openDirectory(t)
  chmodSync(directory, 0o777)
  mkdirSync(join(directory, 'lost+found'), { mode: 0o000 })
  writeFileSync(join(directory, 'master.key'), '', { mode: 0o400 })
  t.equal(refusalOf(directory), '')
  writeFileSync(join(directory, 'read-models.db'), '', { mode: 0o400 })
  t.match(refusalOf(directory), `${directory}/read-models.db belongs to`)
  if (!isRoot) t.match(refusalOf(directory), `its mode is 0400: run chmod -R u+rwX ${directory}`)
})

t.test('a file in the place of the directory, or above it, is named', async (t) => {
  const file = join(openDirectory(t), 'data')
  writeFileSync(file, 'text')
  t.throws(() => checkDirectory(file), { name: 'DirectoryError', message: `${file} is not a directory: remove it` })
  const below = join(file, 'a')
  t.throws(() => checkDirectory(below), { message: `${file} is not a directory, so ${below} cannot be created` })
  for (const command of [['serve'], ['merchants', 'list'], ['merchants', 'create', '--name', 'A']]) {
    const environment = { EVENT_STORE_URL: `embedded:${file}`, READ_MODEL_URL: `embedded:${file}` }
    const options = command[1] === 'create' ? ['--callback-url', 'https://shop.example/'] : []
    const { status, stderr } = await runCli(openDirectory(t), [...command, ...options], environment)
    t.equal(status, 1)
    t.match(stderr, `transferd: ${file} is not a directory: remove it, or choose another data directory`)
  }
  t.equal(readFileSync(file, 'utf8'), 'text')
})

t.test('a missing directory that can be created is accepted, and not created', async (t) => {
  const directory = join(openDirectory(t), 'a', 'b')
  checkDirectory(directory)
  t.throws(() => readFileSync(directory), { code: 'ENOENT' })
})

t.test('a full disk is named with its free space, and other errors are unchanged', async (t) => {
  const directory = openDirectory(t)
  for (const error of [
    Object.assign(new Error('ENOSPC: no space left on device, write'), { code: 'ENOSPC' }),
    new Error('not written: database or disk is full'),
  ])
    t.match(explainedFullDisk(error, directory), {
      name: 'DirectoryError',
      message: new RegExp(`^${error.message}: the disk of ${directory} is full \\(\\d+ KiB free\\)`),
    })
  const other = new Error('other')
  t.equal(explainedFullDisk(other, directory), other)
})

t.test('an error of SQLite is one of a full disk only if no space is left', (t) => {
  const error = new Error('the read models are unavailable: SQLITE_IOERR_SHMSIZE')
  t.equal(explainedFullDisk(error, openDirectory(t)), error)
  // It has no free blocks.
  t.match(explainedFullDisk(error, '/proc'), { name: 'DirectoryError', message: ' of /proc is full (0 KiB free)' })
  t.end()
})

t.test('a path that may not be read or written names its owner', async (t) => {
  const refused = (code: string, path: string, more = {}) =>
    Object.assign(new Error(`${code}: refused`), { code, path, ...more })
  t.match(messageWithRemedy(refused('EACCES', '/')), / belongs to .*root \(0\)/)
  t.notMatch(messageWithRemedy(refused('EACCES', '/x.csv')), '-R', 'nothing below the directory of a file changes')
  t.match(messageWithRemedy(refused('EROFS', '/proc/x')), '/proc is on a read-only file system: mount it for writing')
  t.equal(messageWithRemedy(refused('ENOENT', '/proc/x')), 'ENOENT: refused')
  const file = join(openDirectory(t), 'file')
  writeFileSync(file, '')
  for (const error of [refused('ENOTDIR', file), refused('EEXIST', file, { syscall: 'mkdir' })])
    t.equal(messageWithRemedy(error), `${file} is not a directory: remove it, or choose another path`)
  const below = messageWithRemedy(refused('ENOTDIR', join(file, 'a')))
  t.match(below, `${file} is not a directory, so ${file}/a cannot be created`)
  const cause = refused('ENOTDIR', file)
  t.match(messageWithRemedy(new Error('the keys cannot be read', { cause })), /^the keys cannot be read\. .* is not a/)
})

t.test('a file in the place of any directory is named with the remedy', async (t) => {
  const directory = openDirectory(t)
  const file = join(directory, 'file')
  writeFileSync(file, '')
  const stores = { EVENT_STORE_URL: `embedded:${directory}/data`, READ_MODEL_URL: `embedded:${directory}/data` }
  const source = `embedded:${directory}/data`
  const create = ['merchants', 'create', '--name', 'A', '--callback-url', 'https://shop.example/']
  t.equal((await runCli(directory, create, stores)).status, 0)
  const backup = join(directory, 'backup')
  t.equal((await runCli(directory, ['backup', backup], stores)).status, 0)
  for (const [command, more] of [
    [['backup', join(file, 'a')]],
    [['restore', backup, '--to', join(file, 'a')]],
    [['events', 'copy', '--from', source, '--to', `embedded:${file}`]],
    [['merchants', 'list'], { TRANSFERD_MASTER_KEY_DIRECTORY: file }],
    [['doctor'], { AUDIT_DIRECTORY: file }],
    [['doctor'], { AUDIT_COPY_TO: file }],
  ] as const) {
    const { stdout, stderr } = await runCli(directory, [...command], { ...stores, ...more })
    t.match(`${stdout}${stderr}`.replaceAll(/\s+/g, ' '), `${file} is not a directory`, command.join(' '))
  }
})

t.test('the tree of the log is checked in all its files', async (t) => {
  const directory = openDirectory(t)
  chmodSync(directory, 0o777)
  mkdirSync(join(directory, 'audit'), { mode: 0o777 })
  chmodSync(join(directory, 'audit'), 0o777)
  t.equal(refusalOf(directory), '')
  writeFileSync(join(directory, 'audit', 'checkpoint'), '', { mode: 0o400 })
  t.match(refusalOf(directory), `${directory}/audit/checkpoint belongs to`)
})

t.test('the directory above a path names its owner if this user cannot search it', async (t) => {
  const directory = openDirectory(t)
  mkdirSync(join(directory, 'closed'), { mode: 0o000 })
  const path = join(directory, 'closed', 'a', 'b')
  t.match(refusalOf(path), `${directory}/closed belongs to`)
  t.match(refusalOf(path, 'readFileSync(process.argv[1])'), `${directory}/closed belongs to`)
})
