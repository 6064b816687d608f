import { execFileSync, spawnSync } from 'node:child_process'
import { createHash } from 'node:crypto'
import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { formatVerifier, generateSigner, parseSigner } from '@transferd/transparency-log'
import t, { type Test } from 'tap'
import { temporaryDirectory } from '../../support/processes.js'
import { type Evidence, filesOf, keyId, packed, signer, TestLog, trackingId } from './test-package.js'

const key = formatVerifier(signer)
const textsSha256 = createHash('sha256').update('{}\n').digest('hex')

interface Case {
  readonly file: Buffer
  readonly earlier?: Buffer | undefined
  readonly key?: string
}
/** Returns what the program prints about each package. */
type Verifier = (t: Test, cases: readonly Case[]) => string[]

function saved(t: Test, cases: readonly Case[]) {
  const directory = temporaryDirectory(t)
  const save = (name: string, content: Buffer) => {
    writeFileSync(join(directory, name), content)
    return join(directory, name)
  }
  return cases.map((each, number) => ({
    key: each.key ?? key,
    path: save(`${number}.zip`, each.file),
    earlier: each.earlier && save(`${number}-earlier`, each.earlier),
  }))
}

/** Checks all packages in one process, because the start of Python takes longer than a check. */
const python: Verifier = (t, cases) => {
  const driver = `
import contextlib, io, json, sys
sys.path.insert(0, 'src/audit/evidence')
sys.dont_write_bytecode = True
import verify
from types import SimpleNamespace
given = json.load(sys.stdin)
verify.TEXTS_SHA256 = given['texts']
def run(case):
    output = io.StringIO()
    try:
        with contextlib.redirect_stdout(output):
            verify.main(SimpleNamespace(package=case['path'], key=case['key'], earlier=case.get('earlier')))
    except verify.Wrong as wrong:
        return f'The package is invalid: {wrong}\\n'
    return output.getvalue()
print(json.dumps([run(case) for case in given['cases']]))`
  const input = JSON.stringify({ texts: textsSha256, cases: saved(t, cases) })
  return JSON.parse(execFileSync('python3', ['-c', driver], { input, encoding: 'utf8', maxBuffer: 2 ** 28 }))
}

let built: string | undefined
t.before(() => {
  if (!isInstalled('go', 'version')) return
  const directory = temporaryDirectory(t)
  const source = readFileSync('src/audit/evidence/verify.go', 'utf8')
  writeFileSync(join(directory, 'verify.go'), source.replace(/(textsSHA256 = )"\w+"/, `$1"${textsSha256}"`))
  built = join(directory, 'verify')
  execFileSync('go', ['build', '-o', built, 'verify.go'], { cwd: directory })
})
const go: Verifier = (t, cases) =>
  saved(t, cases).map(({ path, key, earlier }) => {
    const more = earlier === undefined ? [] : ['--earlier', earlier]
    const { stdout, stderr } = spawnSync(built!, [path, '--key', key, ...more], { encoding: 'utf8' })
    return stderr || stdout
  })

function isInstalled(program: string, argument: string): boolean {
  return spawnSync(program, [argument]).status === 0
}

const programs: readonly { name: string; verify: Verifier; skip: string | false }[] = [
  { name: 'verify.py', verify: python, skip: !isInstalled('python3', '--version') && 'python3 is not installed' },
  { name: 'verify.go', verify: go, skip: !isInstalled('go', 'version') && 'go is not installed' },
]

const account = 4_711_000_001
const paymentId = 'account 2026-11-22 debit 100 1'

