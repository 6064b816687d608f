import { throws } from 'node:assert/strict'
import { formatCheckpoint, generateSigner, leafHash, parseSigner, signNote } from '@transferd/transparency-log'
import t from 'tap'
import { checkProof } from '../../../src/audit/proofs/check-proof.js'
import { proveTransfer } from '../../../src/audit/proofs/prove-transfer.js'
import { openTestStore } from '../../support/embedded-store.js'
import { appendTransfers, signer, TestSealedLog } from './sealed-log.js'

const sealed = new TestSealedLog(await openTestStore(t))
await appendTransfers(sealed, 20)
const first = await sealed.seal()
await appendLater()
const second = await sealed.seal()

/** More transfers, so that the tree has grown beyond a full tile. */
async function appendLater(): Promise<void> {
  const numbers = Array.from({ length: 300 }, (_, number) => number)
  await Promise.all(numbers.map((number) => sealed.append(`later-${number}`, 'Step0')))
  await sealed.append('tracking-4', 'Step5')
}

async function proveOf(trackingId: string, options: { revision?: number; older?: string } = {}): Promise<string> {
  const made = await proveTransfer(sealed, trackingId, options)
  if (!made) throw new Error('no such transfer')
  return made.proof
}

t.test('a proof shows every event of a transfer, in order, to whoever has the key', async (t) => {
  for (const [number, count] of [
    [0, 1],
    [1, 2],
    [4, 6],
    [19, 5],
  ] as const) {
    const checked = checkProof(await proveOf(`tracking-${number}`), signer)
    t.match(checked, { trackingId: `tracking-${number}`, origin: signer.name, treeSize: 361, continues: null })
    t.strictSame(
      checked.events.map(({ revision, type }) => [revision, type]),
      Array.from({ length: count }, (_, revision) => [revision, `Step${revision}`]),
    )
  }
  t.strictSame(
    checkProof(await proveOf('tracking-4', { revision: 3 }), signer).events.map(({ revision }) => revision),
    [3],
  )
})

t.test('from a checkpoint that was kept, it shows that the log went on from there', async (t) => {
  const proof = await proveOf('tracking-4', { older: first })
  t.equal(checkProof(proof, signer, first).continues, 60)
  t.equal(checkProof(proof, signer, second).continues, 60, 'the newest checkpoint is known, too')
  t.throws(() => checkProof(proof, parseSigner(generateSigner(signer.name)), first), /has no signature by/)
  const without = await proveOf('tracking-4')
  t.throws(() => checkProof(without, signer, first), /does not begin at the checkpoint of 60 leaves/)
  const other = signNote(formatCheckpoint({ origin: signer.name, size: 60, root: leafHash(Buffer.from('x')) }), [
    signer,
  ])
  t.throws(() => checkProof(proof, signer, other), /another root for 60 leaves/)
})

t.test('any bit of a proof changed, and it does not hold', async () => {
  const proof = Buffer.from(await proveOf('tracking-1', { older: first }))
  for (let bit = 0; bit < proof.length * 8; bit += 11) {
    const changed = Buffer.from(proof)
    changed[bit >> 3]! ^= 1 << (bit & 7)
    throws(() => checkProof(changed.toString('utf8'), signer), { name: 'VerificationError' }, `bit ${bit}`)
  }
})

t.test('events left out, swapped, taken from elsewhere or said twice make no proof', async (t) => {
  type File = { trackingId: string; events: { index: number }[]; [name: string]: unknown }
  const file = JSON.parse(await proveOf('tracking-4')) as File
  const another = JSON.parse(await proveOf('tracking-3')) as File
  const refused = (changed: File, reason: RegExp) =>
    t.throws(() => checkProof(`${JSON.stringify(changed, null, 2)}\n`, signer), {
      name: 'VerificationError',
      message: reason,
    })
  const { events } = file
  refused({ ...file, events: events.filter((_, place) => place !== 2) }, /Event 3 does not follow event 1/)
  refused({ ...file, events: [events[1]!, events[0]!] }, /Event 0 does not follow event 1/)
  refused({ ...file, events: [] }, /has no event/)
  refused({ ...file, events: another.events }, /is no event of transfer tracking-4/)
  refused({ ...file, events: [{ ...events[0]!, index: events[0]!.index + 1 }] }, /is not in the tree/)
  refused({ ...file, note: 'more' }, /bytes are not as transferd writes them/)
  const twice = (await proveOf('tracking-4')).replace('"trackingId"', '"trackingId": "tracking-3",\n  "trackingId"')
  t.throws(() => checkProof(twice, signer), /bytes are not as transferd writes them/)
  for (const text of ['', 'null', '[]', '{}', '{"format":"transferd-proof/2"}'])
    t.throws(() => checkProof(text, signer), /malformed/)
})

t.test('what is newer than the checkpoint is told, not proven', async (t) => {
  await sealed.append('tracking-2', 'Step3')
  await sealed.append('newest', 'Step0')
  const made = await proveTransfer(sealed, 'tracking-2')
  t.equal(made!.notSealed, 1)
  t.equal(checkProof(made!.proof, signer).events.length, 3)
  await t.rejects(proveTransfer(sealed, 'newest'), { name: 'NotSealedYet' })
  await t.rejects(proveTransfer(sealed, 'tracking-2', { revision: 3 }), { name: 'NotSealedYet' })
  t.equal(await proveTransfer(sealed, 'unknown'), undefined)
  t.equal(await proveTransfer(sealed, 'tracking-2', { revision: 9 }), undefined)
})

t.test('no proof is made of a log or a tree that was changed', async (t) => {
  const proves = (changes: Partial<TestSealedLog>, older?: string) =>
    proveTransfer({ log: sealed.log, tiles: sealed.tiles, key: sealed.key, ...changes }, 'tracking-4', { older })
  const { log } = sealed
  const edited = {
    ...log,
    readStream: async (...args: Parameters<typeof log.readStream>) =>
      (await log.readStream(...args)).map((event) => (event.revision === 2 ? { ...event, data: { step: 99 } } : event)),
  }
  await t.rejects(proves({ log: edited }), {
    name: 'VerificationError',
    message: /tracking-4@2 is not what was sealed/,
  })
  const path = 'tile/0/000'
  const original = sealed.tiles.files.get(path)!
  const changed = Buffer.from(original)
  for (let leaf = 0; leaf < 256; leaf++) changed[leaf * 32]! ^= 1
  sealed.tiles.files.set(path, changed)
  await t.rejects(proves({}), { name: 'VerificationError', message: /is not in the tree/ })
  sealed.tiles.files.set(path, original)
  t.ok(await proves({}))
  const longer = signNote(formatCheckpoint({ origin: signer.name, size: 10_000, root: leafHash(Buffer.from('x')) }), [
    signer,
  ])
  await t.rejects(proves({}, longer), { name: 'VerificationError', message: /The log was cut back/ })
  const forked = signNote(formatCheckpoint({ origin: signer.name, size: 60, root: leafHash(Buffer.from('x')) }), [
    signer,
  ])
  await t.rejects(proves({}, forked), { name: 'VerificationError', message: /is not the continuation/ })
})
