import { createHash } from 'node:crypto'
import { existsSync, readFileSync, statSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { MerchantCommands } from '../../src/commands/merchant/merchant-commands.js'
import { addDays, targetDate, targetDayFrom } from '../../src/domain/target-days.js'
import { readConfiguration } from '../../src/operations/configuration/configuration.js'
import { openStores } from '../../src/operations/stores/stores.js'
import { runCli } from '../cli/in-process.js'
import { withdrawalRequest } from '../domain/transfer-samples.js'
import { temporaryDirectory } from '../support/processes.js'
import { transferCommands } from '../support/transfer-commands.js'

t.test('the command writes a file once, and another one only with --repeat-reason', async (t) => {
  const directory = temporaryDirectory(t)
  const environment = { CURRENCY: 'EUR' }
  const run = (...args: string[]) => runCli(directory, args, environment)
  const callback = ['--callback-url', 'https://shop.example/callback']
  const registered = await run('merchants', 'create', '--name', 'Shop', ...callback, '--json')
  const { id: merchantId } = JSON.parse(registered.stdout)
  const data = `embedded:${directory}/data`
  const stores = await openStores(readConfiguration({ EVENT_STORE_URL: data, READ_MODEL_URL: data, ...environment }))
  t.teardown(() => stores.close())
  const clock = () => new Date().toISOString()
  const merchants = new MerchantCommands(stores.eventStore, clock, stores.box)
  const transfers = transferCommands(stores.eventStore, clock, async (id) => (await merchants.find(id))?.settings)
  const ada = { actor: 'user:ada', $correlationId: 'c', $causationId: 'c' }
  const withdrawal = async (referenceId: string, accountNumber: string) => {
    const created = await transfers.create({ ...withdrawalRequest, merchantId, referenceId, accountNumber }, ada)
    if (!created.accepted) throw new Error(created.refusal.rule)
    return created.transfer.trackingId
  }
  const good = await withdrawal('good', 'DE89370400440532013000')
  const turkish = await withdrawal('turkish', 'TR330006100519786457841326')
  const claimed = await withdrawal('claimed', 'DE89370400440532013000')
  await transfers.act(claimed, { type: 'Claim' }, ada)
  const out = join(directory, 'batch.xml')
  const debtor = ['--debtor-name', 'Shop', '--debtor-iban', 'DE02120300000000202051']
  const write = (ids: string[], ...more: string[]) =>
    run('transfers', 'bank-file', ...ids, '--format', 'pain.001', '--out', out, ...more, '--json')

  const refused = await write([good, turkish, claimed], ...debtor)
  t.equal(refused.status, 1)
  t.match(refused.stderr, `${turkish}: SEPA payments cannot reach the country TR.`)
  t.match(refused.stderr, /user:ada has claimed the withdrawal until/)
  t.notOk(existsSync(out))
  t.match(await write([good]), { status: 1, stderr: /--debtor-name with --debtor-iban is required/ })

  const written = await write([good, turkish, claimed], ...debtor, '--leave-out')
  const { messageId, sha256, trackingIds, leftOut } = JSON.parse(written.stdout)
  t.same({ trackingIds, leftOut: leftOut.sort() }, { trackingIds: [good], leftOut: [claimed, turkish].sort() })
  t.equal(createHash('sha256').update(readFileSync(out)).digest('hex'), sha256)
  t.match(readFileSync(out, 'utf8'), `<MsgId>${messageId}</MsgId>`)
  t.equal(statSync(out).mode & 0o077, 0)
  t.match(await write([good], ...debtor), { status: 1, stderr: /file already exists/ }, 'overwrites no file')

  const other = join(directory, 'other.xml')
  const second = await write([good], ...debtor, '--out', other)
  t.match(second, { status: 1, stderr: new RegExp(`put the withdrawal into the bank file ${messageId}`) })
  const reason = ['--repeat-reason', 'the bank rejected it']
  t.match(await write([good], ...debtor, '--out', other, ...reason), { status: 2, stderr: /--earlier-file/ })
  // The bank returns the id in capitals.
  const seen = ['--earlier-file', messageId.toUpperCase()]
  t.equal((await write([good], ...debtor, '--out', other, ...reason, ...seen)).status, 0)
  t.match(await transfers.act(good, { type: 'Claim' }, ada), { refusal: { rule: 'held-in-bank-file' } })
  t.match(await run('transfers', 'release', good, '--json'), { status: 0, stdout: /"changed":true/ })
  t.match(await transfers.act(good, { type: 'Claim' }, ada), { changed: true })

  const third = join(directory, 'third.xml')
  const sepa = (ids: string[], ...more: string[]) => write(ids, ...debtor, '--out', third, ...more)
  const unreadable = await withdrawal('\u00a8', 'DE89370400440532013000')
  const qr = await withdrawal('qr', 'CH4431999123000889012')
  const british = await withdrawal('british', 'GB82WEST12345698765432')
  t.match(await sepa([unreadable, qr]), { status: 1, stderr: `${qr}: SEPA payments cannot use a QR-IBAN.` })
  for (const [date, status, problem] of [
    ['2026-02-30', 2, '--date'],
    ['2020-01-02', 1, '--date must not be in the past. The next possible day is'],
    ['9999-01-04', 1, '--date must be'],
    [nextSaturday(), 1, '--date must be a day on which banks make SEPA payments'],
  ] as const)
    t.match(await sepa([unreadable], '--date', date), { status, stderr: problem }, date)
  t.match(await sepa([unreadable], '--format', 'csv', '--date', nextSaturday()), {
    status: 2,
    stderr: '--date requires',
  })
  t.match(await sepa([unreadable, british]), {
    status: 1,
    stderr: '--debtor-town is required, because payments from or to accounts in GB need the address of the payer.',
  })
  const files = await Promise.all([unreadable, qr, british].map(async (id) => (await transfers.find(id))!.revision))
  t.same(files, [0, 0, 0], 'nothing is recorded')
  const address = ['--debtor-town', 'Köln', '--debtor-country', 'de']
  const paid = await sepa([unreadable, qr, british], ...address, '--leave-out')
  t.match(JSON.parse(paid.stdout), { leftOut: [qr], date: targetDayFrom(targetDate(clock())) })
  const text = readFileSync(third, 'utf8')
  t.match(text, `<Ustrd>${unreadable}</Ustrd>`)
  t.match(text, '<PstlAdr><TwnNm>Koln</TwnNm><Ctry>DE</Ctry></PstlAdr>')
})

function nextSaturday(): string {
  const today = targetDate(new Date().toISOString())
  return addDays(today, 6 - new Date(today).getUTCDay())
}
