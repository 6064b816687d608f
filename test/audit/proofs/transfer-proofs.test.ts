import { throws } from 'node:assert/strict'
import { formatCheckpoint, generateSigner, leafHash, parseSigner, signNote } from '@transferd/transparency-log'
import t from 'tap'
import { checkProof, proveTransfer } from '../../../src/audit/proofs/transfer-proof.js'
import { openTestStore } from '../../support/embedded-store.js'
import { appendTransfers, signer, TestSealedLog } from './test-sealed-log.js'

const sealed = new TestSealedLog(await openTestStore(t))
await appendTransfers(sealed, 20)
const first = await sealed.seal()
await appendLater()
const second = await sealed.seal()

/** Appends more transfers, so that the tree grows beyond a full tile. */
async function appendLater(): Promise<void> {
  const numbers = Array.from({ length: 300 }, (_, number) => number)
  await Promise.all(numbers.map((number) => sealed.append(`later-${number}`, 'Step0')))
  await sealed.append('tracking-4', 'Step5')
}

async function proofOf(trackingId: string, options: { revision?: number; older?: string } = {}): Promise<string> {
  const created = await proveTransfer(sealed, trackingId, options)
  if (!created) throw new Error('transfer not found')
  return created.proof
}

t.test('proves every event of a transfer in order, with only the public key', async (t) => {
  for (const [number, count] of [
    [0, 1],
    [1, 2],
    [4, 6],
    [19, 5],
  ] as const) {
    const checked = checkProof(await proofOf(`tracking-${number}`), signer)
    t.match(checked, { trackingId: `tracking-${number}`, origin: signer.name, treeSize: 361, continues: null })
    t.strictSame(
      checked.events.map(({ revision, type }) => [revision, type]),
      Array.from({ length: count }, (_, revision) => [revision, `Step${revision}`]),
    )
  }
  t.strictSame(
    checkProof(await proofOf('tracking-4', { revision: 3 }), signer).events.map(({ revision }) => revision),
    [3],
  )
})

t.test('proves that the log continues a kept checkpoint', async (t) => {
  const proof = await proofOf('tracking-4', { older: first })
  t.equal(checkProof(proof, signer, first).continues, 60)
  t.equal(checkProof(proof, signer, second).continues, 60, 'a proof also continues the newest checkpoint')
  t.throws(() => checkProof(proof, parseSigner(generateSigner(signer.name)), first), /has no signature by/)
  const without = await proofOf('tracking-4')
  t.throws(() => checkProof(without, signer, first), /does not start at the checkpoint of 60 leaves/)
  const other = signNote(formatCheckpoint({ origin: signer.name, size: 60, root: leafHash(Buffer.from('x')) }), [
    signer,
  ])
  t.throws(() => checkProof(proof, signer, other), /a different root for 60 leaves/)
})

t.test('rejects a proof with any changed bit', async () => {
  const proof = Buffer.from(await proofOf('tracking-1', { older: first }))
  for (let bit = 0; bit < proof.length * 8; bit += 11) {
    const changed = Buffer.from(proof)
    changed[bit >> 3]! ^= 1 << (bit & 7)
    throws(() => checkProof(changed.toString('utf8'), signer), { name: 'VerificationError' }, `bit ${bit}`)
  }
})

t.test('rejects omitted, swapped, foreign and repeated events', async (t) => {
  type File = { trackingId: string; events: { index: number }[]; [name: string]: unknown }
  const file = JSON.parse(await proofOf('tracking-4')) as File
  const another = JSON.parse(await proofOf('tracking-3')) as File
  const rejects = (changed: File, reason: RegExp) =>
    t.throws(() => checkProof(`${JSON.stringify(changed, null, 2)}\n`, signer), {
      name: 'VerificationError',
      message: reason,
    })
  const { events } = file
  rejects({ ...file, events: events.filter((_, place) => place !== 2) }, /Event 3 does not follow event 1/)
  rejects({ ...file, events: [events[1]!, events[0]!] }, /Event 0 does not follow event 1/)
  rejects({ ...file, events: [] }, /has no event/)
  rejects({ ...file, events: another.events }, /is not an event of transfer tracking-4/)
  rejects({ ...file, events: [{ ...events[0]!, index: events[0]!.index + 1 }] }, /is not in the tree/)
  rejects({ ...file, note: 'more' }, /bytes differ from the form that transferd writes/)
  const duplicated = (await proofOf('tracking-4')).replace(
    '"trackingId"',
    '"trackingId": "tracking-3",\n  "trackingId"',
  )
  t.throws(() => checkProof(duplicated, signer), /bytes differ from the form that transferd writes/)
  for (const text of ['', 'null', '[]', '{}', '{"format":"transferd-proof/2"}'])
    t.throws(() => checkProof(text, signer), /malformed/)
})

t.test('reports events that are newer than the checkpoint, without proving them', async (t) => {
  await sealed.append('tracking-2', 'Step3')
  await sealed.append('newest', 'Step0')
  const created = await proveTransfer(sealed, 'tracking-2')
  t.equal(created!.notSealed, 1)
  t.equal(checkProof(created!.proof, signer).events.length, 3)
  await t.rejects(proveTransfer(sealed, 'newest'), { name: 'NotSealedYet' })
  await t.rejects(proveTransfer(sealed, 'tracking-2', { revision: 3 }), { name: 'NotSealedYet' })
  t.equal(await proveTransfer(sealed, 'unknown'), undefined)
  t.equal(await proveTransfer(sealed, 'tracking-2', { revision: 9 }), undefined)
})

t.test('creates no proof for a changed log or tree', async (t) => {
  const prove = (changes: Partial<TestSealedLog>, older?: string) =>
    proveTransfer({ log: sealed.log, tiles: sealed.tiles, key: sealed.key, ...changes }, 'tracking-4', { older })
  const { log } = sealed
  const edited = {
    ...log,
    readStream: async (...args: Parameters<typeof log.readStream>) =>
      (await log.readStream(...args)).map((event) =>
        event.revision === 2 ? { ...event, text: event.text!.replace('"step":2', '"step":99') } : event,
      ),
  }
  await t.rejects(prove({ log: edited }), {
    name: 'VerificationError',
    message: /tracking-4@2 and leaf \d+ of the tree do not match/,
  })
  const path = 'tile/0/000'
  const original = sealed.tiles.files.get(path)!
  const changed = Buffer.from(original)
  for (let leaf = 0; leaf < 256; leaf++) changed[leaf * 32]! ^= 1
  sealed.tiles.files.set(path, changed)
  await t.rejects(prove({}), {
    name: 'VerificationError',
    message: /tracking-4@0 and leaf \d+ of the tree do not match/,
  })
  sealed.tiles.files.set(path, original)
  t.ok(await prove({}))
  const longer = signNote(formatCheckpoint({ origin: signer.name, size: 10_000, root: leafHash(Buffer.from('x')) }), [
    signer,
  ])
  await t.rejects(prove({}, longer), { name: 'VerificationError', message: /The log was cut back/ })
  const forked = signNote(formatCheckpoint({ origin: signer.name, size: 60, root: leafHash(Buffer.from('x')) }), [
    signer,
  ])
  await t.rejects(prove({}, forked), { name: 'VerificationError', message: /is not a continuation/ })
})