/** A log with a transfer, and events of others between its events. Returns the indexes of the events of a package. */
function givenLog(): { log: TestLog; indexes: number[] } {
  const log = new TestLog()
  const indexes: number[] = []
  const add = (event: Parameters<TestLog['append']>[0]) => {
    for (let other = 0; other < log.size % 4; other++) log.append({ stream: 'transfer-other', type: 'Other' })
    indexes.push(log.size)
    log.append(event)
  }
  const of = { trackingId, merchantId: 'm-1' }
  const own = (type: string, data = {}, actor?: string) =>
    add({ stream: `transfer-${trackingId}`, type, data: { ...of, ...data }, ...(actor && { actor }) })
  add({ stream: 'installation-currency', type: 'CurrencyBound', data: { currency: 'EUR' } })
  add({ stream: 'merchant-m-1', type: 'MerchantCreated' })
  for (const user of ['ada', 'bob', 'eve']) add({ stream: `user-${user}`, type: 'UserCreated' })
  add({ stream: 'integrity-log', type: 'PayoutsStopped' })
  add({
    stream: `transfer-${trackingId}`,
    type: 'WithdrawalCreated',
    data: of,
    personal: { userId: 'c-1', name: 'Zoë', metadata: { order: '1' } },
  })
  add({ stream: `callback-${trackingId}`, type: 'CallbackRecorded', data: of })
  add({ stream: 'payouts-m-1', type: 'PayoutCounted', data: of })
  log.append({ stream: 'payouts-m-1', type: 'PayoutCounted', data: { trackingId: 'other' } })
  add({ stream: `payment-${trackingId}`, type: 'WalletLoggedIn', data: of, personal: { accountNumber: account } })
  log.append({ stream: `wallet-${account}`, type: 'WalletAccountOpened' })
  add({ stream: `wallet-${account}`, type: 'WalletAccountDebited', data: of })
  add({ stream: 'payouts-m-1', type: 'PayoutUncounted', data: of })
  own('WithdrawalClaimed', { by: 'user:ada' }, 'user:ada')
  own('TransferCorrected', { by: 'user:bob', proposedBy: 'user:ada' }, 'user:bob')
  add({ stream: 'bankentries-1', type: 'BankPaymentRecorded', data: { paymentId } })
  add({ stream: 'bankentries-1', type: 'BankPaymentAssigned', data: { ...of, paymentId } })
  own('BankPaymentMatched', { by: 'user:eve', bankPaymentId: paymentId }, 'user:eve')
  add({ stream: 'user-bob', type: 'UserDisabled' })
  add({ stream: 'merchant-m-1', type: 'MerchantRenamed' })
  add({ stream: `privacy-${keyId}`, type: 'CustomerErased' })
  return { log, indexes }
}

type Change = (evidence: Evidence) => unknown
const streamOf = (leaf: string): string => JSON.parse(leaf)[1]
const without = (isRemoved: (stream: string, revision: number) => boolean): Change => {
  return (evidence) => {
    evidence.events = evidence.events.filter(({ leaf }) => !isRemoved(streamOf(leaf), JSON.parse(leaf)[2]))
    return evidence
  }
}
const withLast = (change: (event: Evidence['events'][number]) => void): Change => {
  return (evidence) => {
    change(evidence.events.at(-1)!)
    return evidence
  }
}
const firstField = ({ disclosed }: Evidence) => disclosed[0]!.fields[0]!

