import { existsSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import t, { type Test } from 'tap'
import { integrityStream } from '../../src/domain/streams.js'
import { auditKeyOf } from '../../src/operations/audit/audit-files.js'
import type { RestoreReport } from '../../src/operations/backup/backup-commands.js'
import { readConfiguration } from '../../src/operations/configuration/configuration.js'
import { openStores } from '../../src/operations/stores/stores.js'
import { seal } from '../audit/integrity/sealed-log.js'
import { runCli } from '../cli/in-process.js'
import { signInAs } from '../support/dashboard.js'
import { createBody, merchantSettings, paths, post } from '../support/merchant-requests.js'
import { temporaryDirectory } from '../support/processes.js'
import { openTestLog } from '../support/service-log.js'
import { startTestService, type TestService } from '../support/test-service.js'
import { transferCommands } from '../support/transfer-commands.js'
import { until } from '../support/until.js'

const context = { actor: 'cli:root', $correlationId: 'c', $causationId: 'c' }
const ada = { ...context, actor: 'user:ada' }
const iban = 'DE89370400440532013000'

async function start(t: Test, path: string, masterKey?: Buffer): Promise<TestService> {
  const service = await startTestService({ path, projections: true, ...(masterKey && { masterKey }) })
  t.teardown(() => service.stop())
  return service
}

async function withdraw({ app }: TestService, { secretKey, webApiKey }: { secretKey: string; webApiKey: string }) {
  const body = createBody('withdrawal', secretKey, { accountNumber: iban })
  return (await post(app, paths.withdrawal, body, { key: webApiKey })).json().result.trackingId as string
}

/** A service that paid a withdrawal after its backup, and the directory that was restored from the backup. */
async function world(t: Test, others = 0) {
  const root = temporaryDirectory(t)
  const [data, to] = [join(root, 'data'), join(root, 'restored')]
  const before = await start(t, data)
  const { app, transfers, masterKey } = before
  const environmentOf = (path: string) => ({
    ...{ EVENT_STORE_URL: `embedded:${path}`, READ_MODEL_URL: `embedded:${path}` },
    TRANSFERD_MASTER_KEY: masterKey.toString('hex'),
  })
  const run = (path: string, ...args: string[]) => runCli(root, args, environmentOf(path))
  const json = async (path: string, ...args: string[]) => {
    const { status, stdout, stderr } = await run(path, ...args, '--json')
    return { status, stderr, result: stdout === '' ? undefined : JSON.parse(stdout) }
  }
  const open = (path: string) => openTestLog(readConfiguration(environmentOf(path)))
  const sealAll = async () => {
    const { rawEventStore, box, close } = await open(data)
    await seal(rawEventStore, data, (await auditKeyOf(data, rawEventStore, box))!)
    await close()
  }
  const merchant = await before.merchant({ approvalAboveMinor: null })
  const create = () => withdraw(before, merchant)
  const file = (trackingId: string, actor: typeof ada) =>
    transfers.produceBankFile(
      { format: 'csv', trackingIds: [trackingId], debtor: undefined, timeZone: 'UTC', underClaim: false },
      { code: 'TRY', decimals: 2 },
      actor,
    )
  const deposit = await post(app, paths.native, createBody('native', merchant.secretKey), { key: merchant.webApiKey })
  const [paid, pending, claimed, inFile, manual, completed, cancelled] = [
    await create(),
    await create(),
    await create(),
    await create(),
    await create(),
    await create(),
    await create(),
  ] as const
  const payable = [paid, pending, claimed, inFile, manual]
  for (let n = 0; n < others; n++) payable.push(await create())
  await transfers.act(claimed, { type: 'Claim' }, ada)
  await file(inFile, ada)
  await transfers.act(manual, { type: 'SendToManualControl', message: null }, context)
  await transfers.act(completed, { type: 'Complete' }, context)
  await sealAll()
  // The log of the backup goes beyond the checkpoint of the backup.
  await transfers.act(cancelled, { type: 'Cancel', message: null }, context)
  t.match(await json(data, 'backup', 'target'), { status: 0 })

  await transfers.act(paid, { type: 'Claim' }, ada)
  t.match(await file(paid, ada), { accepted: true })
  t.match(await transfers.act(paid, { type: 'Complete' }, ada), { accepted: true, changed: true })
  await sealAll()
  const checkpoint = join(root, 'kept-checkpoint')
  writeFileSync(checkpoint, readFileSync(join(data, 'audit', 'checkpoint')))
  // A merchant created this one after the backup, so the restore loses it.
  const lostBody = createBody('withdrawal', merchant.secretKey, { accountNumber: iban })
  const lost = (await post(app, paths.withdrawal, lostBody, { key: merchant.webApiKey })).json().result.trackingId
  await before.stop()
  const ids = { paid, pending, claimed, inFile, manual, deposit: deposit.json().result.trackingId as string }
  return { root, data, to, merchant, masterKey, run, json, open, checkpoint, payable, lost, lostBody, ...ids }
}

/** Returns the restores that the log records. */
async function recordedIn(open: ReturnType<typeof world> extends Promise<infer W> ? W : never, path: string) {
  const { eventStore, close } = await open.open(path)
  const events = await eventStore.readStream(integrityStream)
  await close()
  return events.filter(({ type }) => type === 'LogRestored').map(({ data, metadata }) => ({ data, by: metadata.actor }))
}

t.test('a restore lists the withdrawals that were payable at the end of the backup', async (t) => {
  const { to, data, run, json, checkpoint, payable, inFile, claimed } = await world(t, 16)
  const { status, result } = await json(data, 'restore', 'target', '--to', to, '--checkpoint', checkpoint)
  t.equal(status, 0)
  const report = result as RestoreReport
  t.equal(report.lostEvents, 3, 'counts the claim, the bank file and the completion')
  t.same(report.payable?.withdrawals.map(({ trackingId }) => trackingId).sort(), [...payable].sort())
  t.match(report.payable, { count: 21, sum: 2110.5, currency: 'TRY', unreadable: [] })
  const found = (id: string) => report.payable?.withdrawals.find(({ trackingId }) => trackingId === id)
  t.match(found(inFile), { status: 'Pending', amount: 100.5, claimedBy: 'user:ada', bankFile: /^[0-9a-f]{32}$/ })
  t.match(found(claimed), { claimedBy: 'user:ada', bankFile: null, createdAt: /Z$/ })
  t.match(report.notes.join(' '), /The backup was created \d+ seconds? before this restore\./)
  t.match(report.notes.join(' '), /Payouts are stopped from the start on/)
  const { stdout } = await run(data, 'restore', 'target', '--to', `${to}-2`)
  t.match(stdout, /Payable at the end of the backup: 21 withdrawals, 2110\.50 TRY\./)
  for (const id of payable.slice(0, 20)) t.match(stdout, id.slice(0, 8))
  t.notMatch(stdout, payable.at(-1)!.slice(0, 8))
  t.match(stdout, /The first 20 of 21: --json lists all of them\./)
  t.notMatch(stdout, iban, 'shows no personal data')
})

t.test('nothing can be paid from a restored log before its first start', async (t) => {
  const restored = await world(t)
  const { to, data, run, json, paid, pending } = restored
  await json(data, 'restore', 'target', '--to', to)
  for (const args of [
    ['transfers', 'complete', paid],
    ['transfers', 'bank-file', paid, pending, '--format', 'csv', '--out', 'again.csv'],
  ])
    t.match(await run(to, ...args), { status: 1, stderr: /Payouts are stopped/ }, args.join(' '))
  // These programs have no master key, so they cannot record the restore for the services that use them.
  for (const args of [
    ['events', 'copy', '--from', `embedded:${to}`, '--to', `embedded:${to}-copy`],
    ['events', 'serve-grpc', '--data', to, '--port', '0', '--insecure'],
  ])
    t.match(
      await run(to, ...args),
      { status: 1, stderr: /was restored from a backup: start the service/ },
      args.join(' '),
    )
  t.match((await json(to, 'payouts', 'status')).result, {
    stoppedSince: /Z$/,
    restored: { backupCreatedAt: /Z$/, restoredAt: /Z$/, events: /^\d+$/, lastEventAt: /Z$/, lostEvents: null },
  })
  t.equal((await recordedIn(restored, to)).length, 1)
})

t.test('a restored withdrawal is paid by no path until an administrator resumes payouts', async (t) => {
  const restored = await world(t)
  const { to, data, json, checkpoint, masterKey, merchant, payable, paid, pending, inFile, claimed, manual } = restored
  await json(data, 'restore', 'target', '--to', to, '--checkpoint', checkpoint)
  const service = await start(t, to, masterKey)
  const { transfers, merchants, app, directory } = service
  t.notOk(existsSync(join(to, 'restored')))
  const operator = await signInAs(service, 'operator', [merchant.id])
  const administrator = await signInAs(service, 'administrator')
  const refused = { error: { code: 40927 } }
  for (const id of payable) {
    const { revision, actions } = (await operator.get(`/transfers/${id}`)).json()
    t.notOk(actions.includes('claim') || actions.includes('complete'))
    for (const action of ['claim', 'complete'])
      t.match((await operator.post(`/transfers/${id}/${action}`, { revision })).json(), refused, action)
    const items = [{ trackingId: id, revision }]
    const bulk = { claim: { items }, complete: { items, manualControl: true } }
    for (const [path, body] of Object.entries(bulk))
      t.match((await operator.post(`/withdrawals/${path}`, body)).json(), { items: [refused] }, path)
    const file = { format: 'csv', trackingIds: [id], manualControl: true }
    t.match((await operator.post('/withdrawals/bank-file', file)).json(), refused)
  }
  const approver = await signInAs(service, 'approver', [merchant.id])
  t.match((await approver.post(`/transfers/${pending}/approve`, { revision: 0 })).json(), refused)
  const key = await merchants.createApiKey(
    merchant.id,
    { name: 'settlement', scopes: ['settlement'], validUntil: null },
    context,
  )
  if (!key.accepted) throw new Error('the key was rejected')
  await service.until(() => directory.byApiKey(key.webApiKey) !== undefined)
  const v1 = await post(app, `/v1/withdrawals/${pending}/claim`, '{"revision":0}', { key: key.webApiKey })
  t.match(v1.json(), refused)
  t.match(await json(to, 'transfers', 'complete', paid), { status: 1, stderr: /Payouts are stopped/ })

  const shown = (await administrator.get('/audit/integrity')).json().payoutsStopped
  t.match(shown.restored, { backupCreatedAt: /Z$/, restoredAt: /Z$/, lostEvents: 3 })
  const repeated = await post(app, paths.withdrawal, restored.lostBody, { key: merchant.webApiKey })
  t.equal(repeated.json().result.trackingId, restored.lost, 'a repeated create gets the same trackingId')
  const listed = async () => {
    const pages = await Promise.all(
      ['Pending', 'ManualControl'].map((status) =>
        operator.get(`/transfers?kind=withdrawal&status=${status}&to=${shown.restored.at}`),
      ),
    )
    return pages.flatMap((page) => page.json().items.map((each: { trackingId: string }) => each.trackingId))
  }
  await until(async () => (await listed()).length >= payable.length)
  t.same((await listed()).sort(), [...payable].sort(), 'lists none that was created after the restore')
  const details = await app.inject({ url: '/health/ready' })
  t.match(details.body, /the log was restored from the backup of /)

  // The bank's statement shows that `paid` was paid.
  const message = ['--message', 'paid on 22 November according to the statement']
  t.match(await json(to, 'transfers', 'manual', paid, ...message), { status: 0, result: { changed: true } })
  t.match(await json(to, 'transfers', 'manual', inFile, ...message), {
    status: 1,
    stderr: /user:ada holds the withdrawal/,
  })
  t.match(await json(to, 'transfers', 'release', inFile), { status: 0 })
  t.match(await json(to, 'transfers', 'manual', inFile, ...message), { status: 0 })
  const resume = (revision: number) => administrator.post('/audit/resume-payouts', { reason: 'compared', revision })
  t.match((await resume(shown.revision)).json(), { changed: true })
  t.equal((await administrator.get('/audit/integrity')).json().payoutsStopped, null)
  const everything = { format: 'csv', trackingIds: [paid, pending, inFile, manual] }
  t.match((await operator.post('/withdrawals/bank-file', everything)).json().error.validationErrors, [
    { rule: 'in-manual-control' },
    { rule: 'in-manual-control' },
    { rule: 'in-manual-control' },
  ])
  const items = [{ trackingId: paid, revision: (await transfers.find(paid))!.revision }]
  t.match((await operator.post('/withdrawals/complete', { items })).json().items, [
    { error: { rule: 'in-manual-control' } },
  ])
  t.match(await json(to, 'transfers', 'complete', paid), { status: 0, result: { statusDescription: 'Completed' } })
  t.match(await transfers.act(claimed, { type: 'Release' }, context), { changed: true })
  t.match(await transfers.act(claimed, { type: 'Claim' }, ada), { accepted: true, changed: true })

  await service.stop()
  const again = await start(t, to, masterKey)
  t.equal(await again.transfers.arePayoutsStopped(), false, 'a later start does not stop payouts')
  await again.stop()
  t.match(await recordedIn(restored, to), [{ by: 'system:restore' }])
})

t.test('a start that is killed before it removes the mark records the restore once', async (t) => {
  const restored = await world(t)
  const { to, data, json, masterKey } = restored
  await json(data, 'restore', 'target', '--to', to)
  const configuration = readConfiguration({
    ...{ EVENT_STORE_URL: `embedded:${to}`, READ_MODEL_URL: `embedded:${to}` },
    TRANSFERD_MASTER_KEY: masterKey.toString('hex'),
  })
  for (let kill = 0; kill < 2; kill++) await (await openStores(configuration)).close()
  t.ok(existsSync(join(to, 'restored')))
  const { revision } = (await json(to, 'payouts', 'status')).result
  t.match(await json(to, 'payouts', 'resume', '--reason', 'compared', '--revision', String(revision)), { status: 0 })
  const service = await start(t, to, masterKey)
  t.notOk(existsSync(join(to, 'restored')))
  t.equal(await service.transfers.arePayoutsStopped(), false, 'resumed payouts stay resumed')
  await service.stop()
  t.equal((await recordedIn(restored, to)).length, 1)
})

t.test('an empty file that an operator creates stops payouts once too', async (t) => {
  const restored = await world(t)
  const { data, json, open, pending } = restored
  writeFileSync(join(data, 'restored'), '')
  const { eventStore, close } = await open(data)
  const transfers = transferCommands(
    eventStore,
    () => new Date().toISOString(),
    async () => merchantSettings,
  )
  t.match(await transfers.act(pending, { type: 'Claim' }, ada), { refusal: { rule: 'payouts-stopped' } })
  await close()
  const unknown = { backupCreatedAt: null, restoredAt: null, events: null, lastEventAt: null, lostEvents: null }
  t.match(await recordedIn(restored, data), [{ data: unknown }])
  t.match((await json(data, 'payouts', 'status')).result, { restored: unknown })
})
