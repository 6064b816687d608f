import { execFile, execFileSync } from 'node:child_process'
import { createHash, randomBytes, randomUUID } from 'node:crypto'
import fs, {
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  symlinkSync,
  truncateSync,
  writeFileSync,
} from 'node:fs'
import { syncBuiltinESMExports } from 'node:module'
import { dirname, join } from 'node:path'
import { gunzipSync, gzipSync } from 'node:zlib'
import { formatVerifier } from '@transferd/transparency-log'
import t, { type Test } from 'tap'
import { AuditTreeCommands } from '../../src/commands/integrity/audit-tree-commands.js'
import { MerchantCommands } from '../../src/commands/merchant/merchant-commands.js'
import { isVisible } from '../../src/kernel/text.js'
import { auditKeyOf, keepAuditKey } from '../../src/operations/audit/audit-files.js'
import type { RestoreReport } from '../../src/operations/backup/backup-commands.js'
import type { Manifest, PartName } from '../../src/operations/backup/backup-manifest.js'
import { readConfiguration } from '../../src/operations/configuration/configuration.js'
import { writeFileDurably } from '../../src/operations/files/durable-file.js'
import { createSecretBox } from '../../src/security/secret-box.js'
import { seal } from '../audit/integrity/sealed-log.js'
import { runCli } from '../cli/in-process.js'
import { depositRequest } from '../domain/transfer-samples.js'
import { merchantSettings } from '../support/merchant-requests.js'
import { cleanEnvironment, type Finished, temporaryDirectory } from '../support/processes.js'
import { program } from '../support/program.js'
import { openTestLog } from '../support/service-log.js'
import { transferCommands } from '../support/transfer-commands.js'

const context = { actor: 'cli:grace', $correlationId: 'job-1', $causationId: 'job-1' }
const clock = () => new Date().toISOString()
const sha256 = (bytes: Uint8Array) => createHash('sha256').update(bytes).digest('hex')

/** A log with personal data of one customer, whose tree is sealed and recorded. */
async function world(t: Test) {
  const root = temporaryDirectory(t)
  const data = join(root, 'data')
  const stores = { EVENT_STORE_URL: `embedded:${data}`, READ_MODEL_URL: `embedded:${data}` }
  const environment = { ...stores, TRANSFERD_MASTER_KEY: randomBytes(32).toString('hex') }
  const { eventStore, rawEventStore, box, close } = await openTestLog(readConfiguration(environment))
  const { id: merchantId } = await new MerchantCommands(eventStore, clock, box).register(merchantSettings, context)
  const transfers = transferCommands(eventStore, clock, async () => merchantSettings)
  const request = { ...depositRequest, merchantId, userId: 'ada', amountMinor: 100_50n }
  const created = await transfers.create(request, { ...context, actor: `merchant:${merchantId}` })
  if (!created.accepted) throw new Error(created.refusal.rule)
  const signer = (await auditKeyOf(data, rawEventStore, box))!
  keepAuditKey(data, box, signer)
  await seal(rawEventStore, data, signer)
  const [, size, root64] = readFileSync(join(data, 'audit', 'checkpoint'), 'utf8').split('\n')
  const tree = new AuditTreeCommands(eventStore, clock)
  const { treeId } = (await tree.state())!
  await tree.execute({ type: 'RecordSeal', treeId, size: Number(size), root: root64! }, context)
  await close()
  const run = (args: readonly string[], changed: { readonly [name: string]: string } = {}) =>
    runCli(root, args, { ...environment, ...changed })
  return { root, data, environment, merchantId, run, verifierKey: formatVerifier(signer) }
}

/** Runs a command as its own process, and kills it if it hangs. */
function runKilled(directory: string, args: readonly string[], environment: NodeJS.ProcessEnv): Promise<Finished> {
  const options = { cwd: directory, env: { ...cleanEnvironment(), ...environment }, timeout: 60_000 }
  return new Promise((resolve) => {
    execFile(process.execPath, [program, ...args], { ...options, killSignal: 'SIGKILL' }, (error, stdout, stderr) => {
      resolve({ status: error ? Number(error.code ?? -1) : 0, stdout, stderr: error?.killed ? 'was killed' : stderr })
    })
  })
}

