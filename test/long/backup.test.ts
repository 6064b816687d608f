import { copyFileSync, mkdirSync, readdirSync, statSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { Database } from '@transferd/event-log/sqlite'
import t from 'tap'
import { openEmbeddedReadModels } from '../../src/read-models/embedded/embedded-read-models.js'
import { cliJson as cliJsonHere } from '../cli/in-process.js'
import { expectedDocuments, storedDocuments, wholeLog } from '../support/expected-documents.js'
import { type Credentials, createDeposit } from '../support/merchant-client.js'
import { cliJson, runCli, startServiceProcess, temporaryDirectory } from '../support/processes.js'
import { openServiceLog } from '../support/service-log.js'

t.setTimeout(240_000)

t.test(
  'a backup under load contains every event acknowledged before it, and a service can continue from it',
  async (t) => {
    const directory = temporaryDirectory(t)
    const options = ['--callback-url', 'http://127.0.0.1:9/', '--sandbox', '--rate-limit', '100000']
    const merchant = await cliJson<Credentials>(directory, 'merchants', 'create', '--name', 'Backup', ...options)
    const service = await startServiceProcess(t, { directory })
    const acknowledged: string[] = []
    let stopping = false
    const callers = Array.from({ length: 16 }, async () => {
      while (!stopping) {
        const { body } = await createDeposit(service.baseUrl, merchant)
        acknowledged.push(body.result!.trackingId)
      }
    })
    const backups: { file: string; before: string[] }[] = []
    for (const name of ['first.db', 'second.db']) {
      const enough = acknowledged.length + 200
      while (acknowledged.length < enough) await new Promise((resolve) => setTimeout(resolve, 10))
      const before = [...acknowledged]
      const { file, events, bytes } = await cliJson<{ file: string; events: number; bytes: number }>(
        directory,
        ...['events', 'save', name],
      )
      t.ok(events > before.length)
      t.equal(bytes, statSync(file).size)
      t.equal(statSync(file).mode & 0o777, 0o600, 'only the owner can read the file')
      backups.push({ file, before })
    }
    t.ok(acknowledged.length > backups[1]!.before.length, 'creates succeed during the backup')
    stopping = true
    await Promise.all(callers)
    await service.end('SIGTERM')
    const live = await openServiceLog(directory)
    const log = await wholeLog(live)
    await live.close()

    for (const { file, before } of backups) {
      const restored = temporaryDirectory(t)
      const data = join(restored, 'data')
      mkdirSync(data, { mode: 0o700 })
      copyFileSync(file, join(data, 'events.db'))
      copyFileSync(join(directory, 'data', 'master.key'), join(data, 'master.key'))
      copyFileSync(join(directory, 'data', 'customer-keys.db'), join(data, 'customer-keys.db'))
      // These read models are ahead of the restored log, which the service must detect.
      copyFileSync(join(directory, 'data', 'read-models.db'), join(data, 'read-models.db'))
      const store = await openServiceLog(restored)
      const restoredLog = await wholeLog(store)
      await store.close()
      const streams = new Set(restoredLog.map(({ stream }) => stream))
      t.same(
        before.filter((trackingId) => !streams.has(`transfer-${trackingId}`)),
        [],
        'the backup contains every event acknowledged before it',
      )
      t.ok(restoredLog.length < log.length)
      const differing = restoredLog.findIndex(({ id, position }, n) => {
        return id !== log[n]!.id || position.commit !== log[n]!.position.commit
      })
      t.equal(differing, -1, 'the backup is a prefix of the log, with the same positions')
      const db = new Database(join(data, 'events.db'), { readonly: true })
      t.equal(db.pragma('journal_mode', { simple: true }), 'wal')
      db.close()

      const again = await startServiceProcess(t, { directory: restored })
      const response = await createDeposit(again.baseUrl, merchant)
      t.equal(response.status, 200)
      const status = () => cliJsonHere<{ state: string; lagEvents: number }[]>(restored, 'projections', 'status')
      for (let waited = 0; (await status()).some(({ state }) => state === 'outdated' || state === 'behind'); waited++) {
        if (waited > 200) throw new Error(`the read models were not rebuilt: ${JSON.stringify(await status())}`)
      }
      await again.end('SIGTERM')
      const [now, models] = [await openServiceLog(restored), await openEmbeddedReadModels({ directory: data })]
      const transfers = (await wholeLog(now)).filter(({ stream }) => /^(transfer|callback)-/.test(stream))
      const [stored, expected] = [await storedDocuments(models), expectedDocuments(transfers)]
      for (const name of ['transfers', 'totals', 'transfer_events', 'callbacks'])
        t.equal(stored[name]!.join('\n') === expected[name]!.join('\n'), true, name)
      await now.close()
      await models.close()
    }
  },
)

t.test('never replaces an existing file and leaves no incomplete one', async (t) => {
  const directory = temporaryDirectory(t)
  const none = await runCli(directory, ['events', 'save', 'log.db'])
  t.match(none, { status: 1, stderr: /there is no log in/ })
  await cliJson(directory, 'merchants', 'create', '--name', 'A', '--callback-url', 'http://127.0.0.1:9/', '--sandbox')
  writeFileSync(join(directory, 'log.db'), 'mine')
  const existing = await runCli(directory, ['events', 'save', 'log.db'])
  t.match(existing, { status: 1, stdout: '', stderr: /log\.db already exists/ })
  const missingDirectory = await runCli(directory, ['events', 'save', join('missing', 'log.db')])
  t.match(missingDirectory, { status: 1, stdout: '', stderr: /log\.db could not be written/ })
  writeFileSync(join(directory, 'new.db.part'), 'partial backup')
  t.match(await cliJson(directory, 'events', 'save', 'new.db'), { events: 3 })
  t.same(readdirSync(directory).sort(), ['data', 'log.db', 'new.db'])
  const server = { EVENT_STORE_URL: 'esdb://127.0.0.1:1?tls=false' }
  t.match(await runCli(directory, ['events', 'save', 'x.db'], server), { status: 2, stderr: /names a server/ })
})
