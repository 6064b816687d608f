import { randomBytes } from 'node:crypto'
import { cpSync, existsSync, mkdirSync, readdirSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { logPath } from '@transferd/event-log'
import { Database } from '@transferd/event-log/sqlite'
import { tempDirectory } from '@transferd/event-log/test/support/temp-directory'
import { MemoryTiles, openCheckpoint, VerificationError } from '@transferd/transparency-log'
import { pino } from 'pino'
import { Registry } from 'prom-client'
import t, { type Test } from 'tap'
import { openTree } from '../../src/audit/integrity/audit-tree-opening.js'
import { LogSealer } from '../../src/audit/integrity/log-sealer.js'
import { AuditTreeCommands } from '../../src/commands/integrity/audit-tree-commands.js'
import { IntegrityCommands } from '../../src/commands/integrity/integrity-commands.js'
import { MerchantCommands } from '../../src/commands/merchant/merchant-commands.js'
import type { Check } from '../../src/kernel/check.js'
import { auditKeyOf, restartTree, treeKeyOf } from '../../src/operations/audit/audit-files.js'
import { integrityDetails, startAuditTree } from '../../src/operations/audit/audit-tree.js'
import { verifyLog } from '../../src/operations/audit/verify-log.js'
import { readConfiguration } from '../../src/operations/configuration/configuration.js'
import { markedStore, openStores, type Stores } from '../../src/operations/stores/stores.js'
import { runCli } from '../cli/in-process.js'
import { depositRequest } from '../domain/transfer-samples.js'
import { signInAs } from '../support/dashboard.js'
import { context } from '../support/embedded-store.js'
import { long } from '../support/long.js'
import { merchantSettings } from '../support/merchant-requests.js'
import { startTestService } from '../support/test-service.js'
import { transferCommands } from '../support/transfer-commands.js'
import { until } from '../support/until.js'

const clock = () => new Date().toISOString()
const masterKey = randomBytes(32).toString('hex')
const base = tempDirectory(t)
/** The same log with its read models. */
const whole = tempDirectory(t)
const configurationOf = (directory: string, more: { readonly [name: string]: string } = {}) => {
  const data = `embedded:${directory}`
  return readConfiguration({ EVENT_STORE_URL: data, READ_MODEL_URL: data, TRANSFERD_MASTER_KEY: masterKey, ...more })
}

/** Runs the part of the service that seals the log until the condition is true, and stops it. */
async function serve<Result>(
  configuration: ReturnType<typeof configurationOf>,
  work: (stores: Stores, integrity: IntegrityCommands, registry: Registry) => Promise<Result>,
): Promise<Result> {
  const stores = await openStores(configuration)
  const { rawEventStore: rawStore, eventStore: store, readModels, customerKeys, box, keyRing } = stores
  const logger = pino({ level: 'silent' })
  const registry = new Registry()
  const parts = {
    configuration,
    rawStore,
    store,
    readModels,
    keys: customerKeys.store,
    box,
    keyRing,
    clock,
    logger,
    registry,
  }
  const keeper = startAuditTree(parts)
  try {
    return await work(stores, new IntegrityCommands(store, clock), registry)
  } finally {
    await keeper.stop()
    await stores.close()
  }
}

const checkpointIn = (directory: string) => readFileSync(join(directory, 'audit', 'checkpoint'), 'utf8')
const isStopped = (integrity: IntegrityCommands) => async () => (await integrity.state()).stoppedSince !== null

function requestOf(merchantId: string, number: string) {
  return { ...depositRequest, merchantId, referenceId: `order-${number}` }
}

/** Creates a sealed log with a deposit, and `early`, its tree before the deposit. */
async function createBase(): Promise<void> {
  let merchantId = ''
  await serve(configurationOf(base), async ({ eventStore, box }) => {
    merchantId = (await new MerchantCommands(eventStore, clock, box).register(merchantSettings, context)).id
    await until(async () => existsSync(join(base, 'audit.key')), 20_000)
  })
  cpSync(join(base, 'audit'), join(base, 'early'), { recursive: true })
  await serve(configurationOf(base), async ({ eventStore }) => {
    const transfers = transferCommands(eventStore, clock, async () => merchantSettings)
    const created = await transfers.create(requestOf(merchantId, '1'), context)
    if (created.accepted) await transfers.act(created.transfer.trackingId, { type: 'Complete' }, context)
  })
  cpSync(base, whole, { recursive: true })
  rmSync(join(base, 'read-models.db'), { force: true })
}
await createBase()

function editLog(directory: string): void {
  const db = new Database(logPath(directory))
  db.prepare(`DELETE FROM events WHERE body LIKE '%"TransferCompleted"%'`).run()
  db.close()
}

const attacks: { readonly [name: string]: (directory: string) => void } = {
  'edits the log and removes tree and key': (directory) => {
    editLog(directory)
    rmSync(join(directory, 'audit'), { recursive: true })
    rmSync(join(directory, 'audit.key'))
  },
  'removes the tree': (directory) => rmSync(join(directory, 'audit'), { recursive: true }),
  'empties the tree': (directory) => {
    rmSync(join(directory, 'audit'), { recursive: true })
    mkdirSync(join(directory, 'audit'))
  },
  'removes the key': (directory) => rmSync(join(directory, 'audit.key')),
  'makes the key unreadable': (directory) => writeFileSync(join(directory, 'audit.key'), 'v1.garbage\n'),
  'makes the checkpoint unreadable': (directory) => writeFileSync(join(directory, 'audit', 'checkpoint'), 'garbage\n'),
  'puts an earlier tree back': (directory) => {
    rmSync(join(directory, 'audit'), { recursive: true })
    renameSync(join(directory, 'early'), join(directory, 'audit'))
  },
}

/** The attacks after which every page is read. The short form reads them after one attack. */
const isShown = new Set(
  long ? ['removes the tree', 'makes the key unreadable', 'puts an earlier tree back'] : ['removes the tree'],
)

/** The doctor, the readiness, the audit page and the payment queue show that the tree cannot be used and payouts are stopped. */
async function shows(t: Test, directory: string): Promise<void> {
  const data = `embedded:${directory}`
  const environment = { EVENT_STORE_URL: data, READ_MODEL_URL: data, TRANSFERD_MASTER_KEY: masterKey, PORT: '0' }
  const { status, stdout } = await runCli(directory, ['doctor', '--json'], environment)
  const { checks } = JSON.parse(stdout) as { readonly checks: readonly Check[] }
  t.equal(status, 1)
  t.match(checks.find(({ name }) => name === 'audit')!, { result: 'failed', found: /^(audit\.key|checkpoint): / })
  t.match(checks.find(({ name }) => name === 'integrity')!, { result: 'failed', found: /payouts are stopped/ })

  const service = await startTestService({ path: directory, masterKey: Buffer.from(masterKey, 'hex') })
  try {
    const ready = (await service.app.inject('/health/ready')).json()
    t.match(ready.details, [/payouts are stopped/, /The log is not sealed/])
    const auditor = await signInAs(service, 'auditor')
    const page = (await auditor.get('/audit/integrity')).json()
    t.match(page, { payoutsStopped: { findings: [{ kind: 'checkpoint' }] }, problems: [/The log is not sealed/] })
    t.match((await auditor.get('/payouts')).json(), { stopped: true })
  } finally {
    await service.stop()
  }
}

for (const [attack, act] of Object.entries(attacks)) {
  t.test(`an attacker who ${attack} stops payouts, and nothing is sealed`, async (t) => {
    const directory = tempDirectory(t)
    cpSync(base, directory, { recursive: true })
    act(directory)
    const before = existsSync(join(directory, 'audit', 'checkpoint')) ? checkpointIn(directory) : undefined
    await serve(configurationOf(directory), async ({ eventStore, readModels }, integrity, registry) => {
      await until(isStopped(integrity), 20_000)
      const transfers = transferCommands(eventStore, clock, async () => merchantSettings)
      t.equal(await transfers.arePayoutsStopped(), true)
      const details = async () => integrityDetails(integrity, readModels)
      await until(async () => (await details()).some((detail) => /restart-tree/.test(detail)), 20_000)
      t.match(await details(), [/payouts are stopped/, /The log is not sealed/])
      const metrics = await registry.metrics()
      t.match(metrics, /^transferd_payouts_stopped 1$/m)
      t.match(metrics, /^transferd_audit_findings 1$/m)
    })
    if (isShown.has(attack)) await shows(t, directory)
    t.equal(existsSync(join(directory, 'audit', 'checkpoint')) ? checkpointIn(directory) : undefined, before)
  })
}

t.test('only a recorded decision with a reason starts a new tree, which has a new key', async (t) => {
  const directory = tempDirectory(t)
  cpSync(base, directory, { recursive: true })
  attacks['edits the log and removes tree and key']!(directory)
  const configuration = configurationOf(directory, { AUDIT_ORIGIN: 'pay.example.com/log' })
  const { earlierKey, key, size } = await serve(configuration, async (stores, integrity) => {
    const { eventStore, box } = stores
    await until(isStopped(integrity), 20_000)
    const earlierKey = (await auditKeyOf(directory, eventStore, box))!
    const restarted = await restartTree(stores, box, configuration.audit.origin, 'reviewed, ticket 9', context)
    t.equal(restarted.earlier?.keyId, earlierKey.keyId)
    const isSealed = async () => existsSync(join(directory, 'audit.key'))
    await until(isSealed, 20_000)
    t.ok((await integrity.state()).stoppedSince, 'payouts stay stopped until a person resumes them')
    const start = (await eventStore.readStream('audit-tree')).findLast(({ type }) => type === 'AuditTreeStarted')
    t.match(start, {
      type: 'AuditTreeStarted',
      data: { reason: 'reviewed, ticket 9' },
      metadata: { actor: context.actor },
    })
    return { ...restarted, earlierKey }
  })
  const checkpoint = openCheckpoint(checkpointIn(directory), key)
  t.equal(checkpoint.origin, 'pay.example.com/log')
  t.ok(checkpoint.size > size)
  t.throws(() => openCheckpoint(checkpointIn(directory), earlierKey), VerificationError)
  t.match(await verifyLog(configuration, { verifier: earlierKey }), { holds: false })
  t.match(await verifyLog(configuration), { findings: [] })
})

t.test('a restart keeps the files of the earlier tree', async (t) => {
  const directory = tempDirectory(t)
  cpSync(base, directory, { recursive: true })
  const earlier = checkpointIn(directory)
  await serve(configurationOf(directory), async (stores) => {
    const { key } = await restartTree(stores, stores.box, undefined, 'a test', context)
    await until(async () => {
      const note = existsSync(join(directory, 'audit', 'checkpoint')) ? checkpointIn(directory) : ''
      return note.startsWith(key.name)
    }, 20_000)
  })
  const [aside] = readdirSync(join(directory, 'audit')).filter((name) => name.startsWith('earlier-'))
  t.equal(readFileSync(join(directory, 'audit', aside!, 'checkpoint'), 'utf8').split('\n')[0], earlier.split('\n')[0])
  t.ok(readdirSync(directory).some((name) => /^audit\.key\.\d+$/.test(name)))
})

t.test('moving the files of the tree to a new AUDIT_DIRECTORY continues it', async (t) => {
  const directory = tempDirectory(t)
  cpSync(base, directory, { recursive: true })
  const elsewhere = join(directory, 'elsewhere')
  const configuration = configurationOf(directory, { AUDIT_DIRECTORY: elsewhere })
  await serve(configuration, async (_, integrity) => {
    await until(isStopped(integrity), 20_000)
    t.match((await integrity.state()).findings, [{ problem: /AUDIT_DIRECTORY, stop the service and move the files/ }])
  })
  rmSync(elsewhere, { recursive: true, force: true })
  renameSync(join(directory, 'audit'), elsewhere)
  await serve(configuration, async ({ readModels }, integrity) => {
    const details = async () => integrityDetails(integrity, readModels)
    await until(async () => !(await details()).some((detail) => /not sealed/.test(detail)), 20_000)
  })
  t.match(await verifyLog(configuration), { holds: true })
})

t.test('a further node of a shared log builds the same tree, but not over an edited log', async (t) => {
  const stores = await openStores(configurationOf(base))
  t.teardown(() => stores.close())
  const { rawEventStore, box } = stores
  const store = markedStore(rawEventStore, box)
  const tree = new AuditTreeCommands(store, clock)
  const tiles = new MemoryTiles()
  const node = { tiles, tree, keyOf: (started: Parameters<typeof treeKeyOf>[0]) => treeKeyOf(started, box) }
  const empty = { keptKey: () => undefined, setAside: async () => undefined }
  t.match(await openTree({ ...node, ...empty, isShared: false }), { finding: { place: 'audit.key' } })
  const opened = await openTree({ ...node, ...empty, isShared: true })
  if ('finding' in opened) throw new Error(opened.finding.problem)
  const required = { size: opened.tree.size, root: Buffer.from(opened.tree.root, 'base64'), place: 'the log' }
  t.ok(opened.tree.isSealed && required.size > 0)
  const follow = async (log: typeof store) => {
    const sealer = await LogSealer.open({ store: log, tiles: new MemoryTiles() }, opened.signer, [required])
    await sealer.follow(async () => undefined, new AbortController().signal)
    return sealer.seal()
  }
  t.match(await follow(store), opened.tree.origin)
  const edited: typeof store = {
    ...store,
    readUnparsed: async (options) => {
      const page = await store.readUnparsed(options)
      return { ...page, events: page.events.filter(({ text }) => !text?.includes('TransferCompleted')) }
    },
  }
  await t.rejects(follow(edited), {
    name: 'VerificationError',
    message: /does not have the \d+ events of the checkpoint in the log/,
  })
  const cut: typeof store = {
    ...store,
    readUnparsed: async (options) => ({ ...(await store.readUnparsed(options)), events: [], atEnd: true }),
  }
  await t.rejects(follow(cut), {
    name: 'VerificationError',
    message: /does not have the \d+ events of the checkpoint in the log/,
  })
})

/** Removes the completion of the deposit as if it had never been: the log's record of its tree, and the tree with its key, go too. */
function cutLog(directory: string): void {
  const db = new Database(logPath(directory))
  db.exec(`
    DELETE FROM events WHERE body LIKE '%"TransferCompleted"%' OR body LIKE '%"AuditTreeSealed"%';
    CREATE TEMP TABLE places AS SELECT position AS was, row_number() OVER (ORDER BY position) AS is_now FROM events;
    UPDATE events SET position = -(SELECT is_now FROM places WHERE was = position);
    UPDATE events SET position = -position`)
  db.close()
  rmSync(join(directory, 'audit'), { recursive: true })
  rmSync(join(directory, 'audit.key'))
}

/** Removes the checkpoint from each of the other stores. */
const forget: { readonly [store: string]: (directory: string) => void } = {
  'the read models': (directory) => rmSync(join(directory, 'read-models.db')),
  "the customers' keys": (directory) => inDatabase(directory, 'customer-keys.db', 'DELETE FROM checkpoint'),
  'the security log': (directory) => inDatabase(directory, 'security-log.db', 'DROP TABLE checkpoint'),
  'the last backup': (directory) => rmSync(join(directory, 'last-backup')),
}

function inDatabase(directory: string, name: string, sql: string): void {
  const db = new Database(join(directory, name))
  db.exec(sql)
  db.close()
}

t.test('a log that was cut back is sealed only if no other store has seen more', async (t) => {
  const directory = tempDirectory(t)
  cpSync(whole, directory, { recursive: true })
  const data = `embedded:${directory}`
  const environment = { EVENT_STORE_URL: data, READ_MODEL_URL: data, TRANSFERD_MASTER_KEY: masterKey }
  const target = join(tempDirectory(t), 'target')
  const stopping = ['payouts', 'stop', '--reason', 'a line of the security log']
  for (const command of [stopping, ['backup', target]])
    t.match(await runCli(directory, command, environment), { status: 0 })
  const copyTo = tempDirectory(t)
  const withCopy = { AUDIT_COPY_TO: copyTo }
  await serve(configurationOf(directory, withCopy), async (_stores, integrity) => {
    await integrity.resumePayouts('a test', (await integrity.read()).revision as number, context)
    await until(async () => existsSync(join(copyTo, 'checkpoint')))
  })
  const note = checkpointIn(directory)
  t.match(await verifyLog(configurationOf(directory), { withStores: true }), {
    holds: true,
    comparedWith: Object.keys(forget),
  })
  cutLog(directory)

  for (const store of Object.keys(forget)) {
    const attacked = tempDirectory(t)
    cpSync(directory, attacked, { recursive: true })
    for (const [other, act] of Object.entries(forget)) if (other !== store) act(attacked)
    await serve(configurationOf(attacked), async (_stores, integrity) => {
      await until(isStopped(integrity))
      const found = new RegExp(`does not have the \\d+ events of the checkpoint in ${store}`)
      t.match((await integrity.state()).findings, [{ place: 'checkpoint', problem: found }])
    })
    t.notOk(existsSync(join(attacked, 'audit', 'checkpoint')), `nothing is sealed: ${store}`)
  }

  await t.test('who also makes every store forget is found by a copy or a checkpoint elsewhere', async (t) => {
    for (const act of Object.values(forget)) act(directory)
    await serve(configurationOf(directory), async (_stores, integrity) => {
      await until(async () => existsSync(join(directory, 'audit', 'checkpoint')))
      t.same((await integrity.state()).findings, [])
    })
    t.match(await verifyLog(configurationOf(directory), { withStores: true }), { holds: true })
    const older = [{ name: 'kept', note }]
    t.match(await verifyLog(configurationOf(directory), { older }), { holds: false, findings: [{ place: 'kept' }] })
    await serve(configurationOf(directory, withCopy), async (_stores, integrity) => {
      await until(isStopped(integrity))
      t.match((await integrity.state()).findings, [{ place: 'the copy', problem: /cut back/ }])
    })
  })
})

t.test('after a decision, a new tree starts over a log that a store has seen longer', async (t) => {
  const directory = tempDirectory(t)
  cpSync(whole, directory, { recursive: true })
  cutLog(directory)
  await serve(configurationOf(directory), async (stores, integrity) => {
    await until(isStopped(integrity))
    await restartTree(stores, stores.box, undefined, 'reviewed, ticket 9', context)
    await integrity.resumePayouts('reviewed', (await integrity.read()).revision as number, context)
    await until(async () => existsSync(join(directory, 'audit', 'checkpoint')))
  })
  await serve(configurationOf(directory), async (_stores, integrity, registry) => {
    await until(async () => /^transferd_audit_tree_size [1-9]/m.test(await registry.metrics()))
    t.equal((await integrity.state()).stoppedSince, null)
  })
  t.match(await verifyLog(configurationOf(directory), { withStores: true }), {
    holds: true,
    comparedWith: ['the read models', "the customers' keys"],
  })
})