const newestSet = (target: string) => join(target, 'sets', readdirSync(join(target, 'sets')).sort().at(-1)!)
const manifestOf = (target: string): Manifest => JSON.parse(readFileSync(newestSet(target), 'utf8'))

function chunkPath(target: string, { id, key }: Manifest['parts'][number]['chunks'][number]): string {
  return join(target, 'chunks', id.slice(0, 2), key === null ? id : `${id}.${key}`)
}

/** Replaces a part of an unencrypted backup as an attacker with access to the target can. */
function forge(target: string, name: PartName, change: (content: string) => string, more: Partial<Manifest> = {}) {
  const manifest = manifestOf(target)
  const part = manifest.parts.find((each) => each.name === name)!
  const before = part.chunks.map((chunk) => gunzipSync(readFileSync(chunkPath(target, chunk))))
  const content = Buffer.from(change(Buffer.concat(before).toString('latin1')), 'latin1')
  const stored = gzipSync(content)
  const sizes = { bytes: content.length, storedBytes: stored.length }
  const chunk = { id: sha256(content), ...sizes, storedSha256: sha256(stored), key: null }
  mkdirSync(dirname(chunkPath(target, chunk)), { recursive: true })
  writeFileSync(chunkPath(target, chunk), stored)
  const parts = manifest.parts.map((each) =>
    each === part ? { name, chunks: content.length > 0 ? [chunk] : [] } : each,
  )
  writeFileSync(newestSet(target), JSON.stringify({ ...manifest, ...more, parts }))
}

t.test('only regular files of the stated size are read from a target', async (t) => {
  const { root, environment, run } = await world(t)
  const { generateIdentity, identityToRecipient } = await import('age-encryption')
  const identity = await generateIdentity()
  writeFileSync(join(root, 'identity'), identity)
  const target = join(root, 'target')
  const backUp = ['backup', 'target', '--recipient', await identityToRecipient(identity)]
  t.match(await run(backUp), { status: 0 })
  const restoring = ['--to', 'restored', '--identity-file', 'identity']
  const manifest = manifestOf(target)
  const [set, chunk] = [newestSet(target), chunkPath(target, manifest.parts[0]!.chunks[0]!)]
  const key = join(target, 'keys', readdirSync(join(target, 'keys'))[0]!)
  const kinds: [string, (path: string, kept: string) => void, RegExp][] = [
    ['an endless device', (path) => symlinkSync('/dev/zero', path), /is not a regular file/],
    ['a link to the file', (path, kept) => symlinkSync(kept, path), /is not a regular file/],
    ['a FIFO', (path) => execFileSync('mkfifo', [path]), /is not a regular file/],
    ['a directory', (path) => mkdirSync(path), /is not a regular file|contains no complete backup/],
    [
      'a huge file',
      (path) => {
        writeFileSync(path, '')
        truncateSync(path, 2 ** 38)
      },
      /has 274877906944 bytes, and (at most \d+ are allowed|the manifest states \d+)/,
    ],
  ]
  const kept = join(root, 'kept')
  for (const path of [set, chunk, key]) {
    renameSync(path, kept)
    for (const [what, replace, reason] of kinds) {
      replace(path, kept)
      for (const backup of ['target', ...(path === set ? [set] : [])]) {
        const { status, stderr } = await runKilled(root, ['restore', backup, ...restoring], environment)
        t.equal(status, 1, `${what}: ${stderr}`)
        t.match(stderr, reason, what)
        t.ok(stderr.includes(path), what)
        t.same(readdirSync(root).sort(), ['data', 'identity', 'kept', 'target'], 'nothing is left behind')
      }
      if (path === set)
        t.match(await runKilled(root, backUp, environment), { status: 1, stderr: reason }, `backup next to ${what}`)
      rmSync(path, { recursive: true })
    }
    renameSync(kept, path)
  }
  for (const directory of ['sets', 'chunks', 'keys']) {
    renameSync(join(target, directory), join(root, directory))
    symlinkSync(join(root, directory), join(target, directory))
  }
  t.match(await run(['restore', 'target', ...restoring]), { status: 0 }, 'a directory can be a link')
})

