import { randomBytes, randomUUID } from 'node:crypto'
import { existsSync, readdirSync } from 'node:fs'
import { join } from 'node:path'
import { Database } from '@transferd/event-log/sqlite'
import { DirectoryTiles, formatVerifier, generateSigner, parseSigner } from '@transferd/transparency-log'
import t, { type Test } from 'tap'
import { LogSealer } from '../../src/audit/integrity/log-sealer.js'
import { MerchantCommands } from '../../src/commands/merchant/merchant-commands.js'
import { auditKeyOf, keepAuditKey } from '../../src/operations/audit/audit-files.js'
import type { BackUpReport, RestoreReport } from '../../src/operations/backup/backup-commands.js'
import { readConfiguration } from '../../src/operations/configuration/configuration.js'
import { openReadModels } from '../../src/operations/stores/stores.js'
import { openMongodbReadModels } from '../../src/read-models/mongodb/mongodb-read-models.js'
import { depositRequest } from '../domain/transfer-samples.js'
import { startTestEventsServer } from '../support/events-server.js'
import { merchantSettings } from '../support/merchant-requests.js'
import { testDatabaseUrl, withoutMongodb } from '../support/mongodb.js'
import { temporaryDirectory } from '../support/processes.js'
import { openTestLog } from '../support/service-log.js'
import { transferCommands } from '../support/transfer-commands.js'
import { runCli } from './in-process.js'

const context = { actor: 'cli:grace', $correlationId: 'job-1', $causationId: 'job-1' }
const clock = () => new Date().toISOString()
const otherVerifierKey = formatVerifier(parseSigner(generateSigner('log.example/transferd')))

interface Environment {
  readonly [name: string]: string
}

/** Creates a sealed log of two customers. The first has only ended transfers, and the second has an open one. */
async function world(t: Test, environment: Environment) {
  const directory = temporaryDirectory(t)
  const configuration = readConfiguration(inDirectory(directory, environment))
  const log = await openTestLog(configuration)
  const { eventStore, box, rawEventStore } = log
  const { id: merchantId } = await new MerchantCommands(eventStore, clock, box).register(merchantSettings, context)
  const transfers = transferCommands(eventStore, clock, async () => merchantSettings)
  const deposit = async (userId: string) => {
    const own = { referenceId: randomUUID(), userId, name: 'Ada', amountMinor: 100_50n }
    const request = { ...depositRequest, merchantId, ...own }
    const created = await transfers.create(request, { ...context, actor: `merchant:${merchantId}` })
    if (!created.accepted) throw new Error(created.refusal.rule)
    return created.transfer.trackingId
  }
  const [ended, open] = [await deposit('ada'), await deposit('grace')]
  await transfers.act(ended, { type: 'Cancel', message: 'not paid' }, context)
  const signer = (await auditKeyOf(configuration.dataDirectory, rawEventStore, box))!
  keepAuditKey(configuration.dataDirectory, box, signer)
  const sealer = await LogSealer.open(
    { store: rawEventStore, tiles: new DirectoryTiles(configuration.audit.directory) },
    signer,
  )
  await sealer.follow(async () => {}, new AbortController().signal)
  await sealer.seal()
  await log.close()
  /** Runs a command and parses the JSON that it prints. */
  const command = async (args: readonly string[], changed: Environment = {}) => {
    const { status, stdout, stderr } = await runCli(directory, [...args, '--json'], { ...environment, ...changed })
    return { status, stderr, result: stdout === '' ? undefined : JSON.parse(stdout) }
  }
  return { directory, configuration, merchantId, ended, open, command, verifierKey: formatVerifier(signer) }
}

/** Resolves the default data locations against the directory in which the commands run. */
function inDirectory(directory: string, environment: Environment): Environment {
  const data = join(directory, 'data')
  return environment.EVENT_STORE_URL === undefined
    ? { ...environment, EVENT_STORE_URL: `embedded:${data}`, READ_MODEL_URL: `embedded:${data}` }
    : { READ_MODEL_URL: `embedded:${data}`, DATA_DIRECTORY: data, ...environment }
}

function edit(logDirectory: string, trackingId: string): void {
  const db = new Database(join(logDirectory, 'events.db'))
  const change = `UPDATE events SET body = replace(body, '"10050"', '"90050"') WHERE name = 'transfer-${trackingId}'`
  const { changes } = db.prepare(change).run()
  db.close()
  if (changes === 0) throw new Error('the edit changed no event')
}