/** What a signed package must not contain, and the message about it. */
const refused: readonly [title: string, change: Change, message: RegExp][] = [
  [
    'a gap in a stream',
    without((stream, revision) => stream.startsWith('transfer-') && revision === 1),
    /event \d+: transfer-\S+ has revision 2 instead of 1$/,
  ],
  [
    'the end of the transfer missing with its user',
    without((stream) => stream === 'user-eve'),
    /user-eve: its events are missing$/,
  ],
  ['a missing user', without((stream) => stream === 'user-ada'), /user-ada: its events are missing$/],
  ['a missing merchant', without((stream) => stream === 'merchant-m-1'), /merchant-m-1: its events are missing$/],
  [
    'a missing currency',
    without((stream) => stream.startsWith('installation')),
    /installation-currency: its events are missing$/,
  ],
  ['no events', without(() => true), /transfer-\S+: it has no events$/],
  [
    'the leaf of another event',
    (evidence) => {
      const [first, second] = evidence.events.map(({ leaf }) => leaf)
      Object.assign(evidence.events[0]!, { leaf: second })
      Object.assign(evidence.events[1]!, { leaf: first })
      return evidence
    },
    /event 0: it is not in the tree of the checkpoint$/,
  ],
  [
    'the wrong order of events',
    (evidence) => {
      evidence.events.reverse()
      return evidence
    },
    /event \d+: it follows event \d+$/,
  ],
  [
    'an event twice',
    (evidence) => ({ ...evidence, events: evidence.events.flatMap((each) => [each, each]) }),
    /event 0: it follows event 0$/,
  ],
  ['a proof that is too long', withLast(({ proof }) => proof.push(proof[0]!)), /event \d+: its proof is too long$/],
  ['a proof that is too short', withLast(({ proof }) => proof.pop()), /event \d+: its proof is too short$/],
  ['a hash that is too short', withLast(({ proof }) => proof.splice(0, 1, 'AAAA')), /a hash does not have 32 bytes$/],
  [
    'Base64 in another form',
    withLast(({ proof }) => proof.splice(0, 1, `${proof[0]} `)),
    /not Base64 in its canonical form$/,
  ],
  [
    'a fraction as an index',
    (evidence) => JSON.stringify(evidence).replace('"index":0', '"index":0.0'),
    /not an integer/,
  ],
  [
    'a boolean as an index',
    (evidence) => JSON.stringify(evidence).replace('"index":0', '"index":false'),
    /not an integer/,
  ],
  [
    'a large index',
    (evidence) => JSON.stringify(evidence).replace('"index":0', '"index":9007199254740992'),
    /not an integer/,
  ],
  [
    'a wrong disclosed value',
    (evidence) => {
      firstField(evidence).value = '"c-2"'
      return evidence
    },
    /personal data of event \d+: userId: it has a different hash in the event$/,
  ],
  [
    'the value of another field',
    (evidence) => {
      firstField(evidence).field = 'name'
      return evidence
    },
    /personal data of event \d+: name: it has a different hash in the event$/,
  ],
  [
    'a field that the event already has',
    (evidence) => {
      firstField(evidence).field = 'merchantId'
      return evidence
    },
    /personal data of event \d+: merchantId: the event already has this field$/,
  ],
  [
    'a hidden personal field',
    (evidence) => {
      evidence.disclosed[0]!.hashes.pop()
      return evidence
    },
    /personal data of event \d+: its hashes do not match the event$/,
  ],
  [
    'a wallet without its disclosed account',
    (evidence) => {
      evidence.disclosed.pop()
      return evidence
    },
    /event \d+: wallet-\d+ names an account that is not disclosed$/,
  ],
  ['an unknown field', (evidence) => ({ ...evidence, more: 1 }), /does not have exactly these fields/],
  [
    'null in place of an earlier checkpoint',
    (evidence) => ({ ...evidence, older: null }),
    /older: an object does not have/,
  ],
  ['a repeated name', (evidence) => JSON.stringify(evidence).replace('{', '{"older":1,"older":2,'), /repeats a name$/],
  [
    'half of a surrogate pair',
    (evidence) => JSON.stringify(evidence).replace('"format":"', '"format":"\\ud800'),
    /is malformed$/,
  ],
  ['another transfer', (evidence) => ({ ...evidence, trackingId: 'another' }), /transfer-another: it has no events$/],
  ['an array in place of the object', () => [], /does not have exactly these fields/],
  ['deep nesting', () => '['.repeat(200_000), /evidence.json: it is malformed$/],
  ['an array of events that is a string', (evidence) => ({ ...evidence, events: 'ab' }), /is not an array$/],
]

const skip = programs.find((each) => each.skip)?.skip ?? false

