import { chmodSync, mkdirSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { DirectoryTiles } from '@transferd/transparency-log'
import t from 'tap'
import { readConfiguration } from '../../src/operations/configuration/configuration.js'

t.test('the group of the directory can read the files of the tree only if requested', async (t) => {
  const umask = process.umask(0o077)
  t.teardown(() => process.umask(umask))
  for (const [AUDIT_GROUP_READABLE, file, directory] of [
    ['false', 0o600, 0o700],
    ['true', 0o640, 0o750],
  ] as const) {
    const root = join(t.testdir(), AUDIT_GROUP_READABLE)
    mkdirSync(root)
    chmodSync(root, 0o2750)
    const { audit } = readConfiguration({ AUDIT_GROUP_READABLE, AUDIT_DIRECTORY: root })
    await new DirectoryTiles(audit.directory, audit).write('tile/names/000.p/7', Buffer.from('leaf'))
    const modeOf = (path: string) => statSync(join(root, path)).mode & 0o777
    t.equal(modeOf('tile/names/000.p/7'), file)
    for (const path of ['tile', 'tile/names', 'tile/names/000.p']) t.equal(modeOf(path), directory)
    t.equal(statSync(root).mode & 0o7777, 0o2750, 'the directory itself is unchanged')
  }
})
