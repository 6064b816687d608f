import { execFileSync, spawnSync } from 'node:child_process'
import { copyFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { proveTransfer } from '../../../src/audit/proofs/prove-transfer.js'
import { formatVerifier } from '../../../src/audit/tree/note-keys.js'
import { openTestStore } from '../../support/embedded-store.js'
import { temporaryDirectory } from '../../support/processes.js'
import { publicEntries, publicNotes, publicProofs, publicRoots, publicSignatures } from '../tree/public-vectors.js'
import { appendTransfers, signer, TestSealedLog } from './sealed-log.js'

const hasPython = spawnSync('python3', ['--version']).status === 0
const skip = hasPython ? false : 'no python3'

/** Runs Python lines that have the example as `c` and what is given as `given`; answers what they make of `answer`. */
function python(lines: string, given: unknown): unknown {
  const code = `import json, sys\nsys.path.insert(0, 'examples/audit')\nsys.dont_write_bytecode = True\nimport check_proof as c\ngiven = json.load(sys.stdin)\n${lines}\nprint(json.dumps(answer))`
  return JSON.parse(execFileSync('python3', ['-c', code], { input: JSON.stringify(given), encoding: 'utf8' }))
}

const holds = `
def holds(check):
    try:
        return bool(check())
    except Exception:
        return False
`

t.test('the Python example verifies the public signatures and notes, and no others', { skip }, async (t) => {
  const lines = `${holds}
raw = bytes.fromhex
def flip(data, bit):
    return data[:bit // 8] + bytes([data[bit // 8] ^ (1 << bit % 8)]) + data[bit // 8 + 1:]
answer = {'good': [], 'bad': []}
for each in given['signatures']:
    public, message, signature = raw(each['publicKey']), raw(each['message']), raw(each['signature'])
    answer['good'].append(holds(lambda: c.signed(public, message, signature)))
    answer['bad'] += [holds(lambda: c.signed(public, message, flip(signature, bit))) for bit in range(0, 512, 37)]
    answer['bad'] += [holds(lambda: c.signed(flip(public, bit), message, signature)) for bit in range(0, 256, 61)]
    answer['bad'].append(holds(lambda: c.signed(public, message + b'x', signature)))
`
  const { good, bad } = python(lines, { signatures: publicSignatures }) as { good: boolean[]; bad: boolean[] }
  t.strictSame(
    good,
    publicSignatures.map(() => true),
  )
  t.equal(bad.length, publicSignatures.length * 20)
  t.notOk(bad.includes(true))
})

t.test('the Python example verifies the public proofs, and none with another root', { skip }, async (t) => {
  const entries = publicEntries.map((entry) => entry.toString('hex'))
  const lines = `${holds}
raw = bytes.fromhex
leaves, roots = [c.sha256(b'\\0', raw(each)) for each in given['entries']], [raw(each) for each in given['roots']]
answer = {'good': [], 'bad': []}
for each in given['proofs']['inclusion']:
    proof = [raw(hash) for hash in each['proof']]
    for size in (each['size'], each['size'] % 8 + 1):
        found = holds(lambda: c.included(leaves[each['index']], each['index'], each['size'], roots[size - 1], proof))
        answer['good' if size == each['size'] else 'bad'].append(found)
for each in given['proofs']['consistency']:
    proof, older = [raw(hash) for hash in each['proof']], roots[each['from'] - 1]
    for size in (each['to'], each['to'] % 8 + 1):
        found = holds(lambda: c.consistent(each['from'], older, each['to'], roots[size - 1], proof))
        answer['good' if size == each['to'] else 'bad'].append(found)
`
  const answer = python(lines, { entries, roots: publicRoots, proofs: publicProofs })
  t.strictSame(answer, { good: Array(10).fill(true), bad: Array(10).fill(false) })
})

t.test('the Python example takes our proofs, and none with a bit changed', { skip }, async (t) => {
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

t.test('as a program it needs nothing but itself, and its exit status tells', { skip }, async (t) => {
  const directory = temporaryDirectory(t)
  const sealed = new TestSealedLog(await openTestStore(t))
  await appendTransfers(sealed, 3)
  writeFileSync(join(directory, 'kept'), await sealed.seal())
  await sealed.append('tracking-0', 'Step1')
  const newer = await sealed.seal()
  writeFileSync(join(directory, 'proof.json'), (await proveTransfer(sealed, 'tracking-2'))!.proof)
  copyFileSync('examples/audit/check_proof.py', join(directory, 'check_proof.py'))
  const check = (...more: string[]) =>
    spawnSync('python3', ['-I', 'check_proof.py', 'proof.json', '--key', formatVerifier(signer), ...more], {
      cwd: directory,
      encoding: 'utf8',
    })
  const holding = check()
  t.equal(holding.status, 0)
  t.match(holding.stdout, /transfer-tracking-2@2 Step2\nThe proof holds\.\n$/)
  const notFrom = check('--checkpoint', 'kept')
  t.equal(notFrom.status, 1)
  t.match(notFrom.stderr, /The proof does not hold: a log that does not lead from your checkpoint/)
  writeFileSync(join(directory, 'newest'), newer)
  t.equal(check('--checkpoint', 'newest').status, 0)
  writeFileSync(join(directory, 'proof.json'), `${(await proveTransfer(sealed, 'tracking-2'))!.proof} `)
  t.equal(check().status, 1)
})

t.test('the specification says what a note is, and the Python example reads it so', { skip }, async (t) => {
  const { verifier, note } = publicNotes.signed
  const checkpointLike = python(
    `${holds}
name, key_id, raw = given['verifier'].split('+', 2)
text, _, line = given['note'].rpartition('\\n\\n')
signature = c.decoded(line[:-1].split(' ')[2])[4:]
answer = [c.sha256(name.encode(), b'\\n', c.decoded(raw))[:4].hex() == key_id, c.signed(c.decoded(raw)[1:], (text + '\\n').encode(), signature)]`,
    { verifier, note },
  )
  t.strictSame(checkpointLike, [true, true])
})
