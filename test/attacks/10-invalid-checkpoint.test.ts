import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import {
  DirectoryTiles,
  generateSigner,
  type NoteSigner,
  openCheckpoint,
  parseSigner,
} from '@transferd/transparency-log'
import t from 'tap'
import { openTree } from '../../src/audit/integrity/audit-tree-opening.js'
import { auditCheck } from '../../src/operations/doctor/machine.js'
import { createSealedLog, signer } from '../audit/integrity/sealed-log.js'

t.test("the doctor's audit check fails for every checkpoint that the log's key has not signed", async (t) => {
  const directory = join(await createSealedLog(3), 'audit')
  const path = join(directory, 'checkpoint')
  const genuine = readFileSync(path)
  const { size, root } = openCheckpoint(genuine.toString(), signer)
  const [startedAt, at] = ['2026-11-21T12:00:00.000Z', '2026-11-21T12:00:00.000Z']
  const start = { treeId: 'tree-1', origin: signer.name, keyId: signer.keyId, reason: null, at, startedAt }
  const tree = { ...start, size, root: root.toString('base64'), isSealed: true, earlierKeyIds: [] }
  const check = (keptKey: () => NoteSigner = () => signer) =>
    auditCheck(directory, null, () =>
      openTree({
        tiles: new DirectoryTiles(directory),
        tree: { state: async () => tree, execute: async () => undefined },
        ...{ isShared: false, keyOf: () => signer, keptKey, setAside: async () => undefined },
      }),
    )
  t.match(await check(), { result: 'ok' })
  const other = parseSigner(generateSigner(signer.name))
  t.match(await check(() => other), { result: 'failed', found: /^audit.key: .* has a different key/ })
  const replacements = {
    'random bytes': Buffer.from([0xff, 0x00, 0xa5]),
    'an empty file': Buffer.alloc(0),
    'a truncated checkpoint': genuine.subarray(0, genuine.length - 9),
    'a different size': Buffer.from(genuine.toString().replace(/\n\d+\n/, '\n9\n')),
    'a file that would fill the memory': Buffer.alloc(20_000_000),
  }
  for (const [title, bytes] of Object.entries(replacements)) {
    writeFileSync(path, bytes)
    t.match(await check(), { result: 'failed', found: /has an invalid checkpoint: /, advice: /runbooks/ }, title)
  }
  writeFileSync(path, genuine)
  const unreadableKey = () => {
    throw new Error('the key is damaged')
  }
  t.match(await check(unreadableKey), { result: 'failed', found: /has an unreadable key/ })
})
