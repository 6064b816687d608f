import { execFileSync, spawnSync } from 'node:child_process'
import t from 'tap'
import { publicEntries, publicNotes, publicProofs, publicRoots, publicSignatures } from './public-vectors.js'

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

t.test('verifies the public signatures, and rejects altered ones', { skip }, async (t) => {
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

t.test('verifies the public proofs, and rejects them against a different root', { skip }, async (t) => {
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

t.test('verifies the signed note in the specification', { skip }, async (t) => {
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