t.test('a backup replaces a chunk or a draft that is not a regular file', async (t) => {
  const { root, environment, run } = await world(t)
  const target = join(root, 'target')
  t.match(await run(['backup', 'target']), { status: 0 })
  const chunks = manifestOf(target).parts.flatMap((part) => part.chunks.map((chunk) => chunkPath(target, chunk)))
  const foreign = join(root, 'foreign')
  writeFileSync(foreign, 'of another program')
  for (const [n, path] of chunks.entries()) {
    rmSync(path)
    if (n % 2 === 0) symlinkSync('/dev/zero', path)
    else execFileSync('mkfifo', [path])
    if (n % 2 === 0) execFileSync('mkfifo', [`${path}.draft`])
    else symlinkSync(foreign, `${path}.draft`)
  }
  t.ok(chunks.length > 2)
  t.match(await runKilled(root, ['backup', 'target'], environment), { status: 0 })
  t.equal(readFileSync(foreign, 'utf8'), 'of another program')
  t.match(await run(['restore', 'target', '--to', 'restored']), { status: 0 })
})

t.test('a draft is not written through a link that appears after the removal of an earlier draft', async (t) => {
  const root = temporaryDirectory(t)
  const foreign = join(root, 'foreign')
  writeFileSync(foreign, 'of another program')
  const { rmSync: remove } = fs
  t.teardown(() => {
    fs.rmSync = remove
    syncBuiltinESMExports()
  })
  fs.rmSync = (path, options) => {
    remove(path, options)
    symlinkSync(foreign, path)
  }
  syncBuiltinESMExports()
  t.throws(() => writeFileDurably(join(root, 'chunk'), 'content', join(root, 'draft')), { code: 'EEXIST' })
  t.equal(readFileSync(foreign, 'utf8'), 'of another program')
})

