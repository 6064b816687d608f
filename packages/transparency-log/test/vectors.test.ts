import t from 'tap'
import { openCheckpoint, parseCheckpoint } from '../src/checkpoint.js'
import { MemoryTiles } from '../src/memory-tiles.js'
import { emptyRoot, leafHash, nodeHash, rootOver } from '../src/merkle-hash.js'
import { formatSigner, formatVerifier, parseSigner, parseVerifier } from '../src/note-keys.js'
import { openNote, parseNote, signNote } from '../src/signed-note.js'
import { tilePath, widthOf } from '../src/tiles.js'
import { TreeAppender } from '../src/tree-appender.js'
import { TreeReader } from '../src/tree-reader.js'
import { verifyConsistency, verifyInclusion } from '../src/verify-proofs.js'
import { publicEntries, publicHashes, publicNotes, publicProofs, publicRoots } from './public-vectors.js'

t.test('hashes leaves, nodes and the empty tree as RFC 6962 defines', async (t) => {
  t.equal(emptyRoot().toString('hex'), publicHashes.empty)
  t.equal(leafHash(Buffer.alloc(0)).toString('hex'), publicHashes.emptyLeaf)
  t.equal(leafHash(Buffer.from('L123456')).toString('hex'), publicHashes.leaf)
  t.equal(nodeHash(Buffer.from('N123'), Buffer.from('N456')).toString('hex'), publicHashes.node)
})

t.test('the eight public leaves have the public roots in every construction', async (t) => {
  const store = new MemoryTiles()
  const appender = await TreeAppender.open(store, 0)
  for (const [index, entry] of publicEntries.entries()) {
    await appender.append([entry])
    await appender.flush()
    t.equal(appender.root().toString('hex'), publicRoots[index])
    t.equal((await new TreeReader(store, index + 1).root()).toString('hex'), publicRoots[index])
    t.equal(rootOver(publicEntries.slice(0, index + 1).map(leafHash)).toString('hex'), publicRoots[index])
  }
})

t.test('produces and verifies the public inclusion and consistency proofs', async (t) => {
  const store = new MemoryTiles()
  const appender = await TreeAppender.open(store, 0)
  await appender.append(publicEntries)
  await appender.flush()
  const tree = new TreeReader(store, publicEntries.length)
  for (const { index, size, proof } of publicProofs.inclusion) {
    const made = await tree.inclusionProof(index, size)
    t.same(
      made.map((hash) => hash.toString('hex')),
      proof,
    )
    t.ok(verifyInclusion(leafHash(publicEntries[index]!), index, size, await tree.root(size), made))
  }
  for (const { from, to, proof } of publicProofs.consistency) {
    const made = await tree.consistencyProof(from, to)
    t.same(
      made.map((hash) => hash.toString('hex')),
      proof,
    )
    const [older, newer] = [
      { size: from, root: await tree.root(from) },
      { size: to, root: await tree.root(to) },
    ]
    t.ok(verifyConsistency(older, newer, made))
  }
})

t.test('tiles have the specified paths and widths', async (t) => {
  t.equal(tilePath(0, 1234067), 'tile/0/x001/x234/067')
  t.equal(tilePath('entries', 0, 5), 'tile/entries/000.p/5')
  t.equal(tilePath(3, 1000), 'tile/3/x001/000')
  // The tree of 70,000 entries is the specification's own example.
  t.same([widthOf(0, 272, 70_000), widthOf(0, 273, 70_000), widthOf(0, 274, 70_000)], [256, 112, 0])
  t.same([widthOf(1, 0, 70_000), widthOf(1, 1, 70_000), widthOf(2, 0, 70_000)], [256, 17, 1])
  t.same([widthOf(0, 0, 256), widthOf(1, 0, 256)], [256, 1])
})

t.test('opens and reproduces the keys and notes of the specification and of Go', async (t) => {
  for (const { verifier, note } of publicNotes.verified) {
    t.equal(formatVerifier(parseVerifier(verifier)), verifier)
    t.equal(openNote(note, [parseVerifier(verifier)]).signatures.length, 1)
  }
  const { signer: text, verifier, note } = publicNotes.signed
  const signer = parseSigner(text)
  t.equal(formatSigner(signer), text)
  t.equal(formatVerifier(signer), verifier)
  t.equal(signNote(parseNote(note).text, [signer]), note)
})

t.test("parses the specification's checkpoint", async (t) => {
  const { text, signatures } = parseNote(publicNotes.checkpoint)
  const { origin, size, root } = parseCheckpoint(text)
  t.same([origin, size, root.toString('base64')], ['example.com/behind-the-sofa', 20852163, publicNotes.checkpointRoot])
  t.same(
    signatures.map(({ name, keyId }) => [name, keyId]),
    [
      ['example.com/behind-the-sofa', '033de0ae'],
      ['witness.example.com/w1', '8d66cf3f'],
    ],
  )
  t.throws(() => openCheckpoint(publicNotes.checkpoint, parseVerifier(publicNotes.signed.verifier)))
})
