import { spawnSync } from 'node:child_process'
import { randomBytes } from 'node:crypto'
import { cpSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { DirectoryTiles, formatVerifier, generateSigner, parseSigner } from '@transferd/transparency-log'
import t from 'tap'
import { LogSealer } from '../../src/audit/integrity/log-sealer.js'
import { openManifest, type SignedManifest } from '../../src/audit/proofs/export-signature.js'
import { endOfLog, formatPosition } from '../../src/event-store/event-store.js'
import { auditKeyOf } from '../../src/operations/audit/audit-files.js'
import { sealingOf } from '../../src/operations/audit/audit-tree.js'
import { readConfiguration } from '../../src/operations/configuration/configuration.js'
import { cliJson, runCli } from '../cli/in-process.js'
import { temporaryDirectory } from '../support/processes.js'
import { openTestLog } from '../support/service-log.js'

const directory = temporaryDirectory(t)
const data = join(directory, 'data')
const shop = ['--name', 'Shop – ü', '--callback-url', 'https://shop.example', '--allow-ip', '192.0.2.1']
const { id } = await cliJson<{ id: string }>(directory, 'merchants', 'create', ...shop)
await cliJson(directory, 'merchants', 'suspend', id, '--yes')

const embedded = `embedded:${data}`
const configuration = {
  ...readConfiguration({ EVENT_STORE_URL: embedded, READ_MODEL_URL: embedded }),
  ...{ dataDirectory: data, masterKey: { from: 'data directory' } as const },
}
const opened = await openTestLog({
  ...configuration,
  audit: { ...configuration.audit, directory: join(data, 'audit') },
})
t.teardown(() => opened.close())
const { rawEventStore: store, box } = opened
const signer = (await auditKeyOf(data, store, box))!
const key = formatVerifier(signer)
const seal = async () => {
  const sealer = await LogSealer.open({ store, tiles: new DirectoryTiles(join(data, 'audit')) }, signer)
  await sealer.follow(async () => undefined, new AbortController().signal)
  await sealer.seal()
}

t.test('an export ends at the newest checkpoint, which its signed manifest names', async (t) => {
  const before = await cliJson<SignedManifest>(directory, 'audit', 'export', '--out', 'unsealed.ndjson')
  t.equal(before.checkpoint, undefined, 'without a tree, no checkpoint covers it')
  t.match(await runCli(directory, ['audit', 'check-export', 'unsealed.ndjson.manifest.json', '--key', key]), {
    status: 1,
    stderr: /names no checkpoint/,
  })
  await seal()
  const sealed = formatPosition((await endOfLog(store))!)
  const events = (await store.readAll({ maxCount: 100 })).events.length
  await cliJson(directory, 'merchants', 'resume', id)
  for (const format of ['ndjson', 'csv']) {
    const out = `export.${format}`
    const { stdout, stderr } = await runCli(directory, ['audit', 'export', '--out', out, '--format', format, '--json'])
    t.match(JSON.parse(stdout), { until: sealed, events })
    t.match(stderr, /newer events are not sealed yet/)
    const checked = await cliJson(directory, 'audit', 'check-export', `${out}.manifest.json`, '--key', key)
    t.match(checked, { valid: true, events, files: 1, until: sealed, treeSize: events, origin: signer.name })
  }
  await seal()
  t.notMatch((await runCli(directory, ['audit', 'export', '--out', 'all.ndjson'])).stderr, /not sealed/)
})

t.test('a manifest names no checkpoint that does not cover all of its lines', async (t) => {
  const sealing = sealingOf(
    { ...configuration, audit: { ...configuration.audit, directory: join(data, 'audit') } },
    opened,
  )
  const end = (await sealing.end())!
  const manifest = { until: formatPosition(end), files: [] }
  t.type((await sealing.sign(manifest)).checkpoint, 'string')
  const beyond = { ...manifest, until: String(end.commit + 1n) }
  const signed = await sealing.sign(beyond)
  t.equal(signed.checkpoint, undefined)
  t.type(signed.signature, 'string')
})

t.test('any change of a manifest or a file is found, with and without transferd', async (t) => {
  const name = 'export.csv.manifest.json'
  const text = readFileSync(join(directory, name), 'utf8')
  const manifest = JSON.parse(text) as SignedManifest & { readonly [field: string]: unknown }
  const hasPython = spawnSync('python3', ['--version']).status === 0
  const isValid = async (content: string, file?: string) => {
    const place = join(directory, 'changed')
    rmSync(place, { recursive: true, force: true })
    for (const each of ['export.csv', name]) cpSync(join(directory, each), join(place, each))
    writeFileSync(join(place, name), content)
    if (file !== undefined) writeFileSync(join(place, 'export.csv'), file)
    const { status } = await runCli(place, ['audit', 'check-export', name, '--key', key])
    if (hasPython) {
      const program = join(process.cwd(), 'packages/transparency-log/examples/check_export.py')
      const python = spawnSync('python3', ['-B', program, join(place, name), '--key', key], { encoding: 'utf8' })
      t.equal(python.status, status, python.stderr)
    }
    return status === 0
  }
  t.ok(await isValid(text))
  const other = parseSigner(generateSigner('transferd/other'))
  const changes: object[] = [
    { events: 99 },
    { until: '1' },
    { merchantId: id },
    { to: '2026-01-01T00:00:00.000Z' },
    { checkpoint: (await cliJson<SignedManifest>(directory, 'audit', 'export', '--out', 'other.csv')).checkpoint },
    { checkpoint: undefined },
    { signature: undefined },
    { signature: `— ${signer.name} ${randomBytes(68).toString('base64')}` },
    { added: true },
    { files: [] },
  ]
  for (const change of changes)
    t.notOk(await isValid(`${JSON.stringify({ ...manifest, ...change }, null, 2)}\n`), JSON.stringify(change))
  t.notOk(await isValid(text.replace('{', '{\n  "events": 5,')), 'a repeated name')
  const csv = readFileSync(join(directory, 'export.csv'), 'utf8')
  for (const file of [csv.slice(0, -1), csv.replace('MerchantSuspended', 'MerchantResumed'), ''])
    t.notOk(await isValid(text, file))
  t.throws(() => openManifest(text, other))
})
