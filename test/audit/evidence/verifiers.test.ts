import { execFileSync, spawnSync } from 'node:child_process'
import { createHash, randomInt } from 'node:crypto'
import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { formatVerifier, generateSigner, parseSigner } from '@transferd/transparency-log'
import t, { type Test } from 'tap'
import { type Evidence, openEvidence } from '../../../src/audit/evidence/evidence.js'
import { type ReportTexts, reportOf } from '../../../src/audit/evidence/report.js'
import { fileIn } from '../../../src/audit/evidence/zip.js'
import { readTree } from '../../../src/audit/integrity/log-sealer.js'
import { proveEvents } from '../../../src/audit/proofs/transfer-proof.js'
import { long } from '../../support/long.js'
import { temporaryDirectory } from '../../support/processes.js'
import { signer } from '../proofs/test-sealed-log.js'
import {
  evidenceIn,
  filesIn,
  GivenLog,
  manifestOf,
  merchantId,
  packed,
  trackingId,
  users,
  walletAccount,
} from './given-evidence.js'

const key = formatVerifier(signer)

interface Case {
  readonly file: Buffer
  readonly earlier?: Buffer
  readonly key?: string
}
interface Saved {
  readonly path: string
  readonly key: string
  readonly earlier?: string
}

/** Checks all packages in one process, because the start of Python takes longer than a check. */
function python(cases: readonly Saved[]): string[] {
  const driver = `
import contextlib, io, json, sys
sys.path.insert(0, 'src/audit/evidence')
sys.dont_write_bytecode = True
import verify
from types import SimpleNamespace
def run(case):
    output = io.StringIO()
    try:
        with contextlib.redirect_stdout(output):
            verify.main(SimpleNamespace(package=case['path'], key=case['key'], earlier=case.get('earlier')))
    except verify.Wrong as wrong:
        return f'The package is invalid: {wrong}\\n'
    return output.getvalue()
print(json.dumps([run(case) for case in json.load(sys.stdin)]))`
  const output = execFileSync('python3', ['-c', driver], { input: JSON.stringify(cases), maxBuffer: 2 ** 28 })
  return JSON.parse(output.toString())
}

let built: string | undefined
/** Runs the program from a shell, because a process that starts from Node costs more than a check. */
function go(cases: readonly Saved[]): string[] {
  if (built === undefined) {
    built = join(temporaryDirectory(t), 'verify')
    execFileSync('go', ['build', '-o', built, 'src/audit/evidence/verify.go'])
  }
  const loop = `while read -r path && read -r key && read -r earlier; do
    "$0" "$path" --key "$key" \${earlier:+--earlier "$earlier"} 2>&1; printf '%s\\0' $?
  done`
  const input = cases.map(({ path, key, earlier = '' }) => `${path}\n${key}\n${earlier}\n`).join('')
  const outputs = execFileSync('sh', ['-c', loop, built], { input, encoding: 'utf8', maxBuffer: 2 ** 28 }).split('\0')
  return outputs.slice(0, -1).map((output) => {
    const isValid = output.endsWith('The package is valid.\n0')
    return isValid || output.endsWith('\n1') ? output.slice(0, -1) : `unexpected exit status: ${output}`
  })
}

const isInstalled = (program: string, argument: string) => spawnSync(program, [argument]).status === 0
const programs = [
  ...(isInstalled('python3', '--version') ? [python] : []),
  ...(isInstalled('go', 'version') ? [go] : []),
]
const skip = programs.length === 0 && 'neither python3 nor go is installed'

/** Returns what the programs print about each package. They must print the same. */
function verified(t: Test, cases: readonly Case[]): string[] {
  const directory = temporaryDirectory(t)
  const save = (name: string, content: Buffer) => {
    writeFileSync(join(directory, name), content)
    return join(directory, name)
  }
  const saved = cases.map((each, number) => ({
    key: each.key ?? key,
    path: save(`${number}.zip`, each.file),
    ...(each.earlier && { earlier: save(`${number}-earlier`, each.earlier) }),
  }))
  const [outputs = [], ...others] = programs.map((run) => run(saved))
  for (const other of others) t.strictSame(other, outputs, 'both programs print the same')
  return outputs
}

