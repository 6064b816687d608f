import fs from 'node:fs'
import { syncBuiltinESMExports } from 'node:module'
import { dirname, join } from 'node:path'
import { DirectoryTiles } from '@transferd/transparency-log'
import t, { type Test } from 'tap'

/** Counts the syncs of each file and directory. The first `failing` ones fail. */
function watchSyncs(t: Test, failing = 0): string[] {
  const synced: string[] = []
  const { open } = fs.promises
  t.teardown(() => {
    fs.promises.open = open
    syncBuiltinESMExports()
  })
  let left = failing
  fs.promises.open = async (path, ...rest) => {
    const handle = await open(path, ...rest)
    const { sync } = handle
    handle.sync = async () => {
      if (left-- > 0) throw Object.assign(new Error('EIO'), { code: 'EIO' })
      synced.push(String(path))
      await sync.call(handle)
    }
    return handle
  }
  syncBuiltinESMExports()
  return synced
}

const parentsIn = (root: string) => [dirname(root), root, join(root, 'tile'), join(root, 'tile/0')]

t.test('a new directory is synced in its parent, and once', async (t) => {
  const root = join(t.testdir(), 'tree')
  const synced = watchSyncs(t)
  const tiles = new DirectoryTiles(root)
  await tiles.write('tile/0/000', Buffer.from('a'))
  for (const parent of parentsIn(root)) t.ok(synced.includes(parent), parent)
  synced.length = 0
  await tiles.write('tile/0/001', Buffer.from('b'))
  t.same(synced, [join(root, 'tile/0/001.draft'), join(root, 'tile/0')])
})

t.test('a directory whose parent could not be synced is synced by the next write', async (t) => {
  const root = join(t.testdir(), 'tree')
  const synced = watchSyncs(t, 1)
  const tiles = new DirectoryTiles(root)
  await t.rejects(tiles.write('tile/0/000', Buffer.from('a')), { code: 'EIO' })
  t.same(synced, [])
  await tiles.write('tile/0/000', Buffer.from('a'))
  for (const parent of parentsIn(root)) t.ok(synced.includes(parent), parent)
})

t.test('a directory that a killed writer left is synced by the next one', async (t) => {
  const root = join(t.testdir({ tree: { tile: { 0: {} } } }), 'tree')
  const synced = watchSyncs(t)
  await new DirectoryTiles(root).write('tile/0/000', Buffer.from('a'))
  for (const parent of parentsIn(root)) t.ok(synced.includes(parent), parent)
})
