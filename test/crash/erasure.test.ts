import { spawn } from 'node:child_process'
import { once } from 'node:events'
import t from 'tap'
import type { PrivacyStatus } from '../../src/privacy/privacy-status.js'
import { cliJson, runCli } from '../cli/in-process.js'
import { depositRequest } from '../domain/transfer-samples.js'
import { wholeLog } from '../support/expected-documents.js'
import { long } from '../support/long.js'
import { merchantSettings } from '../support/merchant-requests.js'
import { temporaryDirectory } from '../support/processes.js'
import { program } from '../support/program.js'
import { openServiceLog } from '../support/service-log.js'
import { transferCommands } from '../support/transfer-commands.js'

const kills = long ? 8 : 2
const transfersEach = 60
const context = { actor: 'test', $correlationId: 'test', $causationId: 'test' }

t.test(`the next command completes a killed erasure, in ${kills} rounds`, { timeout: 240_000 }, async (t) => {
  const directory = temporaryDirectory(t)
  const merchant = ['--name', 'Killed', '--callback-url', 'http://127.0.0.1:9/', '--sandbox']
  const { id: merchantId } = await cliJson<{ id: string }>(directory, 'merchants', 'create', ...merchant)
  const store = await openServiceLog(directory)
  t.teardown(() => store.close())
  const transfers = transferCommands(
    store,
    () => new Date().toISOString(),
    async () => merchantSettings,
  )
  const create = async (userId: string, referenceId: string) => {
    const customer = { userId, name: `name of ${userId}`, username: userId }
    const created = await transfers.create({ ...depositRequest, merchantId, referenceId, ...customer }, context)
    if (!created.accepted) throw new Error(created.refusal.rule)
    const { trackingId } = created.transfer
    await transfers.act(trackingId, { type: 'Cancel', message: null }, context)
    return trackingId
  }

  let killed = 0
  for (let round = 0; round < kills; round++) {
    const userId = `customer-${round}`
    const ids = await Promise.all(Array.from({ length: transfersEach }, (_, n) => create(userId, `${userId}-${n}`)))
    const countErasures = async () => {
      const log = await wholeLog(store)
      return log.filter(({ type }) => type === 'PersonalDataErased' || type === 'CustomerErased').length
    }
    const before = await countErasures()
    const erase = ['privacy', 'erase', merchantId, userId, '--reason', 'asked', '--yes']
    const child = spawn(process.execPath, [program, ...erase], { cwd: directory, env: {}, stdio: 'ignore' })
    const ended = once(child, 'exit')
    // Even rounds kill the process after the decision, before the key is deleted. Odd rounds kill it between the events.
    while ((await countErasures()) - before <= (round % 2) * 20 && child.exitCode === null)
      await new Promise(setImmediate)
    child.kill('SIGKILL')
    const [, signal] = (await ended) as [number | null, NodeJS.Signals | null]
    if (signal === 'SIGKILL') killed++

    t.equal((await runCli(directory, ['privacy', 'compact'])).status, 0)
    const types = await Promise.all(
      ids.map(async (id) => (await store.readStream(`transfer-${id}`)).map(({ type }) => type)),
    )
    const whole = ['DepositCreated', 'TransferCancelled', 'PersonalDataErased']
    t.strictSame(
      types,
      ids.map(() => whole),
      'each transfer has one erasure event',
    )
    const names = (await wholeLog(store)).map(({ data }) => data.name).filter((name) => name === `name of ${userId}`)
    t.strictSame(names, [], 'a process that had opened the key can no longer read the name')
    t.equal((await runCli(directory, ['audit', 'reconcile'])).status, 0, 'the lists match the log')
  }
  t.equal(killed, kills, 'each erasure is killed before it ends')
  const status = await cliJson<PrivacyStatus>(directory, 'privacy', 'status')
  t.match(status, { customers: 0, erasures: kills, keysToDestroy: 0 })
})
