import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { MerchantCommands } from '../../src/commands/merchant/merchant-commands.js'
import type { Withdrawal } from '../../src/domain/transfer/transfer.js'
import type { EventStore } from '../../src/event-store/event-store.js'
import { addMs, dayMs } from '../../src/kernel/time.js'
import { readConfiguration } from '../../src/operations/configuration/configuration.js'
import { openStores } from '../../src/operations/stores/stores.js'
import { runCli } from '../cli/in-process.js'
import { withdrawalRequest } from '../domain/transfer-samples.js'
import { signInAs } from '../support/dashboard.js'
import { long } from '../support/long.js'
import { createBody, paths, post } from '../support/merchant-requests.js'
import { cleanEnvironment, temporaryDirectory } from '../support/processes.js'
import { program } from '../support/program.js'
import { destroyTestService, startTestService } from '../support/test-service.js'
import { transferCommands } from '../support/transfer-commands.js'
import { until } from '../support/until.js'

const context = { actor: 'user:ada', $correlationId: 'c', $causationId: 'c' }
const lira = { code: 'TRY', decimals: 2 } as const
const lines = { format: 'csv', timeZone: 'UTC', repeat: undefined, underClaim: false } as const

t.test('a process that is killed while it produces a file leaves each withdrawal in at most one file', async (t) => {
  const directory = temporaryDirectory(t)
  const shop = ['--name', 'Shop', '--callback-url', 'https://shop.example/callback']
  const { stdout } = await runCli(directory, ['merchants', 'create', ...shop, '--json'])
  const { id: merchantId } = JSON.parse(stdout) as { readonly id: string }
  const data = `embedded:${directory}/data`
  const stores = await openStores(readConfiguration({ EVENT_STORE_URL: data, READ_MODEL_URL: data }))
  t.teardown(() => stores.close())
  const clock = () => new Date().toISOString()
  const merchants = new MerchantCommands(stores.eventStore, clock, stores.box)
  const transfers = transferCommands(stores.eventStore, clock, async (id) => (await merchants.find(id))?.settings)
  const withdrawal = async (referenceId: string) => {
    const created = await transfers.create({ ...withdrawalRequest, merchantId, referenceId }, context)
    if (!created.accepted) throw new Error(created.refusal.rule)
    return created.transfer.trackingId
  }
  const filesOf = async (trackingId: string) => {
    const found = (await transfers.find(trackingId))?.transfer
    return found?.kind === 'withdrawal' ? found.payout.files.map(({ messageId }) => messageId) : []
  }
  const killWhen: { readonly [when: string]: (out: string, trackingId: string) => Promise<boolean> } = {
    'the file is created': async (out) => existsSync(out),
    'the first record is in the log': async (_, trackingId) => (await filesOf(trackingId)).length > 0,
  }
  for (let round = 0; round < (long ? 12 : 1); round++) {
    for (const [when, isTime] of Object.entries(killWhen)) {
      const out = join(temporaryDirectory(t), 'batch.csv')
      const ids = await Promise.all([1, 2, 3].map((n) => withdrawal(`${round} ${when} ${n}`)))
      const command = ['transfers', 'bank-file', ...ids, '--format', 'csv', '--out', out, '--json']
      const child = spawn(process.execPath, [program, ...command], { cwd: directory, env: cleanEnvironment() })
      await until(() => isTime(out, ids[0]!))
      const ended = once(child, 'exit')
      child.kill('SIGKILL')
      await ended
      const recorded = await Promise.all(ids.map(filesOf))
      t.equal(new Set(recorded.map(String)).size, 1, `${when}: all withdrawals are in the same file, or in none`)
      t.ok(recorded.every(({ length }) => length <= 1))
      rmSync(out, { force: true })
      const repeat = await runCli(directory, command)
      t.match(repeat, recorded[0]!.length === 1 ? { status: 1, stderr: recorded[0]![0]! } : { status: 0 })
      t.ok((await Promise.all(ids.map(filesOf))).every(({ length }) => length === 1))
    }
  }
})

t.test('the withdrawals of a file that was never completed are listed as stuck, and can be finished', async (t) => {
  let now = '2026-11-21T10:00:00.000Z'
  let interrupted: 'after all records' | 'after the first record' | undefined
  const wrapStore = (store: EventStore): EventStore => ({
    ...store,
    async appendInOrder(appends, options) {
      if (!interrupted) return store.appendInOrder(appends, options)
      const records = appends.filter(({ events }) => events.length > 0)
      await store.appendInOrder(interrupted === 'after all records' ? records : records.slice(0, 1))
      throw new Error('killed')
    },
  })
  const service = await startTestService({ clock: () => now, wrapStore, projections: true })
  t.teardown(() => destroyTestService(service))
  const { app, transfers } = service
  const { secretKey, webApiKey } = await service.merchant()
  const withdrawal = async () => {
    const created = await post(app, paths.withdrawal, createBody('withdrawal', secretKey), { key: webApiKey })
    return String(created.json().result.trackingId)
  }
  const ids = [await withdrawal(), await withdrawal(), await withdrawal(), await withdrawal()]
  const produce = (trackingIds: readonly string[]) =>
    transfers.produceBankFile({ ...lines, trackingIds }, lira, context)
  interrupted = 'after all records'
  await t.rejects(produce(ids.slice(0, 2)), { message: 'killed' })
  interrupted = 'after the first record'
  await t.rejects(produce(ids.slice(2)), { message: 'killed' })
  interrupted = undefined
  const [inFiles, free] = [ids.slice(0, 3), ids[3]!]
  t.match(await produce(ids.slice(2)), { accepted: false, problems: [{ rule: 'in-bank-file' }] })
  t.match(await produce([free]), { accepted: true })
  await transfers.act(free, { type: 'Complete' }, context)

  now = addMs(now, dayMs + 1)
  const administrator = await signInAs(service, 'administrator')
  const stuck = async () => {
    const { items } = (await administrator.get('/operations/stuck')).json()
    return (items as { readonly trackingId: string; readonly reason: string }[]).map(
      ({ trackingId, reason }) => `${reason} ${trackingId}`,
    )
  }
  await until(async () => (await stuck()).length === 3)
  t.same((await stuck()).sort(), inFiles.map((id) => `in-bank-file ${id}`).sort())
  const overview = async () => (await administrator.get(`/overview?from=${addMs(now, -dayMs)}&to=${now}`)).json()
  t.match(await overview(), { inOldBankFiles: 3 })
  const { checks } = (await administrator.get('/operations/checks')).json()
  const check = { subject: 'in-bank-file', result: 'warning', found: /^3 withdrawals have been in a bank file/ }
  t.match(
    checks.filter(({ subject }: { readonly subject: string | null }) => subject === 'in-bank-file'),
    [check],
  )

  t.match(await transfers.act(ids[0]!, { type: 'Complete' }, context), { changed: true })
  t.match(await transfers.act(ids[1]!, { type: 'Release' }, context), { changed: true })
  const { transfer } = (await transfers.find(ids[2]!))!
  const { messageId } = (transfer as Withdrawal).payout.files.at(-1)!
  const repeat = { reason: 'killed', files: [messageId] }
  t.match(await transfers.produceBankFile({ ...lines, trackingIds: [ids[2]!], repeat }, lira, context), {
    accepted: true,
  })
  await until(async () => (await overview()).inOldBankFiles === 0)
  t.same(await stuck(), [`unpaid ${ids[1]!}`])
})