const verifiedOne = (t: Test, one: Case) => verified(t, [one])[0]!

/** Creates a package with every kind of event, which continues an earlier log. */
async function givenPackage(t: Test, creation: Parameters<GivenLog['appendTransfer']>[0] = 'WithdrawalCreated.v3') {
  const log = await GivenLog.open(t)
  await log.appendInstallation()
  const older = await log.sealed.seal()
  await log.appendTransfer(creation)
  await log.sealed.seal()
  return { log, older, file: await log.package({ older }) }
}

const { file } = await givenPackage(t)

t.test('the programs contain the SHA-256 of the texts', async (t) => {
  const sha256 = createHash('sha256').update(readFileSync('dist/data/evidence/texts.json')).digest('hex')
  const message = 'after a change of the texts, write their SHA-256 into both programs'
  for (const name of ['verify.py', 'verify.go']) {
    const program = readFileSync(`src/audit/evidence/${name}`, 'utf8')
    t.equal(/texts_?SHA256 += "(\w+)"/i.exec(program)?.[1], sha256, message)
  }
})

t.test('accept valid packages, and print what they prove', { skip }, async (t) => {
  const { log, file } = await givenPackage(t)
  const [disclosed, undisclosed] = verified(t, [{ file }, { file: await log.package({ disclose: [] }) }])
  const { events } = evidenceIn(file)
  t.match(disclosed, `Transfer:   ${trackingId}\nEvents:     ${events.length}\nCheckpoint: `)
  t.match(disclosed, /\nDisclosed: {2}accountNumber, .*, name, .*\nContinues: {2}a log of \d+ events\n/)
  t.match(disclosed, /\nThe package is valid\.\n$/)
  t.match(undisclosed, /\nDisclosed: {2}no personal data\nContinues: {2}no log that you know/)
  t.match(undisclosed, /\nThe package is valid\.\n$/)
})

t.test('prove a long event, of which the tree holds the SHA-256', { skip }, async (t) => {
  const log = await GivenLog.open(t)
  await log.appendInstallation()
  const paymentInstructions = [{ paymentMethod: 2, text: 'x'.repeat(70_000) }]
  await log.append(`merchant-${merchantId}`, 'MerchantSettingsChanged.v2', {
    data: { changes: { paymentInstructions } },
  })
  await log.appendTransfer('DepositCreated.v2')
  await log.sealed.seal()
  const long = await log.package()
  const files = filesIn(long)
  const changed = files.get('evidence.json')!.toString().replace('xxx', 'xyx')
  const [valid, invalid] = verified(t, [
    { file: long },
    { file: packed(new Map(files).set('evidence.json', Buffer.from(changed))) },
  ])
  t.match(valid, /\nThe package is valid\.\n$/)
  t.match(invalid, /evidence\.json: event \d+: it is not in the tree of the checkpoint\n$/)
})

t.test('build the reports of deposits, withdrawals and erased customers', { skip }, async (t) => {
  const deposit = await givenPackage(t, 'DepositCreated.v2')
  const withdrawal = await givenPackage(t)
  const { log } = withdrawal
  const [created] = await log.sealed.log.readStream(`transfer-${trackingId}`)
  const keyId = String(created!.data.sealed).split('.')[1]!
  for (const example of ['CustomerErased.v1', 'ErasureCompleted.v1'])
    await log.append(`privacy-${keyId}`, example, { data: { erasureId: keyId } })
  await log.sealed.seal()
  const erased = await log.package({ disclose: [] })
  for (const output of verified(t, [deposit, withdrawal, { file: erased }]))
    t.match(output, /\nThe package is valid\.\n$/)

  const files = filesIn(withdrawal.file)
  const lines = files.get('report.tr.html')!.toString().split('\n')
  for (const number of [1, 30, lines.length]) {
    const changed = Buffer.from(lines.with(number - 1, `${lines[number - 1]} `).join('\n'))
    const output = verifiedOne(t, { file: packed(new Map(files).set('report.tr.html', changed)) })
    t.match(output, `invalid: report.tr.html: line ${number} is not what the events say\n`)
  }
})

