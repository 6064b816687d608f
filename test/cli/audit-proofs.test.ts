import { copyFileSync, existsSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { generateSigner, parseSigner } from '@transferd/transparency-log'
import t from 'tap'
import { MerchantCommands } from '../../src/commands/merchant/merchant-commands.js'
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
const configuration = readConfiguration({
  EVENT_STORE_URL: `embedded:${join(directory, 'data')}`,
  AUDIT_ORIGIN: 'log.example/transferd',
})
const log = await openTestLog(configuration)
t.teardown(() => log.close())
const context = { actor: 'cli:grace', $correlationId: 'job-1', $causationId: 'job-1' }
const clock = () => new Date().toISOString()
const { id: merchantId } = await new MerchantCommands(log.eventStore, clock, log.box).register(
  merchantSettings,
  context,
)
const transfers = transferCommands(log.eventStore, clock, async () => merchantSettings)
const signer = (await auditKeyOf(configuration.dataDirectory, log.rawEventStore, log.box))!

const seal = () => sealLog(log.rawEventStore, configuration.audit.directory, signer)

async function deposit(referenceId: string): Promise<string> {
  const request = { ...depositRequest, merchantId, referenceId, amountMinor: 100_50n }
  const created = await transfers.create(request, { ...context, actor: `merchant:${merchantId}` })
  if (!created.accepted) throw new Error(created.refusal.rule)
  return created.transfer.trackingId
}

const first = await deposit('order-1')
const tooEarly = await runCli(directory, ['audit', 'prove', first, '--out', 'none'])
await seal()
copyFileSync(join(configuration.audit.directory, 'checkpoint'), join(directory, 'kept'))
await transfers.act(first, { type: 'Complete' }, context)
const second = await deposit('order-2')
await seal()
const third = await deposit('order-3')
await transfers.act(second, { type: 'Complete' }, context)
const key = (await runCli(directory, ['audit', 'key'])).stdout.trim()

t.test('a proof is verified with only its file and the key', async (t) => {
  const written = await cliJson(directory, 'audit', 'prove', first, '--out', 'first.json', '--from', 'kept')
  t.match(written, { file: 'first.json', trackingId: first, events: 2, notSealed: 0 })
  const actors = [`merchant:${merchantId}`, 'cli:grace'].map((actor) => ({ actor, actorName: actor }))
  t.match(written, { kind: 'deposit', referenceId: 'order-1', merchantId, merchantName: 'Shop', actors })
  const one = await cliJson(directory, 'audit', 'prove', first, '--out', 'revision.json', '--revision', '1')
  t.match(one, { kind: 'deposit', events: 1, actors: [{ actor: 'cli:grace' }] })
  const { stdout } = await runCli(directory, ['audit', 'prove', first, '--out', 'text.json'])
  const shown = stdout.replace(/\s+/g, ' ')
  t.match(shown, `text.json proves 2 events of the deposit ${first} at a tree size of`)
  t.match(
    shown,
    ` Reference order-1 Merchant Shop (${merchantId}) Actors Shop (merchant ${merchantId.slice(0, 8)}), grace`,
  )
  const otherDirectory = temporaryDirectory(t)
  for (const file of ['first.json', 'kept']) copyFileSync(join(directory, file), join(otherDirectory, file))
  const checked = await cliJson<{ continues: number; events: { index: number }[] }>(
    otherDirectory,
    'audit',
    'check',
    'first.json',
    '--key',
    key,
    '--checkpoint',
    'kept',
  )
  t.match(checked, {
    trackingId: first,
    origin: 'log.example/transferd',
    events: [
      { revision: 0, type: 'DepositCreated' },
      { revision: 1, type: 'TransferCompleted' },
    ],
  })
  const text = await runCli(otherDirectory, ['audit', 'check', 'first.json', '--key', key])
  t.equal(text.status, 0)
  const { checkpoint } = JSON.parse(readFileSync(join(directory, 'first.json'), 'utf8'))
  const [origin, size, root, , signature] = checkpoint.split('\n')
  // The events of the transfer are recorded by the clock of the machine.
  const fixed = text.stdout.replace(/\d{4}-\d\d-\d\d \d\d:\d\d:\d\d(\.\d{3})?Z/g, '<time>').replace(/ED +EV/, 'ED  EV')
  const [, keyId] = key.split('+')
  t.equal(
    fixed.replace(/\s+/g, ' '),
    [
      `The proof is valid. It proves 2 events (revisions 0 to 1) of the transfer ${first} in the log ${origin}.`,
      `The checkpoint has a tree size of ${size}, and is signed by the key ${origin}+${keyId}.`,
      'It is not older than the last of these events, recorded <time>.',
      `It proves that the log has only grown since a checkpoint of ${checked.continues} events.`,
      'No checkpoint that you kept was compared (--checkpoint).',
      'LEAF REVISION RECORDED EVENT',
      ...checked.events.map(({ index }, n) => `${index} ${n} <time> ${['Deposit created', 'Completed'][n]}`),
      `Checkpoint ${origin} ${size} ${root} ${signature} `,
    ].join(' '),
  )
  const lines = [origin, size, root, signature].map((line) => `  ${line}\n`)
  t.ok(text.stdout.endsWith(`\nCheckpoint\n${lines.join('')}`), text.stdout)
  t.notOk(existsSync(join(otherDirectory, 'data')), 'the check creates no data directory')
})

t.test('an invalid proof exits with status 1 and the reason, and wrong usage with status 2', async (t) => {
  const proof = readFileSync(join(directory, 'first.json'), 'utf8')
  writeFileSync(join(directory, 'changed.json'), proof.replace('10050', '10051'))
  const check = (file: string, ...more: string[]) => runCli(directory, ['audit', 'check', file, '--key', ...more])
  t.match(await check('changed.json', key), {
    status: 1,
    stdout: '',
    stderr: /Leaf \d+ is not in the tree of the checkpoint/,
  })
  const unknownSigner = parseSigner(generateSigner('log.example/transferd'))
  const { formatVerifier } = await import('@transferd/transparency-log')
  t.match(await check('first.json', formatVerifier(unknownSigner)), {
    status: 1,
    stderr: /has no signature by log\.example/,
  })
  t.match(await check('none.json', key), { status: 2, stderr: /none\.json cannot be read: ENOENT/ })
  t.match(await check('first.json', 'not-a-key'), { status: 2, stderr: /--key: / })
  await cliJson(directory, 'audit', 'prove', first, '--out', 'plain.json')
  t.match(await check('plain.json', key, '--checkpoint', 'kept'), { status: 1, stderr: /create it with --from/ })
})

t.test('a proof covers the newest checkpoint and never replaces a file', async (t) => {
  t.match(tooEarly, { status: 1, stderr: /no checkpoint yet/ })
  const partly = await runCli(directory, ['audit', 'prove', second, '--out', 'second.json'])
  t.match(partly, { status: 0, stderr: /1 newer event is not sealed yet/ })
  t.match(await runCli(directory, ['audit', 'prove', third, '--out', 'third.json']), {
    status: 1,
    stderr: /No checkpoint covers this transfer yet/,
  })
  t.notOk(existsSync(join(directory, 'third.json')))
  const before = readFileSync(join(directory, 'second.json'), 'utf8')
  t.match(await runCli(directory, ['audit', 'prove', second, '--out', 'second.json']), {
    status: 1,
    stderr: /already exists/,
  })
  t.match(await runCli(directory, ['audit', 'prove', second, '--out', 'none/x.json']), {
    status: 1,
    stderr: /none\/x\.json cannot be written/,
  })
  t.equal(readFileSync(join(directory, 'second.json'), 'utf8'), before)
  const unknown = '00000000-0000-5000-8000-000000000000'
  t.match(await runCli(directory, ['audit', 'prove', unknown, '--out', 'x.json']), {
    status: 1,
    stderr: /Transfer not found/,
  })
  const one = await cliJson(directory, 'audit', 'prove', first, '--out', 'one.json', '--revision', '1')
  t.match(one, { events: 1 })
  t.match(await runCli(directory, ['audit', 'prove', first, '--out', 'x.json', '--revision', '9']), {
    status: 1,
    stderr: /Event not found/,
  })
})
