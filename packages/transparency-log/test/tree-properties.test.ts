import assert from 'node:assert/strict'
import fc from 'fast-check'
import t from 'tap'
import { MemoryTiles } from '../src/memory-tiles.js'
import { leafHash, rootOver } from '../src/merkle-hash.js'
import { filesSince, type TileStore, tileWidth } from '../src/tiles.js'
import { TreeAppender } from '../src/tree-appender.js'
import { TreeReader } from '../src/tree-reader.js'
import { verifyConsistency, verifyInclusion } from '../src/verify-proofs.js'
import { naivePath, naiveProof, naiveRoot } from './naive-tree.js'

const entries = Array.from({ length: 800 }, (_, index) => Buffer.from(`{"event":${index}}`.repeat(1 + (index % 3))))

/** Appends and flushes each batch, as for a checkpoint. */
async function appended(store: TileStore, batches: readonly number[], from = 0): Promise<TreeAppender> {
  const appender = await TreeAppender.open(store, from)
  for (const size of batches) {
    await appender.append(entries.slice(appender.size, appender.size + size))
    await appender.flush()
  }
  return appender
}

const batches = fc.array(fc.integer({ min: 0, max: 300 }), { minLength: 1, maxLength: 6 }).map((sizes) => {
  let left = entries.length
  return sizes.map((size) => {
    const taken = Math.min(size, left)
    left -= taken
    return taken
  })
})

function sum(sizes: readonly number[]): number {
  return sizes.reduce((total, size) => total + size, 0)
}

t.test('the root matches the recursive definition for every sequence of batches', async () => {
  await fc.assert(
    fc.asyncProperty(batches, async (sizes) => {
      const store = new MemoryTiles()
      const appender = await appended(store, sizes)
      const root = naiveRoot(entries.slice(0, sum(sizes)))
      const again = await TreeAppender.open(store, appender.size)
      const read = await new TreeReader(store, appender.size).root()
      return appender.root().equals(root) && again.root().equals(root) && read.equals(root)
    }),
    { numRuns: 15 },
  )
})

t.test('every sequence of batches produces the same complete set of files', async () => {
  await fc.assert(
    fc.asyncProperty(batches, async (sizes) => {
      const [inBatches, atOnce] = [new MemoryTiles(), new MemoryTiles()]
      await appended(inBatches, sizes)
      await appended(atOnce, [sum(sizes)])
      const expected = [...filesSince(0, sum(sizes))].sort()
      if ([...atOnce.files.keys()].sort().join() !== expected.join()) return false
      return expected.every((path) => inBatches.files.get(path)?.equals(atOnce.files.get(path)!))
    }),
    { numRuns: 15 },
  )
})

/** Fails at one of its writes, like a killed process. */
class FailingTiles extends MemoryTiles {
  constructor(
    files: ReadonlyMap<string, Buffer>,
    public writesLeft: number,
  ) {
    super()
    for (const [path, bytes] of files) this.files.set(path, bytes)
  }

  override async write(path: string, bytes: Uint8Array): Promise<void> {
    if (this.writesLeft-- === 0) throw new Error('killed')
    await super.write(path, bytes)
  }
}

t.test(
  'after a kill at any write, the next appender resumes from the last checkpoint and writes the same bytes',
  async () => {
    await fc.assert(
      fc.asyncProperty(batches, fc.nat(20), fc.integer({ min: 0, max: 5 }), async (sizes, writes, failing) => {
        const store = new MemoryTiles()
        const sealed = sizes.slice(0, failing)
        await appended(store, sealed)
        const killed = new FailingTiles(store.files, writes)
        await appended(killed, sizes.slice(failing), sum(sealed)).catch(() => undefined)
        killed.writesLeft = -1
        await appended(killed, [sum(sizes) - sum(sealed)], sum(sealed))
        const atOnce = new MemoryTiles()
        await appended(atOnce, [sum(sizes)])
        for (const [path, bytes] of atOnce.files) assert(killed.files.get(path)?.equals(bytes), path)
        // A remaining file of an intermediate size is a prefix of its successor.
        const whole = new MemoryTiles()
        await appended(whole, [entries.length - (entries.length % tileWidth)])
        for (const [path, bytes] of killed.files) {
          const full = whole.files.get(path.replace(/\.p\/.*/, ''))
          if (full) assert(full.subarray(0, bytes.length).equals(bytes), path)
        }
      }),
      { numRuns: 15 },
    )
  },
)