t.test('find every changed byte, and name the file', { skip }, async (t) => {
  const places = Array.from({ length: long ? 1_000 : 200 }, () => randomInt(file.length))
  // The headers and the end are a small part of the bytes.
  for (let byte = 0; byte < 60; byte++) places.push(byte, file.length - 1 - byte)
  const outputs = verified(
    t,
    places.map((place) => ({ file: withFlippedBit(file, place) })),
  )
  const name = /^The package is invalid: container: ([\w .]+): /
  const named = outputs.map((output, each) => `${places[each]}: ${name.exec(output)?.[1]}`)
  const expected = places.map((place) => `${place}: ${nameAt(file, place)}`)
  t.strictSame(named, expected)
  t.match(verifiedOne(t, { file: Buffer.concat([file, Buffer.alloc(1)]) }), /container: the end of the file: /)
  t.match(verifiedOne(t, { file: file.subarray(0, -1) }), /container: the end of the file: /)
  t.match(verifiedOne(t, { file: Buffer.alloc(0) }), /container: README.txt: it has a wrong header \(byte 0\)/)
})

t.test('find every changed byte of evidence that is signed again', { skip }, async (t) => {
  const files = filesIn(file)
  const text = files.get('evidence.json')!
  const cases = Array.from({ length: 100 }, (_, step) => {
    const changed = withFlippedBit(text, Math.floor(((step + 0.5) * text.length) / 100))
    return { file: packed(new Map(files).set('evidence.json', changed)) }
  })
  const accepted = verified(t, cases).filter((output) => !output.startsWith('The package is invalid: evidence.json: '))
  t.strictSame(accepted, [])
})

t.test('name a file with different content than the manifest', { skip }, async (t) => {
  const files = filesIn(file)
  const manifest = fileIn(file, 'manifest.txt').toString()
  const cases = [...files].map(([name, content]) => {
    return { file: packed(new Map(files).set(name, Buffer.from(`${content} `)), manifest) }
  })
  t.strictSame(
    verified(t, cases),
    [...files.keys()].map((name) => `The package is invalid: ${name}: its SHA-256 is not the one in manifest.txt\n`),
  )
  t.match(
    verifiedOne(t, { file: packed(new Map(files).set('texts.json', Buffer.from('{}\n'))) }),
    'invalid: texts.json: these are not the texts of this version\n',
  )
  const twice = manifest.replace(/(— .*\n)$/, '$1$1')
  t.match(verifiedOne(t, { file: packed(files, twice) }), 'manifest.txt: it has more than one signature\n')
})

t.test('reject a package that another key has signed', { skip }, async (t) => {
  const other = formatVerifier(parseSigner(generateSigner(signer.name)))
  t.match(verifiedOne(t, { file, key: other }), 'invalid: manifest.txt: it has no valid signature of the key\n')
  t.match(verifiedOne(t, { file, key: 'a+b' }), 'invalid: key: it is malformed\n')
})

type Draft<Value> = Value extends object ? { -readonly [Name in keyof Value]: Draft<Value[Name]> } : Value
/** Returns different evidence, or its text. */
type Change = (evidence: Draft<Evidence>) => unknown

const changed =
  (change: (evidence: Draft<Evidence>) => unknown): Change =>
  (evidence) => {
    change(evidence)
    return evidence
  }
const without = (isRemoved: (stream: string, revision: number) => boolean) =>
  changed((evidence) => {
    evidence.events = evidence.events.filter(({ leaf }) => {
      const [, stream, revision] = JSON.parse(leaf)
      return !isRemoved(stream, revision)
    })
  })