async function onServers(t: Test, readModels: Environment): Promise<void> {
  const logDirectory = temporaryDirectory(t)
  let server = await startTestEventsServer(logDirectory)
  t.teardown(() => server.stop())
  const TRANSFERD_MASTER_KEY = randomBytes(32).toString('hex')
  const environment = { TRANSFERD_MASTER_KEY, EVENT_STORE_URL: server.url, PORT: '0', ...readModels }
  const { directory, configuration, merchantId, ended, open, command, verifierKey } = await world(t, environment)

  t.match(await command(['audit', 'verify']), { status: 0, result: { holds: true, unsealed: 0 } })
  t.match(await command(['audit', 'prove', ended, '--out', 'proof.json']), { status: 0, result: { events: 2 } })
  t.match(await command(['privacy', 'export', merchantId, 'ada']), {
    status: 0,
    result: { transfers: [{ trackingId: ended, events: [{ data: { name: 'Ada' } }, {}] }] },
  })
  t.match(await command(['privacy', 'erase', merchantId, 'grace', '--reason', 'requested', '--yes']), {
    status: 1,
    stderr: new RegExp(`has open transfers: ${open}`),
  })
  t.match(await command(['privacy', 'erase', merchantId, 'ada', '--reason', 'requested', '--yes']), {
    status: 0,
    result: { transfers: 1 },
  })
  t.match(await command(['privacy', 'export', merchantId, 'ada']), { status: 1, stderr: /Customer not found/ })
  t.match(await command(['privacy', 'status']), {
    status: 0,
    result: { customers: 1, erasures: 1, keysToDestroy: 0 },
  })
  t.match(
    await command(['audit', 'check', 'proof.json', '--key', verifierKey]),
    { status: 0 },
    'a proof from before the erasure stays valid',
  )
  t.match(await command(['audit', 'verify', '--key', verifierKey]), { status: 0, result: { holds: true } })
  const { result: doctor } = await command(['doctor'])
  const resultOf = (name: string) => doctor.checks.find((check: { name: string }) => check.name === name)?.result
  for (const name of ['event-store', 'read-models', 'sealed-secrets', 'events']) t.equal(resultOf(name), 'ok', name)

  t.match(await command(['audit', 'reconcile']), { status: 0 })
  const live = await openReadModels(configuration.readModels)
  const changed = { updateOne: { filter: { _id: open }, update: { $set: { amountMinor: 1 } } } }
  await live.collection('transfers').bulkWrite([changed])
  await live.close()
  const { status, result } = await command(['audit', 'reconcile'])
  t.equal(status, 1)
  const differences = result.flatMap((each: { differences: readonly object[] }) => each.differences)
  t.match(differences, [{ id: open, kind: 'changed', fields: ['amountMinor'] }])

  const backup = await command(['backup', 'target'])
  const { notIncluded } = backup.result as BackUpReport
  t.match(notIncluded, [/master key/, /EventStoreDB/, ...('READ_MODEL_URL' in readModels ? [/MongoDB/] : [])])
  const restored = await command(['restore', 'target', '--to', 'restored', '--key', verifierKey])
  t.match((restored.result as RestoreReport).notes.join(' '), /The tree is what --key has signed/)
  t.match(await command(['restore', 'target', '--to', 'another', '--key', otherVerifierKey]), {
    status: 1,
    stderr: /not what --key has signed/,
  })
  t.notOk(existsSync(join(directory, 'another')))

  await server.stop()
  edit(logDirectory, open)
  server = await startTestEventsServer(logDirectory)
  const moved = { EVENT_STORE_URL: server.url }
  t.match(await command(['audit', 'verify'], moved), {
    status: 1,
    result: { holds: false, findings: [{ place: `transfer-${open}@0` }] },
  })
  t.match(await command(['backup', 'target'], moved), {
    status: 1,
    stderr: /the backup was created, but the log does not verify/,
    result: { problems: [new RegExp(`^transfer-${open}@0: `)] },
  })
  t.equal(readdirSync(join(directory, 'target', 'sets')).length, 2)
}

t.test('every audit and operator command works with a log on EventStoreDB', async (t) => {
  await onServers(t, {})
})

t.test(
  'every command works with read models and keys on MongoDB',
  { skip: withoutMongodb, timeout: 120_000 },
  async (t) => {
    const READ_MODEL_URL = testDatabaseUrl(`safekeeping_${randomUUID().slice(0, 8)}`)
    t.teardown(async () => {
      const readModels = openMongodbReadModels({ url: READ_MODEL_URL })
      for (const name of await readModels.listCollections()) await readModels.drop(name)
      await readModels.close()
    })
    await onServers(t, { READ_MODEL_URL })
  },
)

t.test('refuses to restore a backup that the given key has not signed', async (t) => {
  const { directory, command, open, verifierKey } = await world(t, {})
  t.match(await command(['backup', 'target']), { status: 0 })
  const notesOf = async (...args: string[]) => {
    const { result, status, stderr } = await command(['restore', 'target', ...args])
    t.equal(status, 0, stderr)
    return (result as RestoreReport).notes.join(' ')
  }
  t.match(await notesOf('--to', 'plain'), /The log is what the master key has signed/)
  t.match(await notesOf('--to', 'signed', '--key', verifierKey), /The log is what --key has signed/)
  const kept = join('plain', 'audit', 'checkpoint')
  const wrongKey = ['--key', otherVerifierKey]
  for (const args of [wrongKey, [...wrongKey, '--checkpoint', kept]])
    t.match(await command(['restore', 'target', '--to', 'strange', ...args]), { status: 1, stderr: /signature by log/ })
  t.match(await command(['restore', 'target', '--to', 'strange', '--key', 'not-a-key']), { status: 2 })
  t.notOk(existsSync(join(directory, 'strange')))
  edit(join(directory, 'data'), open)
  for (const again of ['once', 'twice'])
    t.match(
      await command(['backup', 'target']),
      { status: 1, stderr: /created, but the log does not verify/, result: { problems: [RegExp(open)] } },
      again,
    )
  const problem = /The event has no valid authentication code\. To restore it nevertheless, add --unverified/
  t.match(await command(['restore', 'target', '--to', 'damaged']), { status: 1, stderr: problem })
  t.notOk(existsSync(join(directory, 'damaged')))
  t.match(
    await notesOf('--to', 'damaged', '--unverified'),
    /The log did not verify when it was backed up \(1 problem\)/,
  )
})
