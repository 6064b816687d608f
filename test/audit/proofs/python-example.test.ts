import { execFileSync, spawnSync } from 'node:child_process'
import { copyFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { formatVerifier } from '@transferd/transparency-log'
import t from 'tap'
import { proveTransfer } from '../../../src/audit/proofs/transfer-proof.js'
import { openTestStore } from '../../support/embedded-store.js'
import { temporaryDirectory } from '../../support/processes.js'
import { appendTransfers, signer, TestSealedLog } from './test-sealed-log.js'

const hasPython = spawnSync('python3', ['--version']).status === 0
const skip = hasPython ? false : 'python3 is not installed'

/** Runs Python code that reads the example as `c` and the input as `given`, and returns the value that the code assigns to `answer`. */
function python(lines: string, given: unknown): unknown {
  const code = `import json, sys\nsys.path.insert(0, 'packages/transparency-log/examples')\nsys.dont_write_bytecode = True\nimport check_proof as c\ngiven = json.load(sys.stdin)\n${lines}\nprint(json.dumps(answer))`
  return JSON.parse(execFileSync('python3', ['-c', code], { input: JSON.stringify(given), encoding: 'utf8' }))
}

const holds = `
def holds(check):
    try:
        return bool(check())
    except Exception:
        return False
`

t.test('accepts our proofs, and rejects any proof with a changed bit', { skip }, async (t) => {
  const sealed = new TestSealedLog(await openTestStore(t))
  await appendTransfers(sealed, 20)
  const older = await sealed.seal()
  await sealed.append('tracking-4', 'Step5')
  await sealed.append('another', 'Step0')
  await sealed.seal()
  const { proof } = (await proveTransfer(sealed, 'tracking-4', { older }))!
  const key = formatVerifier(signer)
  const bytes = Buffer.from(proof)
  const changed = Array.from({ length: 150 }, (_, step) => {
    const copy = Buffer.from(bytes)
    const bit = step * Math.floor((bytes.length * 8) / 150) + (step % 8)
    copy[bit >> 3]! ^= 1 << (bit & 7)
    return copy.toString('utf8')
  })
  const answer = python(
    `${holds}answer = [holds(lambda: c.check(text, given['key'], given['older'])) for text in given['texts']]`,
    { key, older, texts: [proof, ...changed] },
  )
  t.strictSame(answer, [true, ...changed.map(() => false)])
})

t.test('runs alone, and its exit status reports the result', { skip }, async (t) => {
  const directory = temporaryDirectory(t)
  const sealed = new TestSealedLog(await openTestStore(t))
  await appendTransfers(sealed, 3)
  writeFileSync(join(directory, 'kept'), await sealed.seal())
  await sealed.append('tracking-0', 'Step1')
  const newer = await sealed.seal()
  writeFileSync(join(directory, 'proof.json'), (await proveTransfer(sealed, 'tracking-2'))!.proof)
  copyFileSync('packages/transparency-log/examples/check_proof.py', join(directory, 'check_proof.py'))
  const check = (...more: string[]) =>
    spawnSync('python3', ['-I', 'check_proof.py', 'proof.json', '--key', formatVerifier(signer), ...more], {
      cwd: directory,
      encoding: 'utf8',
    })
  const valid = check()
  t.equal(valid.status, 0)
  t.match(valid.stdout, /transfer-tracking-2@2 Step2\nThe proof is valid\.\n$/)
  const unrelated = check('--checkpoint', 'kept')
  t.equal(unrelated.status, 1)
  t.match(unrelated.stderr, /The proof is invalid: a log that does not lead from your checkpoint/)
  writeFileSync(join(directory, 'newest'), newer)
  t.equal(check('--checkpoint', 'newest').status, 0)
  writeFileSync(join(directory, 'proof.json'), `${(await proveTransfer(sealed, 'tracking-2'))!.proof} `)
  t.equal(check().status, 1)
})