const withoutStream = (name: string) => without((stream) => stream === name)
const withProof = (change: (proof: string[]) => unknown) => changed(({ events }) => change(events.at(-1)!.proof))
const withField = (change: (field: Draft<Evidence>['disclosed'][number]['fields'][number]) => unknown) =>
  changed(({ disclosed }) => change(disclosed[0]!.fields[0]!))
const withText = (text: string, replacement: string): Change => {
  return (evidence) => JSON.stringify(evidence).replace(text, replacement)
}

/** Wrong contents of signed evidence, and the end of the message about each. */
const refused: readonly [title: string, change: Change, message: RegExp][] = [
  ['a gap', without((stream, revision) => stream === `transfer-${trackingId}` && revision === 1), /instead of 1$/],
  ['a gap of a user', without((stream, revision) => stream === `user-${users[0]}` && revision === 2), /instead of 2$/],
  ['a missing user', withoutStream(`user-${users[2]}`), new RegExp(`user-${users[2]}: its events are missing$`)],
  ['a missing merchant', withoutStream(`merchant-${merchantId}`), /merchant-\S+: its events are missing$/],
  ['a missing currency', withoutStream('installation-currency'), /installation-currency: its events are missing$/],
  ['no events', without(() => true), /transfer-\S+: it has no events$/],
  [
    'swapped leaves',
    changed(({ events: [first, second] }) => {
      ;[first!.leaf, second!.leaf] = [second!.leaf, first!.leaf]
    }),
    /event \d+: it is not in the tree of the checkpoint$/,
  ],
  ['the wrong order of events', changed(({ events }) => events.reverse()), /event \d+: it follows event \d+$/],
  ['an event twice', changed(({ events }) => events.splice(1, 0, events[0]!)), /event \d+: it follows event \d+$/],
  ['a proof that is too long', withProof((proof) => proof.push(proof[0]!)), /event \d+: its proof is too long$/],
  ['a proof that is too short', withProof((proof) => proof.pop()), /event \d+: its proof is too short$/],
  ['a short hash', withProof((proof) => proof.splice(0, 1, 'AAAA')), /event \d+: a hash does not have 32 bytes$/],
  ['a different Base64', withProof((proof) => proof.splice(0, 1, `${proof[0]}\n`)), /Base64 in its canonical form$/],
  ['a fraction as an index', withText('"index":0', '"index":0.0'), /not an integer from 0 to 2\^53 - 1$/],
  ['a boolean as an index', withText('"index":0', '"index":false'), /not an integer from 0 to 2\^53 - 1$/],
  ['a large index', withText('"index":0', '"index":9007199254740992'), /not an integer from 0 to 2\^53 - 1$/],
  [
    'a wrong value',
    withField((field) => Object.assign(field, { value: '"c-2"' })),
    /: it has a different hash in the event$/,
  ],
  [
    'a wrong field',
    withField((field) => Object.assign(field, { field: 'b' })),
    /: b: it has a different hash in the event$/,
  ],
  [
    'a field of the event',
    withField((field) => Object.assign(field, { field: 'kind' })),
    /kind: the event already has this field$/,
  ],
  ['a wrong salt', withField((field) => Object.assign(field, { salt: 'AAAA' })), /: its salt does not have 16 bytes$/],
  ['a hidden field', changed(({ disclosed }) => disclosed[0]!.hashes.pop()), /its hashes do not match the event$/],
  [
    'a wallet account that is not disclosed',
    changed((evidence) => {
      evidence.disclosed = evidence.disclosed.filter(({ fields }) => fields[0]!.value !== String(walletAccount))
    }),
    /event \d+: wallet-\d+ names an account that is not disclosed$/,
  ],
  [
    'a wrong consistency proof',
    changed(({ older }) => older!.proof.reverse()),
    /: older: the log of the checkpoint does not continue it$/,
  ],
  ['an unknown field', (evidence) => ({ ...evidence, more: 1 }), /an object does not have exactly these fields: .*$/],
  ['null in place of an object', (evidence) => ({ ...evidence, older: null }), /older: an object does not have .*$/],
  ['a text in place of a list', (evidence) => ({ ...evidence, events: 'ab' }), /a value is not an array$/],
  ['a repeated name', withText('{', '{"older":1,"older":2,'), /an object repeats a name$/],
  ['half of a surrogate pair', withText('"format":"', '"format":"\\ud800'), /its format is not transferd-evidence\/1$/],
  ['a different transfer', (evidence) => ({ ...evidence, trackingId: 'other' }), /transfer-other: it has no events$/],
  ['deep nesting', () => '['.repeat(200_000), /evidence.json: it is malformed$/],
]