for (const { name, verify, skip } of programs) {
  t.test(name, { skip }, async (t) => {
    const { log, indexes } = givenLog()
    const evidence = await log.evidence(indexes, 9)
    const files = filesOf(evidence)
    const file = packed(files)
    const first = (cases: readonly Case[]) => verify(t, cases)[0]!

    t.test('accepts a valid package, and prints what it proves', async (t) => {
      const [output] = verify(t, [{ file }])
      t.match(output, `Events:     ${indexes.length}\n`)
      t.match(output, `Checkpoint: ${log.size} events, root `)
      t.match(output, 'Disclosed:  accountNumber, metadata, name, userId\nContinues:  a log of 9 events\n')
      t.match(output, /\nThe package is valid\.\n$/)
    })

    t.test('finds every changed byte, and names the file', async (t) => {
      const places = Array.from({ length: 300 }, (_, step) => Math.floor(((step + 0.5) * file.length) / 300))
      // The headers and the end are a small part of the bytes.
      for (let byte = 0; byte < 60; byte++) places.push(byte, file.length - 1 - byte)
      const outputs = verify(
        t,
        places.map((place) => ({ file: withFlippedBit(file, place) })),
      )
      const named = outputs.map((output) => /^The package is invalid: container: ([\w .]+): /.exec(output)?.[1])
      t.strictSame(
        named,
        places.map((place) => nameAt(file, place)),
      )
      t.match(first([{ file: Buffer.concat([file, Buffer.alloc(1)]) }]), /container: the end of the file: /)
      t.match(first([{ file: file.subarray(0, -1) }]), /container: the end of the file: /)
      t.match(first([{ file: Buffer.alloc(0) }]), /container: README.txt: it has a wrong header \(byte 0\)/)
    })

    t.test('names a file with different content than the manifest', async (t) => {
      for (const changed of files.keys()) {
        const manifest = manifestIn(file)
        const different = new Map(files).set(changed, Buffer.from(`${files.get(changed)} `))
        const output = first([{ file: packed(different, manifest) }])
        t.equal(output, `The package is invalid: ${changed}: its SHA-256 is not the one in manifest.txt\n`)
      }
    })

    t.test('rejects a package that another key has signed', async (t) => {
      const other = parseSigner(generateSigner('log.example/transferd'))
      t.match(first([{ file, key: formatVerifier(other) }]), /invalid: manifest.txt: it has no valid signature/)
      t.match(first([{ file, key: 'a+b' }]), /invalid: key: it is malformed/)
      const twice = manifestIn(file).replace(/(— .*\n)$/, '$1$1')
      t.match(first([{ file: packed(files, twice) }]), /manifest.txt: it has more than one signature/)
    })

    t.test('rejects other texts', async (t) => {
      const output = first([{ file: packed(new Map(files).set('texts.json', Buffer.from('{"a":1}\n'))) }])
      t.match(output, /invalid: texts.json: these are not the texts of this version/)
    })

    t.test('rejects signed packages with wrong content', async (t) => {
      const cases = refused.map(([, change]) => ({ file: packed(filesOf(change(structuredClone(evidence)))) }))
      const outputs = verify(t, cases)
      for (const [number, [title, , message]] of refused.entries())
        t.match(outputs[number]!.trimEnd(), message, `rejects ${title}`)
    })

    t.test('rejects events that do not belong in the package', async (t) => {
      const { log } = givenLog()
      const all = Array.from({ length: log.size }, (_, index) => index)
      t.match(first([{ file: packed(filesOf(await log.evidence(all))) }]), /does not belong in the package/)
      for (const stream of ['user-mallory', 'merchant-m-2', 'payouts-m-1', 'bankentries-2', `privacy-${keyId}x`]) {
        const { log, indexes } = givenLog()
        log.append({ stream, type: 'Other', data: { trackingId: 'other' } })
        const output = first([{ file: packed(filesOf(await log.evidence([...indexes, log.size - 1]))) }])
        t.match(output, new RegExp(`event ${log.size - 1}: .*${stream}.*(belong|instead of)`))
      }
      for (const stream of ['user-bob', 'merchant-m-1']) {
        const { log, indexes } = givenLog()
        log.append({ stream, type: 'Other' })
        const output = first([{ file: packed(filesOf(await log.evidence([...indexes, log.size - 1]))) }])
        t.match(output, `event ${log.size - 1}: ${stream} has two events after the transfer's last one`)
      }
    })

    t.test('checks that the log continues an earlier package or checkpoint', async (t) => {
      const wrong = structuredClone(evidence)
      wrong.older!.proof[0] = wrong.older!.proof[1]!
      t.match(first([{ file: packed(filesOf(wrong)) }]), /older: the log of the checkpoint does not continue it/)

      const { log, indexes } = givenLog()
      const size = log.size
      const earlier = packed(filesOf(await log.evidence(indexes)))
      log.append({ stream: 'transfer-other', type: 'Other' })
      const continuing = { file: packed(filesOf(await log.evidence(indexes, size))) }
      const valid = /is valid/
      t.match(first([{ ...continuing, earlier }]), valid)
      t.match(
        first([{ ...continuing, earlier: Buffer.from((await log.evidence(indexes, size)).older!.checkpoint) }]),
        valid,
      )
      t.match(first([{ ...continuing, earlier: continuing.file }]), valid)
      const unrelated = { file: packed(filesOf(await log.evidence(indexes))), earlier }
      t.match(
        first([unrelated]),
        `earlier: the package does not continue its log of ${size} events: make the package with --from`,
      )
      const changed = Buffer.from(earlier)
      changed[100]! ^= 1
      t.match(first([{ ...continuing, earlier: changed }]), /earlier: container: /)
      t.match(first([{ ...continuing, earlier: Buffer.from('text') }]), /earlier: it has no newline/)

      const rewritten = new TestLog()
      for (let index = 0; index < size; index++) rewritten.append({ stream: 'transfer-other', type: 'Rewritten' })
      const checkpoint = Buffer.from((await rewritten.evidence([])).checkpoint)
      t.match(
        first([{ ...continuing, earlier: checkpoint }]),
        `its log of ${size} events is different: the log was changed`,
      )
    })
  })
}