t.test('texts of a backup send no control characters to the terminal', async (t) => {
  const { root, run } = await world(t)
  const target = join(root, 'target')
  const isDisplayed = (text: string) => isVisible(text.replaceAll('\n', ''))
  const hidden = '\x1b]0;title\x07\r\u202e'
  t.match(await run(['backup', 'target']), { status: 0 })
  forge(target, 'customer-keys', (content) => content.replace(/^\["/, '["\\u001b]0;\\r'), { problems: [hidden] })
  const refused = await run(['restore', 'target', '--to', 'restored'])
  t.match(refused, { status: 1, stderr: '\\u001b]0;' })
  t.ok(isDisplayed(refused.stderr), refused.stderr)
  const restored = await run(['restore', 'target', '--to', 'restored', '--unverified'])
  t.match(restored, { status: 0, stdout: '\\u001b]0;title' })
  t.ok(isDisplayed(restored.stdout + restored.stderr), restored.stdout)
})

t.test('a record of a wrong type is damage, whatever it is', async (t) => {
  const { root, run } = await world(t)
  const target = join(root, 'target')
  const file = (path: string) => `${JSON.stringify({ path, bytes: 1 })}\nx`
  const cases: [PartName, string][] = [
    ...['null', '{}', '[]', '[1]', '[{},1,0,1,"A","{}"]', '[1,1,0,1,"A",null]', '[1,1,0,1,"A",{}]'].map(
      (line): [PartName, string] => ['events', `${line}\n`],
    ),
    ['files', `${file('audit.key')}${file('audit.key')}`],
    ['files', `${file('audit/a')}${file('audit/a/b')}`],
    ['customer-keys', 'null\n'],
    ['customer-keys', '["a"]\n'],
  ]
  for (const [part, content] of cases) {
    rmSync(target, { recursive: true, force: true })
    t.match(await run(['backup', 'target']), { status: 0 })
    forge(target, part, () => content)
    const { status, stderr } = await run(['restore', 'target', '--to', 'restored', '--unverified'])
    t.match({ status, stderr }, { status: 1, stderr: /^transferd: the backup is damaged: [^\n]+\n$/ }, content)
    t.same(readdirSync(root).sort(), ['data', 'target'], content)
  }
})

t.test('a restore requires the tree that the log records', async (t) => {
  const { root, run, verifierKey } = await world(t)
  const target = join(root, 'target')
  const withoutTree = () => ''
  const withoutKey = (files: string) => files.slice(0, files.indexOf('{"path":"audit.key"'))
  const onlyKey = (files: string) => files.slice(files.indexOf('{"path":"audit.key"'))
  const sealed = createSecretBox(randomBytes(32)).seal('a foreign key', 'audit key')
  const foreignKey = (files: string) =>
    `${withoutKey(files)}${JSON.stringify({ path: 'audit.key', bytes: sealed.length })}\n${sealed}`
  const missing = /audit\/checkpoint is missing, or it is not the checkpoint that the manifest states/
  const cases: [string, (files: string) => string, Partial<Manifest>, RegExp][] = [
    ['the files, but not the statement', withoutTree, {}, missing],
    ['the files and the statement', withoutTree, { checkpoint: null }, /checkpoint: There is no checkpoint/],
    ['all but the key', onlyKey, { checkpoint: null }, /checkpoint: There is no checkpoint/],
    ['the statement', (files) => files, { checkpoint: null }, missing],
    ['a foreign key', foreignKey, {}, /sealed with master key [0-9a-f]{8}, but only/],
    ['the key', withoutKey, {}, /audit\.key is missing, or it is not the key of the tree/],
    ['the tile', (files) => files.replace('audit/tile/0', 'audit/tile/1'), {}, /The file is missing/],
  ]
  for (const [what, change, more, reason] of cases) {
    rmSync(target, { recursive: true, force: true })
    t.match(await run(['backup', 'target']), { status: 0 })
    forge(target, 'files', change, more)
    t.match(await run(['restore', 'target', '--to', 'restored']), { status: 1, stderr: reason }, what)
    t.same(readdirSync(root).sort(), ['data', 'target'], what)
  }
  const { status, stdout } = await run(['restore', 'target', '--to', 'restored', '--unverified', '--json'])
  t.equal(status, 0, 'a lost tree does not make a restore impossible')
  t.match((JSON.parse(stdout) as RestoreReport).notes.join(' '), /Not verified: .*The file is missing/)
  rmSync(join(root, 'restored'), { recursive: true })
  t.match(
    await run(['restore', 'target', '--to', 'restored', '--unverified', '--key', verifierKey]),
    { status: 1, stderr: /not what --key has signed/ },
    '--key is strict',
  )
})

t.test('a restore of a log without its seal accepts no forged event', async (t) => {
  const { root, run } = await world(t)
  const target = join(root, 'target')
  t.match(await run(['backup', 'target']), { status: 0 })
  const { log } = manifestOf(target)
  const events = log!.events - 1
  const stated = { checkpoint: null, log: { ...log!, events, position: String(events) } }
  forge(target, 'files', () => '', stated)
  const withoutSeal = (text: string) => text.trimEnd().split('\n').slice(0, -1)
  // The manifest of the attacker states the time of the event that is the last one now.
  const endOf = (lines: readonly string[]) => new Date(JSON.parse(lines.at(-1)!)[3]).toISOString()
  let lastEventAt = ''
  forge(target, 'events', (text) => {
    lastEventAt = endOf(withoutSeal(text))
    return `${withoutSeal(text).join('\n')}\n`
  })
  forge(target, 'events', (text) => text, { log: { ...stated.log, lastEventAt } })
  const unchanged = await run(['restore', 'target', '--to', 'shorter'])
  t.match(unchanged, { status: 0, stdout: /nothing shows whether events are missing at its end/ })
  forge(target, 'events', (text) => text.replaceAll('10050', '99950'))
  t.match(await run(['restore', 'target', '--to', 'restored']), {
    status: 1,
    stderr: /events have no valid authentication code: 1 \(transfer-.+@0\)/,
  })
})

t.test("a restore requires the customers' keys that the log names, and accepts no forged ones", async (t) => {
  const { root, run, merchantId, environment } = await world(t)
  const target = join(root, 'target')
  type Row = [id: string, merchantId: string, owner: string, sealed: string]
  const rows = (change: (row: Row) => Row) => (content: string) =>
    content.replace(/.+/g, (line) => JSON.stringify(change(JSON.parse(line))))
  const [own, foreign] = [Buffer.from(environment.TRANSFERD_MASTER_KEY, 'hex'), randomBytes(32)].map(createSecretBox)
  const secret = JSON.stringify([randomBytes(32).toString('base64url'), merchantId, 'ada'])
  const forged = /customers' keys are forged or damaged, or need a different master key: 1 \(/
  const cases: [string, (content: string) => string, RegExp][] = [
    ['a foreign key', rows(([id, m, owner]) => [id, m, owner, foreign!.seal(secret, `customer-key ${id}`)]), forged],
    ['the key of another id', rows(([id, m, owner]) => [id, m, owner, own!.seal(secret, 'customer-key x')]), forged],
    ['a different merchant', rows(([id, , owner, sealed]) => [id, randomUUID(), owner, sealed]), forged],
    ['a different owner', rows(([id, m, , sealed]) => [id, m, 'other', sealed]), forged],
    ['a different id', rows(([, ...rest]) => ['00000000AAAAAAAAAAAAAA', ...rest]), forged],
    ['no key', () => '', /the log names customers' keys that are missing: 1 \(/],
  ]
  for (const [what, change, reason] of cases) {
    rmSync(target, { recursive: true, force: true })
    t.match(await run(['backup', 'target']), { status: 0 })
    forge(target, 'customer-keys', change)
    t.match(await run(['restore', 'target', '--to', 'restored']), { status: 1, stderr: reason }, what)
    t.same(readdirSync(root).sort(), ['data', 'target'], what)
  }
})

t.test('a manifest cannot hide that the backup has a log', async (t) => {
  const { root, run } = await world(t)
  t.match(await run(['backup', 'target']), { status: 0 })
  forge(join(root, 'target'), 'files', () => '', { log: null, checkpoint: null })
  t.match(await run(['restore', 'target', '--to', 'restored']), { status: 1, stderr: /must name the part events/ })
  t.notOk(existsSync(join(root, 'restored')))
})

t.test('a manifest states the times of the backup and of its last event as they are', async (t) => {
  const { root, run } = await world(t)
  const target = join(root, 'target')
  t.match(await run(['backup', 'target']), { status: 0 })
  const { log } = manifestOf(target)
  const end = /the restored log ends at position \d+ \(2.+Z\), and the manifest states/
  const cases: [Partial<Manifest>, RegExp][] = [
    [{ log: { ...log!, lastEventAt: '2099-01-01T00:00:00.000Z' } }, end],
    [{ log: { ...log!, lastEventAt: 'just now' } }, end],
    [{ log: { ...log!, lastEventAt: null } }, end],
    [{ log: { ...log!, position: '1' } }, end],
    [{ createdAt: '2026-02-30T00:00:00.000Z' }, /states a time of the backup that does not exist/],
    [{ createdAt: '2026-99-01T99:00:00.000Z' }, /states a time of the backup that does not exist/],
  ]
  for (const [change, reason] of cases) {
    rmSync(target, { recursive: true })
    t.match(await run(['backup', 'target']), { status: 0 })
    forge(target, 'files', (files) => files, change)
    const restored = await run(['restore', 'target', '--to', 'restored', '--unverified'])
    t.match(restored, { status: 1, stderr: reason }, JSON.stringify(change))
  }
})

t.test('a restore without the master key is a decision, and generates no key', async (t) => {
  const { root, data, run } = await world(t)
  t.match(await run(['backup', 'target']), { status: 0 })
  renameSync(data, join(root, 'old'))
  const withoutKey = { TRANSFERD_MASTER_KEY: '' }
  t.match(await run(['restore', 'target', '--to', 'data'], withoutKey), {
    status: 1,
    stderr: /the master key is not configured, so the log, its tree and the customers' keys cannot be verified/,
  })
  t.notOk(existsSync(data))
  const wrongKey = { TRANSFERD_MASTER_KEY: randomBytes(32).toString('hex') }
  t.match(await run(['restore', 'target', '--to', 'data'], wrongKey), {
    status: 1,
    stderr: /none of the given master keys opens this log/,
  })
  t.match(await run(['restore', 'target', '--to', 'data', '--unverified'], withoutKey), {
    status: 0,
    stdout: /Not verified: the master key is not configured/,
  })
  t.notOk(existsSync(join(data, 'master.key')))
  t.match(await run(['restore', 'target', '--to', 'verified']), {
    status: 0,
    stdout: /The log is what the master key has signed/,
  })
  t.same(readdirSync(join(root, 'verified')).sort(), [
    'audit',
    'audit.key',
    'customer-keys.db',
    'events.db',
    'restored',
  ])
})
