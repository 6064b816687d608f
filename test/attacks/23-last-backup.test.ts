import { randomBytes } from 'node:crypto'
import { cpSync, existsSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import t, { type Test } from 'tap'
import { AuditTreeCommands } from '../../src/commands/integrity/audit-tree-commands.js'
import { MerchantCommands } from '../../src/commands/merchant/merchant-commands.js'
import { auditKeyOf, keepAuditKey, setAuditKeyAside, setTreeAside } from '../../src/operations/audit/audit-files.js'
import { readConfiguration } from '../../src/operations/configuration/configuration.js'
import { seal } from '../audit/integrity/sealed-log.js'
import { runCli } from '../cli/in-process.js'
import { merchantSettings } from '../support/merchant-requests.js'
import { temporaryDirectory } from '../support/processes.js'
import { openTestLog } from '../support/service-log.js'

const context = { actor: 'cli:grace', $correlationId: 'job-1', $causationId: 'job-1' }
const clock = () => new Date().toISOString()

/** A log whose tree is sealed and recorded, and a function that adds an event and seals it. */
async function world(t: Test) {
  const root = temporaryDirectory(t)
  const data = join(root, 'data')
  const stores = { EVENT_STORE_URL: `embedded:${data}`, READ_MODEL_URL: `embedded:${data}` }
  const environment = { ...stores, TRANSFERD_MASTER_KEY: randomBytes(32).toString('hex') }
  const grow = async () => {
    const { eventStore, rawEventStore, box, close } = await openTestLog(readConfiguration(environment))
    await new MerchantCommands(eventStore, clock, box).register(merchantSettings, context)
    const signer = (await auditKeyOf(data, rawEventStore, box))!
    await seal(rawEventStore, data, signer)
    keepAuditKey(data, box, signer)
    const [, size, head] = readFileSync(join(data, 'audit', 'checkpoint'), 'utf8').split('\n')
    const tree = new AuditTreeCommands(eventStore, clock)
    const { treeId } = (await tree.state())!
    await tree.execute({ type: 'RecordSeal', treeId, size: Number(size), root: head! }, context)
    await close()
  }
  await grow()
  const run = (...args: string[]) => runCli(root, args, environment)
  const kept = () => readFileSync(join(data, 'last-backup'), 'utf8').split('\n').slice(1).join('\n')
  const sizeKept = () => Number(kept().split('\n')[1])
  return { root, data, grow, run, kept, sizeKept }
}

t.test('no backup makes the file last-backup forget the newest checkpoint that it has seen', async (t) => {
  const { root, data, grow, run, kept, sizeKept } = await world(t)
  const early = join(root, 'early')
  cpSync(data, early, { recursive: true })
  t.match(await run('backup', 'target'), { status: 0 })
  const first = sizeKept()
  await grow()
  t.match(await run('backup', 'target'), { status: 0 })
  t.ok(sizeKept() > first, 'a newer checkpoint replaces it')
  const newest = kept()
  t.match(await run('events', 'save', 'events.db'), { status: 0 })
  t.equal(kept(), newest, 'the command events save has no checkpoint')

  // An attacker puts an earlier state of everything but this file back.
  const lastBackup = readFileSync(join(data, 'last-backup'))
  rmSync(data, { recursive: true })
  cpSync(early, data, { recursive: true })
  writeFileSync(join(data, 'last-backup'), lastBackup)
  await run('backup', 'target')
  t.equal(kept(), newest, 'nor does an earlier state of the log replace it')
  const { status, stdout } = await run('audit', 'verify')
  t.equal(status, 1)
  t.match(stdout, /the last backup/)

  t.match(await run('audit', 'restart-tree', '--reason', 'reviewed', '--yes'), { status: 0 })
  // The next start of the service does this.
  setTreeAside(join(data, 'audit'))
  setAuditKeyAside(data)
  await grow()
  t.match(await run('backup', 'target'), { status: 0 }, 'an earlier backup of the replaced tree is ignored')
  t.not(kept(), newest, 'the checkpoint of a new tree does')
})

t.test('a backup without the recorded tree or its key reports it, as a restore would reject it', async (t) => {
  const { root, data, run } = await world(t)
  for (const name of ['audit', 'audit.key']) {
    renameSync(join(data, name), join(root, name))
    const missing = name === 'audit' ? /audit\/checkpoint: The file is missing/ : /audit\.key: The file is missing/
    t.match(await run('backup', 'target'), { status: 1, stdout: missing }, name)
    t.match(await run('restore', 'target', '--to', 'restored'), { status: 1, stderr: /does not verify/ }, name)
    t.notOk(existsSync(join(root, 'restored')))
    renameSync(join(root, name), join(data, name))
  }
  t.match(await run('backup', 'target'), { status: 0 })
})
