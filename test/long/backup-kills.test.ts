import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { copyFileSync, existsSync, readdirSync, statSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { openEventLog } from '@transferd/event-log'
import t from 'tap'
import type { BackUpReport, RestoreReport } from '../../src/operations/backup/backup-commands.js'
import { openEmbeddedReadModels } from '../../src/read-models/embedded/embedded-read-models.js'
import { wholeLog } from '../support/expected-documents.js'
import { type Credentials, createDeposit } from '../support/merchant-client.js'
import { cliJson, runCli, startServiceProcess, temporaryDirectory } from '../support/processes.js'
import { program } from '../support/program.js'

t.setTimeout(240_000)

const kills = 4

/** Kills a command when the condition becomes true. Returns false if the command ended before. */
async function killWhen(directory: string, args: readonly string[], reached: () => boolean): Promise<boolean> {
  const child: ChildProcess = spawn(process.execPath, [program, ...args], {
    cwd: directory,
    env: { PATH: process.env.PATH },
    stdio: 'ignore',
  })
  const ended = once(child, 'exit')
  while (!reached() && child.exitCode === null) await new Promise((resolve) => setTimeout(resolve, 1))
  child.kill('SIGKILL')
  const [, signal] = (await ended) as [number | null, NodeJS.Signals | null]
  return signal === 'SIGKILL'
}

function countBelow(directory: string): number {
  return existsSync(directory) ? readdirSync(directory, { recursive: true }).length : 0
}

t.test(
  'a killed backup or restore loses no acknowledged transfer and leaves nothing that looks complete',
  async (t) => {
    const directory = temporaryDirectory(t)
    const options = ['--callback-url', 'http://127.0.0.1:9/', '--sandbox', '--rate-limit', '100000']
    const merchant = await cliJson<Credentials>(directory, 'merchants', 'create', '--name', 'Backup', ...options)
    const service = await startServiceProcess(t, { directory })
    const acknowledged: string[] = []
    let stopping = false
    const callers = Array.from({ length: 8 }, async () => {
      while (!stopping) acknowledged.push((await createDeposit(service.baseUrl, merchant)).body.result!.trackingId)
    })
    const moreThan = async (count: number) => {
      while (acknowledged.length < count) await new Promise((resolve) => setTimeout(resolve, 10))
    }
    await moreThan(1_500)

    const target = join(directory, 'target')
    const staging = join(directory, 'data', 'backup.staging')
    const middles: (() => boolean)[] = [
      () => existsSync(staging),
      () => existsSync(join(staging, 'read-models.db')),
      () => countBelow(join(target, 'chunks')) > 0,
      () => countBelow(join(target, 'chunks')) > 3,
    ]
    const killedBackup = ['backup', 'target', '--with-read-models']
    let killed = 0
    for (let round = 0; round < kills; round++)
      if (await killWhen(directory, killedBackup, middles[round % middles.length]!)) killed++
    t.ok(killed >= kills / 2, `${killed} were killed`)
    const sets = join(target, 'sets')
    if (!existsSync(sets))
      t.match(await runCli(directory, ['restore', 'target', '--to', 'half']), {
        status: 1,
        stderr: /no complete backup/,
      })
    t.notOk(existsSync(join(directory, 'half')))

    const before = [...acknowledged]
    const first = await cliJson<BackUpReport>(directory, 'backup', 'target')
    t.notOk(existsSync(staging), 'the temporary files of the killed backups are removed')
    t.equal(statSync(first.backup).mode & 0o777, 0o600)
    await moreThan(before.length + 300)
    const later = [...acknowledged]
    const second = await cliJson<BackUpReport>(directory, 'backup', 'target')
    t.ok(acknowledged.length > later.length, 'transfers were created during the backups')
    t.ok(second.newBytes < second.bytes)
    stopping = true
    await Promise.all(callers)
    await service.end('SIGTERM')

    const drafts = () => readdirSync(directory).filter((name) => name.startsWith('restored.restoring-'))
    let restoresKilled = 0
    for (let round = 0; round < kills; round++) {
      const known = drafts().length
      const middle = () => drafts().length > known
      if (await killWhen(directory, ['restore', 'target', '--to', 'restored'], middle)) restoresKilled++
      t.notOk(existsSync(join(directory, 'restored')), 'an incomplete restore does not have the name of a complete one')
    }
    t.equal(restoresKilled, kills)

    for (const [backup, expected] of [
      [first.backup, before],
      [second.backup, later],
    ] as const) {
      const place = temporaryDirectory(t)
      const withKey = { TRANSFERD_MASTER_KEY_FILE: join(directory, 'data', 'master.key') }
      const {
        status: restored,
        stdout,
        stderr,
      } = await runCli(place, ['restore', backup, '--to', 'data', '--json'], withKey)
      t.equal(restored, 0, stderr)
      const report: RestoreReport = JSON.parse(stdout)
      t.ok(report.log!.events > expected.length)
      copyFileSync(join(directory, 'data', 'master.key'), join(place, 'data', 'master.key'))
      const again = await startServiceProcess(t, { directory: place })
      t.equal((await createDeposit(again.baseUrl, merchant)).status, 200)
      const status = () => cliJson<{ state: string }[]>(place, 'projections', 'status')
      while ((await status()).some(({ state }) => state !== 'current')) await new Promise(setImmediate)
      await again.end('SIGTERM')
      const store = await openEventLog({ directory: join(place, 'data') })
      const streams = new Set((await wholeLog(store)).map(({ stream }) => stream))
      await store.close()
      const models = await openEmbeddedReadModels({ directory: join(place, 'data') })
      const transfers = [...streams].filter((stream) => stream.startsWith('transfer-'))
      t.equal(await models.collection('transfers').countDocuments({}), transfers.length, 'the lists are rebuilt')
      await models.close()
      t.same(
        expected.filter((id) => !streams.has(`transfer-${id}`)),
        [],
        'every acknowledged transfer is restored',
      )
    }
  },
)

t.test('all backups in a target have the same passphrase, which a restore requires', async (t) => {
  const directory = temporaryDirectory(t)
  await cliJson(directory, 'merchants', 'create', '--name', 'A', '--callback-url', 'http://127.0.0.1:9/', '--sandbox')
  writeFileSync(join(directory, 'right'), 'correct horse battery staple\n')
  writeFileSync(join(directory, 'wrong'), 'correct horse\n')
  const backUp = (file: string) => runCli(directory, ['backup', 'target', '--passphrase-file', file])
  const restore = (to: string, ...more: string[]) => runCli(directory, ['restore', 'target', '--to', to, ...more])
  t.equal((await backUp('right')).status, 0)
  t.equal((await backUp('right')).status, 0)
  t.match(await backUp('wrong'), { status: 1, stderr: /the passphrase or identity is wrong/ })
  t.match(await restore('data2'), { status: 1, stderr: /is encrypted: add/ })
  t.match(await restore('data2', '--passphrase-file', 'wrong'), {
    status: 1,
    stderr: /the passphrase or identity is wrong/,
  })
  t.notOk(existsSync(join(directory, 'data2')))
  t.match(await restore('data2', '--passphrase-file', 'right'), { status: 0, stdout: /The last event is at position/ })
  t.match(await restore('data2', '--passphrase-file', 'right'), { status: 1, stderr: /already exists/ })
  t.match(await runCli(directory, ['backup', 'x', '--recipient', 'age1x', '--passphrase-file', 'right']), { status: 2 })
})