t.test('both programs reject every changed byte of signed evidence with the same message', { skip }, async (t) => {
  const { log, indexes } = givenLog()
  const text = Buffer.from(JSON.stringify(await log.evidence(indexes, 9)))
  const cases = Array.from({ length: 400 }, (_, step) => {
    const changed = withFlippedBit(text, Math.floor(((step + 0.5) * text.length) / 400))
    return { file: packed(filesOf(changed)) }
  })
  const outputs = python(t, cases)
  t.strictSame(
    outputs.filter((output) => !output.startsWith('The package is invalid: evidence.json: ')),
    [],
  )
  t.strictSame(go(t, cases), outputs)
})

function withFlippedBit(bytes: Buffer, place: number): Buffer {
  const changed = Buffer.from(bytes)
  changed[place]! ^= 1 << (place % 7)
  return changed
}

/** Returns the name of the file at this place of a package. */
function nameAt(file: Buffer, place: number): string {
  const isDirectory = place >= file.readUInt32LE(file.length - 6)
  let at = 0
  let entry = file.readUInt32LE(file.length - 6)
  while (file.readUInt32BE(at) === 0x504b0304) {
    const length = file.readUInt16LE(at + 26)
    const name = file.toString('latin1', at + 30, at + 30 + length)
    at += 30 + length + file.readUInt32LE(at + 18)
    entry += 46 + length
    if (place < (isDirectory ? entry : at)) return name
  }
  return 'the end of the file'
}

function manifestIn(file: Buffer): string {
  const text = file.toString('utf8')
  const start = text.indexOf('transferd-evidence/1\n')
  return text.slice(start, text.indexOf('PK\x03\x04', start))
}
