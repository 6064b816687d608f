import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import t from 'tap'
import { DirectoryTiles } from '../src/directory-tiles.js'
import { MemoryTiles } from '../src/memory-tiles.js'
import { filesSince } from '../src/tiles.js'
import { TreeAppender } from '../src/tree-appender.js'
import { TreeReader } from '../src/tree-reader.js'
import { VerificationError } from '../src/verification-error.js'
import { naiveRoot } from './naive-tree.js'

function temporaryDirectory(t: { teardown(clean: () => void): void }): string {
  const directory = mkdtempSync(join(tmpdir(), 'transparency-log-'))
  t.teardown(() => rmSync(directory, { recursive: true, force: true }))
  return directory
}

const entries = Array.from({ length: 600 }, (_, index) => Buffer.from(`entry ${index}`))

t.test(
  'a directory contains exactly the files of the tree, and full tiles replace their partial versions',
  async (t) => {
    const directory = temporaryDirectory(t)
    const tiles = new DirectoryTiles(directory)
    for (const [from, to] of [
      [0, 100],
      [100, 300],
      [300, 600],
    ] as const) {
      const appender = await TreeAppender.open(tiles, from)
      await appender.append(entries.slice(from, to))
      await appender.flush()
      t.ok(appender.root().equals(naiveRoot(entries.slice(0, to))))
    }
    const files = readdirSync(directory, { recursive: true, withFileTypes: true })
    const paths = files
      .filter((each) => each.isFile())
      .map((each) => join(each.parentPath, each.name).slice(directory.length + 1))
    // A reader may still use the checkpoint of 300, whose tiles are partial. The tiles of 100 are full by now.
    const stillAsked = ['tile/1/000.p/1']
    t.strictSame(paths.sort(), [...filesSince(0, 600), ...stillAsked].sort())
    t.ok(
      (await new TreeReader(tiles, 300).root()).equals(naiveRoot(entries.slice(0, 300))),
      'the reader computes an older size from full tiles',
    )
  },
)

t.test('the draft of a killed writer is not part of the tree and is replaced', async (t) => {
  const directory = temporaryDirectory(t)
  mkdirSync(join(directory, 'tile/entries/000.p'), { recursive: true })
  writeFileSync(join(directory, 'tile/entries/000.p/3.draft'), 'half of')
  const tiles = new DirectoryTiles(directory)
  t.equal(await tiles.read('tile/entries/000.p/3'), undefined)
  await tiles.write('tile/entries/000.p/3', Buffer.from('whole'))
  t.strictSame(readdirSync(join(directory, 'tile/entries/000.p')), ['3'])
  t.equal(readFileSync(join(directory, 'tile/entries/000.p/3'), 'utf8'), 'whole')
})

t.test('names a file that is missing, truncated or has a partial entry', async (t) => {
  const store = new MemoryTiles()
  const appender = await TreeAppender.open(store, 0)
  await appender.append(entries)
  await appender.flush()
  const broken = async (path: string, bytes: Buffer | undefined) => {
    const other = new MemoryTiles()
    for (const [each, content] of store.files)
      if (each !== path || bytes) other.files.set(each, each === path ? bytes! : content)
    const tree = new TreeReader(other, 600)
    await tree.root()
    for await (const _ of tree.entries());
  }
  for (const path of ['tile/0/001', 'tile/1/000.p/2', 'tile/entries/002.p/88']) {
    const named = { name: 'VerificationError', message: new RegExp(path.replaceAll('.', '\\.')) }
    // The root requires level 1 but not this tile below it.
    if (path !== 'tile/0/001') {
      await t.rejects(broken(path, undefined), named)
      await t.rejects(broken(path, store.files.get(path)!.subarray(0, -1)), named)
    }
    await broken(path, store.files.get(path))
  }
  const other = new MemoryTiles()
  await t.rejects(TreeAppender.open(other, 5), VerificationError)
})
