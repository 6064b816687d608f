import { createHash } from 'node:crypto'
import { copyFileSync, existsSync, readFileSync, writeFileSync } from 'node:fs'
import { userInfo } from 'node:os'
import { join } from 'node:path'
import t from 'tap'
import type { Evidence } from '../../src/audit/evidence/evidence.js'
import { fileIn } from '../../src/audit/evidence/zip.js'
import { EvidenceCommands } from '../../src/commands/integrity/evidence-commands.js'
import { MerchantCommands } from '../../src/commands/merchant/merchant-commands.js'
import { evidenceStream } from '../../src/domain/streams.js'
import { auditKeyOf } from '../../src/operations/audit/audit-files.js'
import { readConfiguration } from '../../src/operations/configuration/configuration.js'
import { depositRequest } from '../domain/transfer-samples.js'
import { merchantSettings } from '../support/merchant-requests.js'
import { temporaryDirectory } from '../support/processes.js'
import { sealLog } from '../support/seal-log.js'
import { openTestLog } from '../support/service-log.js'
import { transferCommands } from '../support/transfer-commands.js'
import { cliJson, runCli } from './in-process.js'

const directory = temporaryDirectory(t)
const configuration = readConfiguration({ EVENT_STORE_URL: `embedded:${join(directory, 'data')}` })
const log = await openTestLog(configuration)
t.teardown(() => log.close())
const clock = () => new Date().toISOString()
/** A colleague of the person who runs the commands, whose actor is the login. */
const grace = { actor: 'cli:grace', $correlationId: 'job-1', $causationId: 'job-1' }
const login = `cli:${userInfo().username}`
const merchants = new MerchantCommands(log.eventStore, clock, log.box)
const { id: merchantId } = await merchants.register(merchantSettings, grace)
const transfers = transferCommands(log.eventStore, clock, async () => merchantSettings)
const commands = new EvidenceCommands(log.eventStore, clock)
const signer = (await auditKeyOf(configuration.dataDirectory, log.rawEventStore, log.box))!
const seal = () => sealLog(log.rawEventStore, configuration.audit.directory, signer)

async function deposit(referenceId: string): Promise<string> {
  const created = await transfers.create({ ...depositRequest, merchantId, referenceId }, grace)
  if (!created.accepted) throw new Error(created.refusal.rule)
  return created.transfer.trackingId
}

const [first, second] = [await deposit('order-1'), await deposit('order-2')]
await seal()
copyFileSync(join(configuration.audit.directory, 'checkpoint'), join(directory, 'kept'))
const kept = readFileSync(join(directory, 'kept'), 'utf8')

const cli = (...args: string[]) => runCli(directory, ['audit', ...args])
const recorded = (trackingId: string) => log.eventStore.readStream(evidenceStream(trackingId))
const fileOf = (name: string) => readFileSync(join(directory, name))
const evidenceOf = (name: string): Evidence => JSON.parse(fileIn(fileOf(name), 'evidence.json').toString())

interface Made {
  readonly sha256: string
  readonly treeSize: number
}
interface Shown {
  readonly requestId: string
}

t.test('writes a package, which is recorded with its SHA-256', async (t) => {
  const made = await cliJson<Made>(directory, 'audit', 'evidence', first, '--out', 'first.zip')
  const { events, checkpoint } = evidenceOf('first.zip')
  const { treeSize, sha256 } = made
  t.equal(sha256, createHash('sha256').update(fileOf('first.zip')).digest('hex'))
  const counts = { events: events.length, treeSize, notSealed: 0 }
  t.strictSame(made, { file: 'first.zip', trackingId: first, sha256, ...counts, disclosed: [] })
  t.equal(checkpoint, kept)
  const [event] = await recorded(first)
  t.match(event, { type: 'EvidencePackageCreated', metadata: { actor: login } })
  t.match(event?.data, { requestId: null, sha256, events: events.length, treeSize, by: login })
  const { stdout } = await cli('evidence', first, '--out', 'text.zip')
  const shown = stdout.replace(/\s+/g, ' ')
  t.match(shown, `text.zip proves ${events.length} events about the transfer ${first} at a tree size of `)
  t.match(shown, 'and discloses no personal data. SHA-256 ')
  t.match(stdout, /\nSHA-256 {2}[0-9a-f]{64}\n$/)
})

t.test('a rejected package is neither recorded nor written', async (t) => {
  const unsealed = await deposit('order-3')
  writeFileSync(join(directory, 'taken.zip'), 'mine')
  writeFileSync(join(directory, 'text'), 'text')
  const before = await recorded(second)
  for (const [args, status, stderr] of [
    [[second, '--out', 'taken.zip'], 1, /taken\.zip already exists/],
    [[second, '--out', 'new.zip', '--from', 'none.zip'], 2, /none\.zip .*ENOENT/],
    [[second, '--out', 'new.zip', '--from', 'taken.zip'], 2, /taken\.zip is not an evidence package/],
    [[second, '--out', 'new.zip', '--from', 'text'], 2, /text is not a checkpoint/],
    [[second, '--out', 'new.zip', '--disclose', 'password'], 2, /Unknown: password/],
    [[second, '--out', 'new.zip', '--disclose', 'name'], 1, /Another person must first approve/],
    [[unsealed, '--out', 'new.zip'], 1, /No checkpoint covers this transfer yet/],
    [['00000000-0000-5000-8000-000000000000', '--out', 'new.zip'], 1, /Transfer not found/],
  ] as const) {
    t.match(await cli('evidence', ...args), { status, stdout: '', stderr }, args.join(' '))
    t.notOk(existsSync(join(directory, 'new.zip')), args.join(' '))
  }
  t.strictSame(await recorded(second), before)
  t.equal(fileOf('taken.zip').toString(), 'mine')
})