const sizes = fc.integer({ min: 1, max: entries.length })
const flip = fc.nat(255)

function flipped(hash: Buffer, bit: number): Buffer {
  const changed = Buffer.from(hash)
  changed[bit >> 3]! ^= 1 << (bit & 7)
  return changed
}

function same(one: readonly Buffer[], other: readonly Buffer[]): boolean {
  return Buffer.concat(one).equals(Buffer.concat(other))
}

function assertNot(verifies: boolean, message?: string): void {
  assert(!verifies, message)
}

const store = new MemoryTiles()
await appended(store, [entries.length])
const tree = new TreeReader(store, entries.length)

t.test(
  'every inclusion proof matches the definition and verifies, but not with a changed bit in the proof, the leaf or the root',
  async () => {
    await fc.assert(
      fc.asyncProperty(sizes, fc.nat(), flip, fc.nat(), async (size, at, bit, step) => {
        const index = at % size
        const leaf = leafHash(entries[index]!)
        const root = await tree.root(size)
        const proof = await tree.inclusionProof(index, size)
        assert(same(proof, naivePath(index, entries.slice(0, size))))
        assert(verifyInclusion(leaf, index, size, root, proof))
        assertNot(verifyInclusion(flipped(leaf, bit), index, size, root, proof))
        assertNot(verifyInclusion(leaf, index, size, flipped(root, bit), proof))
        assertNot(verifyInclusion(leaf, index ^ (1 << (bit % 10)), size, root, proof), 'a different index')
        assertNot(verifyInclusion(leaf, index, size, root, [...proof, root]), 'an additional hash')
        if (proof.length === 0) return
        const changed = proof.map((hash, place) => (place === step % proof.length ? flipped(hash, bit) : hash))
        assertNot(verifyInclusion(leaf, index, size, root, changed))
        assertNot(verifyInclusion(leaf, index, size, root, proof.slice(1)))
      }),
      { numRuns: 60 },
    )
  },
)

t.test(
  'every consistency proof matches the definition and verifies, but not with a changed bit in the proof or a root',
  async () => {
    await fc.assert(
      fc.asyncProperty(sizes, sizes, flip, fc.nat(), async (one, other, bit, step) => {
        const [from, to] = [Math.min(one, other), Math.max(one, other)]
        const [older, newer] = [
          { size: from, root: await tree.root(from) },
          { size: to, root: await tree.root(to) },
        ]
        const proof = await tree.consistencyProof(from, to)
        assert(same(proof, naiveProof(from, entries.slice(0, to))))
        assert(verifyConsistency(older, newer, proof))
        assertNot(verifyConsistency({ ...older, root: flipped(older.root, bit) }, newer, proof))
        assertNot(verifyConsistency(older, { ...newer, root: flipped(newer.root, bit) }, proof))
        assertNot(verifyConsistency(older, newer, [...proof, newer.root]))
        if (proof.length === 0) return
        const changed = proof.map((hash, place) => (place === step % proof.length ? flipped(hash, bit) : hash))
        assertNot(verifyConsistency(older, newer, changed))
        assertNot(verifyConsistency(older, newer, proof.slice(1)))
        assertNot(verifyConsistency({ ...older, size: to }, newer, proof))
        assertNot(verifyConsistency(newer, older, proof), 'backwards')
      }),
      { numRuns: 60 },
    )
  },
)

