import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { generateSigner, parseSigner } from '@transferd/transparency-log'
import t from 'tap'
import { auditCheck } from '../../src/operations/doctor/machine.js'
import { createSealedLog, signer } from '../audit/integrity/sealed-log.js'

t.test("the doctor's audit check fails for every checkpoint that the log's key has not signed", async (t) => {
  const directory = join(await createSealedLog(3), 'audit')
  const path = join(directory, 'checkpoint')
  const check = (key = signer) => auditCheck(directory, null, async () => key)
  t.match(await check(), { result: 'ok' })
  t.match(await check(parseSigner(generateSigner(signer.name))), { result: 'failed', found: /invalid: .*no signature/ })
  const genuine = readFileSync(path)
  const replacements = {
    'random bytes': Buffer.from([0xff, 0x00, 0xa5]),
    'an empty file': Buffer.alloc(0),
    'a truncated checkpoint': genuine.subarray(0, genuine.length - 9),
    'a different size': Buffer.from(genuine.toString().replace(/\n\d+\n/, '\n9\n')),
    'a file that would fill the memory': Buffer.alloc(20_000_000),
  }
  for (const [title, bytes] of Object.entries(replacements)) {
    writeFileSync(path, bytes)
    t.match(await check(), { result: 'failed', found: /^The checkpoint is invalid: /, advice: /runbooks/ }, title)
  }
  writeFileSync(path, genuine)
  const unreadableKey = () => Promise.reject(new Error('the key is damaged'))
  t.match(await auditCheck(directory, null, unreadableKey), { result: 'failed', found: /the key is damaged/ })
})
