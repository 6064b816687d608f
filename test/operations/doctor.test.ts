import { chmodSync, existsSync, readdirSync, readFileSync, rmSync, utimesSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:http'
import { type AddressInfo, createServer as createPlainServer, type Server as PlainServer } from 'node:net'
import { join } from 'node:path'
import { createServer as createTlsServer } from 'node:tls'
import { makeCertificate } from '@transferd/event-log-server/test/support/certificate'
import { formatCheckpoint, generateSigner, parseSigner, signNote } from '@transferd/transparency-log'
import t, { type Test } from 'tap'
import type { Check } from '../../src/kernel/check.js'
import { readConfiguration } from '../../src/operations/configuration/configuration.js'
import {
  auditCheck,
  auditCopyCheck,
  backupCheck,
  clockCheck,
  diskCheck,
  versionCheck,
} from '../../src/operations/doctor/machine.js'
import { portCheck, publicCertificateCheck } from '../../src/operations/doctor/network.js'
import { recordBackup } from '../../src/operations/files/last-backup.js'
import { version } from '../../src/operations/version.js'
import { stuckReasons } from '../../src/queries/stuck.js'
import { openEmbeddedReadModels } from '../../src/read-models/embedded/embedded-read-models.js'
import { type Node, OwnNode } from '../../src/read-models/nodes.js'
import { cliJson, runCli } from '../cli/in-process.js'
import { depositRequest } from '../domain/transfer-samples.js'
import { context } from '../support/embedded-store.js'
import { startTestEventsServer } from '../support/events-server.js'
import { merchantSettings } from '../support/merchant-requests.js'
import { runCli as runProgram, startServiceProcess, temporaryDirectory } from '../support/processes.js'
import { openServiceLog } from '../support/service-log.js'
import { transferCommands } from '../support/transfer-commands.js'

const nowMs = Date.parse('2026-11-21T12:00:00.000Z')

function node(changes: Partial<Node>): Node {
  const seenAt = new Date(nowMs - 1_000).toISOString()
  const roles = ['api', 'projections', 'callbacks']
  return {
    ...{ nodeId: 'a/1', host: 'a', processId: 1, version, roles, startedAt: seenAt, seenAt },
    isAlive: true,
    ...changes,
  }
}

async function doctor(directory: string, environment: { readonly [name: string]: string } = {}) {
  const { status, stdout, stderr } = await runCli(directory, ['doctor', '--json'], { PORT: '0', ...environment })
  const { checks } = JSON.parse(stdout) as { checks: readonly Check[] }
  return { status, stderr, checks, of: (name: string) => checks.filter((check) => check.name === name) }
}

/** Creates a log whose only transfer has a customer, and thus the key of that customer. */
async function createCustomer(directory: string): Promise<void> {
  const shop = ['--name', 'Shop', '--callback-url', 'https://shop.example', '--sandbox']
  const { id: merchantId } = await cliJson<{ id: string }>(directory, 'merchants', 'create', ...shop)
  const store = await openServiceLog(directory)
  const clock = () => new Date().toISOString()
  const transfers = transferCommands(store, clock, async () => merchantSettings)
  await transfers.create({ ...depositRequest, merchantId }, context)
  await store.close()
}

t.test('reports a missing log and does not create one', async (t) => {
  const directory = temporaryDirectory(t)
  for (let time = 0; time < 2; time++) {
    const { status, stderr, of } = await doctor(directory)
    t.equal(status, 1)
    t.match(stderr, /1 of \d+ checks failed/)
    t.match(of('event-store'), [{ result: 'failed', found: /there is no log/ }])
    t.match(of('disk'), [{ result: 'unknown' }])
  }
})

t.test('checks the stores and files without a running service', async (t) => {
  const directory = temporaryDirectory(t)
  const shop = ['--name', 'Shop', '--callback-url', 'https://shop.example', '--allow-ip', '192.0.2.1', '--sandbox']
  const created = await runCli(directory, ['merchants', 'create', ...shop], { PORT: '0' })
  t.equal(created.status, 0, created.stderr)
  const { of, checks } = await doctor(directory)
  for (const name of [
    'configuration',
    'master-key',
    'event-store',
    'read-models',
    'clock',
    'version',
    'events',
    'sealed-secrets',
  ])
    t.match(of(name), [{ result: 'ok' }], name)
  t.match(of('nodes'), [{ result: 'warning', found: 'No node is alive.' }])
  t.ok(of('projection').some(({ result, found }) => result === 'failed' && /no node runs it/.test(found)))
  t.equal(of('stuck').length, Object.keys(stuckReasons).length, 'a check for each reason')
  for (const { result, advice, name } of checks)
    if (result === 'warning' || result === 'failed') t.ok(advice, `${name} has advice`)

  const key = join(directory, 'data', 'master.key')
  chmodSync(key, 0o644)
  t.match((await doctor(directory)).of('master-key'), [{ result: 'warning', found: /others can read it/ }])
  chmodSync(key, 0o600)
  writeFileSync(key, `${'ab'.repeat(32)}\n`)
  const other = await doctor(directory)
  t.match(other.of('master-key'), [{ result: 'failed', found: /none of the given master keys opens this log/ }])
  t.equal(other.status, 1)
  writeFileSync(key, 'no key')
  t.match((await doctor(directory)).of('master-key'), [{ result: 'failed' }])
  t.notMatch(JSON.stringify((await doctor(directory)).checks), /no key/)
})

t.test('reports roles that no node has', async (t) => {
  const directory = temporaryDirectory(t)
  await createCustomer(directory)
  const readModels = await openEmbeddedReadModels({ directory: join(directory, 'data') })
  const now = new Date().toISOString()
  await new OwnNode(readModels, { version, roles: ['api'], startedAt: now }).start(now)
  await readModels.close()
  const { of, status } = await doctor(directory)
  t.match(of('nodes'), [{ result: 'failed', found: 'No node has the role projections or callbacks.' }])
  t.equal(status, 1)
})

t.test('reports lost keys of customers', async (t) => {
  const directory = temporaryDirectory(t)
  await createCustomer(directory)
  t.match((await doctor(directory)).of('customer-keys'), [{ result: 'ok' }])
  for (const file of readdirSync(join(directory, 'data')).filter((name) => name.startsWith('customer-keys.db')))
    rmSync(join(directory, 'data', file))
  const { of, status } = await doctor(directory)
  const found = /^None decrypts transfer-\S+@0\.$/
  t.match(of('customer-keys'), [{ result: 'failed', found, advice: /newest copy of the keys/ }])
  t.equal(status, 1)
})

t.test('requires the keys of customers next to a shared log, and warns if they are on one machine', async (t) => {
  const directory = temporaryDirectory(t)
  await createCustomer(directory)
  const data = join(directory, 'data')
  const server = await startTestEventsServer(data)
  t.teardown(server.stop)
  const shared = { EVENT_STORE_URL: server.url, DATA_DIRECTORY: data, SANDBOX: 'off', PORT: '0' }
  const { of } = await doctor(directory, shared)
  t.match(of('customer-keys'), [{ result: 'warning', found: /in .*\/data on this machine/, advice: /KEY_STORE_URL/ }])
  const elsewhere = { ...shared, KEY_STORE_URL: 'embedded:keys' }
  const { status, stderr } = await runProgram(directory, ['serve'], elsewhere)
  t.equal(status, 1)
  t.match(stderr, /customer-keys\.db in .*\/keys contains no customer's key: set KEY_STORE_URL .*#lost-keys/)
  const { stdout } = await runCli(
    directory,
    ['privacy', 'give-up', '--reason', 'disk lost', '--yes', '--json'],
    elsewhere,
  )
  t.ok(JSON.parse(stdout).customers > 0)
  await startServiceProcess(t, { directory, environment: elsewhere })
})

t.test('reports only the configuration if it is invalid', async (t) => {
  const { checks, status } = await doctor(temporaryDirectory(t), { PUBLIC_URL: 'nonsense' })
  t.equal(status, 1)
  t.match(checks, [{ name: 'configuration', result: 'failed', found: /PUBLIC_URL must be/ }])
})

t.test('docs/operating/monitoring.md lists every check', async (t) => {
  const folder = 'src/operations/doctor'
  const sources = readdirSync(folder).map((name) => readFileSync(join(folder, name), 'utf8'))
  const names = sources.flatMap((text) => [...text.matchAll(/checking\('([a-z-]+)'/g)].map(([, name]) => name!))
  const rows = readFileSync('docs/operating/monitoring.md', 'utf8').matchAll(/^\| (`[a-z`, -]+`) \|/gm)
  const listed = [...rows].flatMap(([, cell = '']) => [...cell.matchAll(/[a-z-]+/g)].map(([name]) => name))
  t.same(
    [...new Set(names)].filter((name) => !listed.includes(name)),
    [],
  )
})

t.test('prints a table with advice', async (t) => {
  const { stdout } = await runCli(temporaryDirectory(t), ['doctor'], { PORT: '0' })
  t.match(stdout, /^RESULT +CHECK +FOUND\nok +configuration/)
  t.match(stdout, /→ /)
})

t.test('reports the free space of a disk, and a disk that is not writable', async (t) => {
  const directory = temporaryDirectory(t)
  t.match(await diskCheck(directory), { name: 'disk', subject: directory, found: /iB free; its files take 0 MiB/ })
  t.match(await diskCheck(join(directory, 'none')), { result: 'unknown' })
  t.match(await diskCheck('/proc'), { result: 'failed' })
})

t.test('reports a clock that is behind the log or another node', async (t) => {
  t.match(clockCheck(nowMs, nowMs - 5_000, [node({})]), { result: 'ok' })
  t.match(clockCheck(nowMs, null, []), { result: 'ok' })
  t.match(clockCheck(nowMs, nowMs + 90_000, []), { result: 'failed', found: /in 1 minute from now/ })
  const ahead = node({ seenAt: new Date(nowMs + 7_000).toISOString() })
  t.match(clockCheck(nowMs, nowMs, [node({}), ahead]), { result: 'warning', found: /7 seconds ahead/ })
})

t.test('reports a checkpoint that does not cover the events of several minutes', async (t) => {
  const directory = temporaryDirectory(t)
  const signer = parseSigner(generateSigner('transferd/test'))
  const check = (newestEventMs: number | null) => auditCheck(directory, newestEventMs, async () => ({ signer }))
  t.match(await check(nowMs), { name: 'audit', result: 'unknown' })
  const checkpoint = formatCheckpoint({ origin: signer.name, size: 1, root: Buffer.alloc(32) })
  writeFileSync(join(directory, 'checkpoint'), signNote(checkpoint, [signer]))
  utimesSync(join(directory, 'checkpoint'), nowMs / 1_000, nowMs / 1_000)
  t.match(await check(null), { result: 'ok' })
  t.match(await check(nowMs + 60_000), { result: 'ok' })
  t.match(await check(nowMs + 600_000), { result: 'warning', found: /covers the last 10 minutes/ })
})

t.test('warns without a copy of the tree elsewhere if there is a live merchant', async (t) => {
  const dataDirectory = temporaryDirectory(t)
  const { audit } = readConfiguration({ DATA_DIRECTORY: dataDirectory })
  const check = (more: Partial<typeof audit>, isLive = true) =>
    auditCopyCheck({ dataDirectory, audit: { ...audit, ...more } }, isLive)
  t.match(await check({}), { name: 'audit-copy', result: 'warning', advice: /AUDIT_COPY_TO/ })
  t.match(await check({}, false), { result: 'ok' })
  const sameDisk = { kind: 'directory', directory: temporaryDirectory(t) } as const
  t.match(await check({ copyTo: sameDisk }), { result: 'warning', found: /on the disk of the data directory/ })
  const missing = { kind: 'directory', directory: join(dataDirectory, 'missing') } as const
  t.match(await check({ copyTo: missing }), { result: 'warning', found: /missing cannot be read/ })
  const elsewhere = { kind: 'directory', directory: '/dev/shm' } as const
  if (existsSync(elsewhere.directory)) t.match(await check({ copyTo: elsewhere }), { result: 'ok' })
  t.match(await check({ copyTo: { kind: 'url', url: 'https://x.example', authorization: undefined } }), {
    result: 'ok',
  })
})

t.test('reports the time of the last backup', async (t) => {
  const directory = temporaryDirectory(t)
  t.match(await backupCheck(directory, nowMs), { name: 'backup', result: 'unknown' })
  await recordBackup(directory, '2026-11-18T12:00:00.000Z', null)
  t.match(await backupCheck(directory, nowMs), { result: 'warning', found: /3 days ago/ })
  await recordBackup(directory, '2026-11-21T09:00:00.000Z', null)
  t.match(await backupCheck(directory, nowMs), { result: 'ok', found: /3 hours ago/ })
  writeFileSync(join(directory, 'last-backup'), 'not a time')
  t.match(await backupCheck(directory, nowMs), { result: 'unknown' })
})

t.test('reports nodes of different versions as an unfinished upgrade', async (t) => {
  t.match(versionCheck([node({})]), { result: 'ok' })
  t.match(versionCheck([node({ version: '9.9.9' })]), { result: 'warning', found: /9\.9\.9/ })
  t.match(versionCheck([node({ version: '9.9.9', isAlive: false })]), { result: 'ok' })
})

t.test('distinguishes a port of the service, a free port and a port of another program', async (t) => {
  const answers = { problems: [] as string[], status: 200 }
  const service = createServer((_request, response) => {
    response.writeHead(answers.status, { 'content-type': 'application/json' }).end(JSON.stringify(answers))
  })
  const port = await listening(t, service)
  t.match(await portCheck({ host: '127.0.0.1', port }), { result: 'ok' })
  Object.assign(answers, { problems: ['the event log cannot be read'], status: 503 })
  t.match(await portCheck({ host: '0.0.0.0', port }), { result: 'failed', found: /the event log cannot be read/ })
  await new Promise((resolve) => service.close(resolve))
  t.match(await portCheck({ host: '127.0.0.1', port }), { result: 'warning', advice: /transferd serve/ })
  const otherProgram = createServer((_request, response) => response.end('hello'))
  const otherPort = await listening(t, otherProgram)
  t.match(await portCheck({ host: '127.0.0.1', port: otherPort }), { result: 'failed', found: /Another program/ })
  const mailServer = createPlainServer((socket) => socket.end('220 mail.example ESMTP\r\n'))
  const mailPort = await listening(t, mailServer)
  t.match(await portCheck({ host: '127.0.0.1', port: mailPort }), { result: 'failed' })
})

const certificate = makeCertificate(temporaryDirectory(t))
const skip = certificate ? false : 'openssl is not installed, so the test cannot create a certificate'

t.test('rejects a self-signed certificate', { skip }, async (t) => {
  if (!certificate) return
  const server = createTlsServer({ key: readFileSync(certificate.key), cert: readFileSync(certificate.cert) })
  const port = await listening(t, server)
  t.match(await publicCertificateCheck(`https://localhost:${port}`, nowMs), { result: 'failed', found: /SELF_SIGNED/ })
  t.match(await publicCertificateCheck('http://localhost', nowMs), { result: 'unknown' })
  t.match(await publicCertificateCheck('https://localhost:1', nowMs), { result: 'failed', found: /ECONNREFUSED/ })
})

async function listening(t: Test, server: PlainServer): Promise<number> {
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', () => resolve()))
  t.teardown(() => server.close())
  return (server.address() as AddressInfo).port
}