t.test('a tree with names has the same hashes, and its entries are composed from the leaves', async (t) => {
  const name = (index: number) => Buffer.from(`event ${index}`)
  const composed = async (tree: TreeReader, from: number, leaves = entries) => {
    const files = []
    async function* leavesFrom(index: number) {
      yield* leaves.slice(index)
    }
    for await (const file of tree.entryBundles(from, leavesFrom)) files.push(file)
    return files
  }
  await fc.assert(
    fc.asyncProperty(batches, fc.nat(800), async (sizes, start) => {
      const [withEntries, withNames] = [new MemoryTiles(), new MemoryTiles()]
      await appended(withEntries, sizes)
      let appender = await TreeAppender.open(withNames, 0, { bundles: 'names' })
      for (const size of sizes) {
        const leaves = entries.slice(appender.size, appender.size + size)
        const names = leaves.map((_, index) => name(appender.size + index))
        await appender.append(names, leaves.map(leafHash))
        await appender.flush()
        appender = await TreeAppender.open(withNames, appender.size, { bundles: 'names' })
      }
      const { size } = appender
      const files = [...filesSince(0, size, 'names')]
      for (const path of files.filter((each) => !each.startsWith('tile/names')))
        assert.ok(withNames.files.get(path)!.equals(withEntries.files.get(path)!))
      const tree = new TreeReader(withNames, size, 'names')
      for (let index = 0; index < size; index += 37) assert.deepEqual(await tree.entry(index), name(index))
      const from = Math.min(start, size)
      const expected = [...filesSince(from, size)].filter((path) => path.startsWith('tile/entries'))
      const bundles = await composed(tree, from)
      if (from < size)
        assert.deepEqual(
          bundles.map(({ path }) => path),
          expected,
        )
      for (const { path, bytes } of bundles) assert.ok(bytes.equals(withEntries.files.get(path)!))
    }),
    { numRuns: 10 },
  )
  const store = new MemoryTiles()
  const appender = await TreeAppender.open(store, 0, { bundles: 'names' })
  await appender.append(
    entries.map((_, index) => name(index)),
    entries.map(leafHash),
  )
  await appender.flush()
  const tree = new TreeReader(store, entries.length, 'names')
  const edited = entries.map((entry, index) => (index === 700 ? name(index) : entry))
  await t.rejects(composed(tree, 0, edited), { name: 'VerificationError', message: 'leaf 700 has changed' })
  await t.rejects(composed(tree, 300, entries.slice(0, 790)), { message: 'leaf 790 is missing' })
})

t.test('reads leaves and their hashes in order from any index', async (t) => {
  for (const [from, to] of [
    [0, 800],
    [255, 257],
    [256, 512],
    [700, 800],
    [3, 3],
  ] as const) {
    const read: Buffer[] = []
    for await (const { index, entry } of tree.entries(from, to)) {
      t.ok(entry.equals(entries[index]!))
      read.push(entry)
    }
    t.equal(read.length, to - from)
  }
  t.ok((await tree.leafHash(799)).equals(leafHash(entries[799]!)))
  await t.rejects(tree.inclusionProof(800), RangeError)
  await t.rejects(tree.inclusionProof(5, 5), RangeError)
  await t.rejects(tree.consistencyProof(5, 801), RangeError)
})

t.test('a tree of more than 65,536 leaves has a third level', async (t) => {
  const many = new MemoryTiles()
  const appender = await TreeAppender.open(many, 0)
  const leaves = Array.from({ length: 66_000 }, (_, index) => Buffer.from(String(index)))
  await appender.append(leaves)
  await appender.flush()
  t.strictSame(
    ['tile/0/256', 'tile/0/257.p/208', 'tile/1/000', 'tile/1/001.p/1', 'tile/2/000.p/1'].filter(
      (path) => !many.files.has(path),
    ),
    [],
  )
  const hashes = leaves.map(leafHash)
  const root = rootOver(hashes)
  const tree = new TreeReader(many, leaves.length)
  t.ok((await tree.root()).equals(root))
  for (const index of [0, 255, 256, 65_535, 65_536, 65_999]) {
    t.ok(verifyInclusion(hashes[index]!, index, 66_000, root, await tree.inclusionProof(index)))
  }
  for (const from of [1, 256, 65_537]) {
    const older = { size: from, root: rootOver(hashes.slice(0, from)) }
    t.ok(verifyConsistency(older, { size: 66_000, root }, await tree.consistencyProof(from)))
  }
})

t.test('rejects an oversized entry before it appends anything', async (t) => {
  const appender = await TreeAppender.open(new MemoryTiles(), 0)
  await t.rejects(appender.append([Buffer.from('a'), Buffer.alloc(65_536)]), RangeError)
  t.equal(appender.size, 0)
  await appender.append([Buffer.alloc(65_535)])
  t.equal(appender.size, 1)
})
