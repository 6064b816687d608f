import t from 'tap'
import { formatCheckpoint, openCheckpoint } from '../src/checkpoint.js'
import { MemoryTiles } from '../src/memory-tiles.js'
import { leafHash } from '../src/merkle-hash.js'
import { generateSigner, parseSigner } from '../src/note-keys.js'
import { signNote } from '../src/signed-note.js'
import { TreeAppender } from '../src/tree-appender.js'
import { TreeReader } from '../src/tree-reader.js'
import { addCheckpointRequest, seenSize, withCosignature } from '../src/witness.js'
import { TestWitness } from './test-witness.js'

const log = parseSigner(generateSigner('log.example/transferd'))
const tiles = new MemoryTiles()
const appender = await TreeAppender.open(tiles, 0)

async function checkpointAt(size: number): Promise<string> {
  await appender.append(
    Array.from({ length: size - appender.size }, (_, index) => Buffer.from(`${appender.size + index}`)),
  )
  await appender.flush()
  return signNote(formatCheckpoint({ origin: log.name, size, root: appender.root() }), [log])
}

t.test('a witness cosigns a consistent checkpoint, and the checkpoint carries the cosignature', async (t) => {
  const witness = new TestWitness(log)
  const first = await checkpointAt(300)
  const seen = witness.addCheckpoint(addCheckpointRequest(0, [], first), 1_700_000_000)
  const cosigned = withCosignature(first, seen.body, witness.key)
  t.match(openCheckpoint(cosigned, log, [witness.key]).cosignatures, [
    { name: 'witness.example/w1', timeS: 1_700_000_000 },
  ])

  const second = await checkpointAt(700)
  const conflict = witness.addCheckpoint(addCheckpointRequest(0, [], second), 1_700_000_060)
  t.equal(conflict.status, 409)
  const old = seenSize(conflict.body)
  t.equal(old, 300)
  const proof = await new TreeReader(tiles, 700).consistencyProof(old)
  const again = witness.addCheckpoint(addCheckpointRequest(old, proof, second), 1_700_000_060)
  const twice = withCosignature(withCosignature(second, again.body, witness.key), again.body, witness.key)
  t.equal(twice, withCosignature(second, again.body, witness.key), 'repeated requests add one line of a witness')
  t.match(openCheckpoint(twice, log, [witness.key]), { size: 700, cosignatures: [{ timeS: 1_700_000_060 }] })
})

t.test(
  'a witness rejects a different history, and a response that is signed with a different key is rejected',
  async (t) => {
    const witness = new TestWitness(log)
    const honest = await checkpointAt(800)
    t.equal(witness.addCheckpoint(addCheckpointRequest(0, [], honest), 1).status, 200)
    const forged = signNote(formatCheckpoint({ origin: log.name, size: 900, root: leafHash(Buffer.from('another')) }), [
      log,
    ])
    t.equal(witness.addCheckpoint(addCheckpointRequest(800, [leafHash(Buffer.from('x'))], forged), 2).status, 422)
    const otherWitness = new TestWitness(log)
    const { body } = otherWitness.addCheckpoint(addCheckpointRequest(0, [], honest), 3)
    t.throws(() => withCosignature(honest, body, witness.key), /no cosignature by witness\.example/)
    for (const response of ['', 'no note\n', '— witness.example/w1 AAAA\n']) {
      t.throws(() => withCosignature(honest, response, witness.key), { name: 'VerificationError' })
    }
    for (const response of ['', '300', '0300\n', '-1\n', '3e2\n'])
      t.throws(() => seenSize(response), { name: 'VerificationError' })
  },
)