t.test('reject wrong evidence that is signed', { skip }, async (t) => {
  const files = filesIn(file)
  const outputs = verified(
    t,
    refused.map(([, change]) => {
      const evidence = change(evidenceIn(file) as Draft<Evidence>)
      const text = typeof evidence === 'string' ? evidence : JSON.stringify(evidence)
      return { file: packed(new Map(files).set('evidence.json', Buffer.from(text))) }
    }),
  )
  for (const [number, [title, , message]] of refused.entries()) {
    const output = outputs[number]!.trimEnd()
    t.match(output, /^The package is invalid: evidence\.json: /, title)
    t.match(output, message, title)
  }
})

t.test('reject events that do not belong in the package', { skip }, async (t) => {
  const { log } = await givenPackage(t)
  const others: [stream: string, example: string, message: RegExp][] = [
    ['user-mallory', 'UserCreated.v1', /it is an event of user-mallory that does not belong/],
    ['merchant-other', 'MerchantRegistered.v2', /it is an event of merchant-other that does not belong/],
    ['transfer-other', 'AttentionResolved.v1', /it is an event of transfer-other that does not belong/],
    [`payouts-${merchantId}`, 'PayoutUncounted.v1', /it is an event of payouts-\S+ that does not belong/],
    ['wallet-1', 'WalletAccountDebited.v1', /wallet-1 names an account that is not disclosed/],
    ['bankentries-other', 'BankPaymentRecorded.v1', /it is an event of bankentries-other that does not belong/],
    [`user-${users[0]}`, 'UserDisabled.v1', /user-\S+ has two events after the transfer's last one/],
  ]
  await log.append(`user-${users[0]}`, 'UserDisabled.v1')
  for (const [stream, example] of others) {
    const of = stream === 'wallet-1' ? trackingId : 'other'
    await log.append(stream, example, { data: { trackingId: of } })
  }
  await log.sealed.seal()
  const file = await log.package()
  const files = filesIn(file)
  const evidence = evidenceIn(file)
  const tree = readTree(log.sealed.tiles, Number(evidence.checkpoint.split('\n')[1]))
  for (const [stream, , message] of others) {
    const more = (await log.sealed.log.readStream(stream)).slice(-1)
    const [proven] = await proveEvents(more, tree, log.sealed.log)
    const events = [...evidence.events, proven!].sort((a, b) => a.index - b.index)
    const changed = Buffer.from(JSON.stringify({ ...evidence, events }))
    t.match(verifiedOne(t, { file: packed(new Map(files).set('evidence.json', changed)) }), message)
  }
})

t.test('check that the log continues an earlier package or checkpoint', { skip }, async (t) => {
  const { log, file: earlier } = await givenPackage(t)
  const { checkpoint } = evidenceIn(earlier)
  await log.sealed.append('other', 'Other')
  await log.sealed.seal()
  const file = await log.package({ older: checkpoint })
  const kept = Buffer.from(checkpoint)
  for (const each of [earlier, kept, file])
    t.match(verifiedOne(t, { file, earlier: each }), /The package is valid\.\n$/)

  const unrelated = verifiedOne(t, { file: await log.package(), earlier })
  t.match(unrelated, /: earlier: the package does not continue its log of \d+ events: make the package with --from/)
  t.match(verifiedOne(t, { file, earlier: withFlippedBit(earlier, 100) }), 'invalid: earlier: container: README.txt: ')
  t.match(verifiedOne(t, { file, earlier: Buffer.from('text') }), 'invalid: earlier: it has no newline at its end')

  const rewritten = await GivenLog.open(t)
  const size = Number(checkpoint.split('\n')[1])
  for (let index = 0; index < size; index++) await rewritten.sealed.append('rewritten', 'Other')
  const different = Buffer.from(await rewritten.sealed.seal())
  t.match(verifiedOne(t, { file, earlier: different }), `its log of ${size} events is different: the log was changed\n`)
})

t.test('print the reason on stderr, and exit with status 1', { skip }, async (t) => {
  const directory = temporaryDirectory(t)
  writeFileSync(join(directory, 'package.zip'), file)
  const run = (path: string) => {
    const words = [join(directory, path), '--key', key]
    const script = ['-I', 'src/audit/evidence/verify.py', ...words]
    const source = ['run', 'src/audit/evidence/verify.go', ...words]
    return programs.map((program) => {
      const [name, list] = program === python ? (['python3', script] as const) : (['go', source] as const)
      return spawnSync(name, list, { encoding: 'utf8' })
    })
  }
  for (const { status, stdout, stderr } of run('package.zip')) {
    t.strictSame([status, stderr], [0, ''])
    t.match(stdout, /\nThe package is valid\.\n$/)
  }
  for (const { status, stdout, stderr } of run('missing.zip')) {
    t.strictSame([status, stdout], [1, ''])
    t.match(stderr, /^The package is invalid: .*missing\.zip: it cannot be read\n/)
  }
})

function withFlippedBit(bytes: Buffer, place: number): Buffer {
  const changed = Buffer.from(bytes)
  changed[place]! ^= 1 << (place % 7)
  return changed
}

/** Returns the name of the file at this place of a package. */
function nameAt(file: Buffer, place: number): string {
  const directory = file.readUInt32LE(file.length - 6)
  let [at, entry] = [0, directory]
  while (at < directory) {
    const length = file.readUInt16LE(at + 26)
    const name = file.toString('latin1', at + 30, at + 30 + length)
    at += 30 + length + file.readUInt32LE(at + 18)
    entry += 46 + length
    if (place < (place >= directory ? entry : at)) return name
  }
  return 'the end of the file'
}

interface Vectors {
  readonly signer: string
  readonly key: string
  readonly evidence: string
  /** Texts in the evidence that are replaced, and what the programs print. */
  readonly wrong: readonly {
    readonly title: string
    readonly replaced: string
    readonly by: string
    readonly message: string
  }[]
}

t.test('the vectors for other programs', { skip }, async (t) => {
  const vectors: Vectors = JSON.parse(readFileSync('test/fixtures/evidence/vectors.json', 'utf8'))
  const { signer, key, evidence, wrong } = vectors
  const texts: ReportTexts = JSON.parse(readFileSync('dist/data/evidence/texts.json', 'utf8'))
  const report = (language: 'en' | 'tr') => Buffer.from(reportOf(openEvidence(JSON.parse(evidence)), texts, language))
  const packageOf = (text: string) => {
    const reports = { 'report.html': report('en'), 'report.tr.html': report('tr') }
    const files = new Map(Object.entries({ 'evidence.json': Buffer.from(text), ...reports }))
    const all = new Map([...filesIn(file)].map(([name, content]) => [name, files.get(name) ?? content]))
    return { file: packed(all, manifestOf(all, parseSigner(signer))), key }
  }
  const [valid, ...outputs] = verified(t, [
    packageOf(evidence),
    ...wrong.map(({ replaced, by }) => packageOf(evidence.replace(replaced, () => by))),
  ])
  t.match(valid, /\nThe package is valid\.\n$/)
  for (const [number, { title, message }] of wrong.entries()) t.equal(outputs[number], `${message}\n`, title)
})