t.test('proves that the log has only grown since an earlier package or checkpoint', async (t) => {
  await cliJson(directory, 'audit', 'evidence', second, '--out', 'earlier.zip')
  await transfers.act(second, { type: 'Complete' }, grace)
  const partly = await cli('evidence', second, '--out', 'partly.zip')
  t.match(partly, { status: 0, stderr: /1 newer event is not sealed yet/ })
  await seal()
  for (const from of ['earlier.zip', 'kept']) {
    await cliJson(directory, 'audit', 'evidence', second, '--out', `after-${from}`, '--from', from)
    const { older, checkpoint } = evidenceOf(`after-${from}`)
    t.equal(older?.checkpoint, kept)
    t.not(checkpoint, kept)
  }
  t.equal(evidenceOf('partly.zip').older, undefined)
})

t.test('discloses only what another person approved', async (t) => {
  const disclosure = (...args: string[]) => cliJson<Shown>(directory, 'audit', 'disclosure', ...args)
  const unknown = 'Request to disclose personal data not found.'
  t.match(await cli('disclosure', 'show', first), { status: 1, stderr: unknown })
  const asked = ['--disclose', 'name,username', '--reason', 'audit of November']
  const { requestId, ...open } = await disclosure('request', first, ...asked)
  t.match(open, {
    ...{ trackingId: first, disclose: ['name', 'username'], reason: 'audit of November', by: login, byName: login },
    ...{ state: 'open', decidedBy: null, decidedByName: null, decidedAt: null, isInForce: false },
  })
  t.equal((await disclosure('request', first, ...asked)).requestId, requestId, 'a repeat changes nothing')
  const own = await cli('disclosure', 'approve', first, requestId, '--json')
  t.match([own.status, JSON.parse(own.stderr)], [1, { error: { code: 'disclosure-four-eyes' } }])
  for (const other of [requestId.slice(0, 7), '00000000', '1'.repeat(64)])
    t.match(await cli('disclosure', 'approve', first, other), { status: 1, stderr: unknown }, other)
  const tooEarly = ['evidence', first, '--out', 'disclosed.zip', '--disclose']
  t.match(await cli(...tooEarly, 'name'), { status: 1, stderr: /Another person must first approve/ })
  t.ok((await commands.decide(first, requestId, 'Approve', grace)).accepted)
  t.match(await disclosure('show', first), { state: 'approved', decidedBy: 'cli:grace', isInForce: true })
  t.match(await cli(...tooEarly, 'name,account'), { status: 1, stderr: /Another person must first approve/ })
  const written = await cli(...tooEarly, 'name')
  t.match(written.stdout.replace(/\s+/g, ' '), 'and discloses name. SHA-256 ')
  const fields = evidenceOf('disclosed.zip').disclosed.flatMap((each) => each.fields)
  const found = fields.map(({ field, value }) => [field, JSON.parse(value)])
  t.strictSame(found, [['name', depositRequest.name]], 'less than the approval')
  t.match((await recorded(first)).at(-1)?.data, { requestId, by: login })
})

t.test('shows a request with people by name and times with seconds', async (t) => {
  await commands.request(second, ['account'], 'court order 2026/118', grace)
  const { requestId } = (await commands.disclosure(second))!
  const time = '\\d{4}-\\d\\d-\\d\\d \\d\\d:\\d\\d:\\d\\dZ'
  const text = (...state: string[]) =>
    new RegExp(
      [
        ...[`^Tracking ID +${second}`, `Request ID +${requestId}`, 'Disclose +account', 'Reason +court order 2026/118'],
        ...['Requested by +grace \\(command line\\)', `Requested at +${time}`, ...state, '$'],
      ].join('\n'),
    )
  const open = text('State +open', 'Decided by +-', 'Decided at +-', 'In force +no')
  t.match((await cli('disclosure', 'show', second)).stdout, open)
  const me = `${userInfo().username} \\(command line\\)`
  const decided = (state: string, inForce: string) =>
    text(`State +${state}`, `Decided by +${me}`, `Decided at +${time}`, `In force +${inForce}`)
  const short = requestId.slice(0, 8).toUpperCase()
  t.match((await cli('disclosure', 'approve', second, short)).stdout, decided('approved', 'yes'))
  t.match(await cli('disclosure', 'reject', second, requestId), {
    status: 1,
    stderr: /The request was already approved or rejected/,
  })
  await cliJson(directory, 'audit', 'disclosure', 'request', second, '--disclose', 'name', '--reason', 'a mistake')
  const { requestId: mine } = await cliJson<Shown>(directory, 'audit', 'disclosure', 'show', second)
  const rejected = await cliJson(directory, 'audit', 'disclosure', 'reject', second, mine)
  t.match(rejected, { state: 'rejected', by: login, decidedBy: login }, 'also by the person who made it')
})

t.test('a request needs a transfer and a reason', async (t) => {
  const request = (trackingId: string, reason: string) =>
    cli('disclosure', 'request', trackingId, '--disclose', 'name', '--reason', reason)
  t.match(await request('00000000-0000-5000-8000-000000000000', 'a'), { status: 1, stderr: /Transfer not found/ })
  for (const reason of ['', ' ', 'a\u202eb']) t.equal((await request(first, reason)).status, 2, JSON.stringify(reason))
})
