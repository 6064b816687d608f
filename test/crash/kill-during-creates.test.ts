import { randomInt, randomUUID } from 'node:crypto'
import { join } from 'node:path'
import t from 'tap'
import { integrityStatus } from '../../src/audit/integrity/integrity-status.js'
import type { VerifiedLog } from '../../src/operations/audit/verify-log.js'
import { openEmbeddedReadModels } from '../../src/read-models/embedded/embedded-read-models.js'
import { startReceiver } from '../callbacks/receiver.js'
import { cliJson } from '../cli/in-process.js'
import { expectedDocuments, storedDocuments, wholeLog } from '../support/expected-documents.js'
import { long } from '../support/long.js'
import { type Credentials, createDeposit } from '../support/merchant-client.js'
import { startServiceProcess, temporaryDirectory } from '../support/processes.js'
import { openServiceLog } from '../support/service-log.js'

const kills = long ? 8 : 2
const createsEach = 200

async function until(holds: () => boolean | Promise<boolean>, timeoutMs: number): Promise<boolean> {
  const giveUpAt = Date.now() + timeoutMs
  while (!(await holds())) {
    if (Date.now() > giveUpAt) return false
    await new Promise((resolve) => setTimeout(resolve, 100))
  }
  return true
}

// The long form takes three quarters of a minute on an idle machine, and minutes on a busy one.
t.setTimeout(900_000)

t.test(`loses nothing acknowledged in ${kills} kills during ${createsEach} concurrent creates`, async (t) => {
  const directory = temporaryDirectory(t)
  const receiver = await startReceiver(t)
  const options = ['--callback-url', receiver.url, '--sandbox', '--callback-on-create', '--rate-limit', '100000']
  const credentials = await cliJson<Credentials>(directory, 'merchants', 'create', '--name', 'Crash', ...options)

  const acknowledged: string[] = []
  /** Numbers the customers, so that each create stores a key first. */
  let customers = 0
  let broken = 0
  for (let kill = 0; kill < kills; kill++) {
    const service = await startServiceProcess(t, { directory })
    const creates = Array.from({ length: createsEach }, () =>
      createDeposit(service.baseUrl, credentials, randomUUID(), '100.00', { userId: `customer ${customers++}` }).then(
        ({ status, body }) => {
          if (status === 200 && body.result) acknowledged.push(body.result.trackingId)
        },
        () => {
          broken++
        },
      ),
    )
    // The kill comes before or during the responses. The rest of the test waits for a callback for each stored create.
    if (kill % 2 === 1) await Promise.race([...creates])
    await new Promise((resolve) => setTimeout(resolve, randomInt(20, 350)))
    await service.end('SIGKILL')
    await Promise.all(creates)
  }
  t.ok(acknowledged.length > 0 && broken > 0, `${acknowledged.length} acknowledged, ${broken} cut off`)

  const service = await startServiceProcess(t, { directory })
  const store = await openServiceLog(directory)
  t.teardown(() => store.close())
  const log = await wholeLog(store)
  const created = log.filter(({ type }) => type === 'DepositCreated')
  const stored = new Set(created.map(({ data }) => data.trackingId))
  t.strictSame(
    acknowledged.filter((trackingId) => !stored.has(trackingId)),
    [],
    'the log contains every acknowledged create',
  )
  t.equal(stored.size, created.length, 'each create is stored once')
  t.strictSame(
    created.filter(({ data }) => data.name !== 'Ada Lovelace').map(({ data }) => data),
    [],
    'each key is stored before its create, so personal data is readable',
  )

  const called = () => new Set(receiver.received.map(({ webhookId }) => webhookId))
  const allCalled = await until(() => {
    const seen = called()
    return created.every(({ id }) => seen.has(id))
  }, 400_000)
  t.ok(allCalled, `each of ${created.length} stored creates is called back`)

  const readModels = await openEmbeddedReadModels({ directory: join(directory, 'data') })
  t.teardown(() => readModels.close())
  const settled = async () => {
    const [projections, waiting, tree] = await Promise.all([
      cliJson<{ lagEvents: number }[]>(directory, 'projections', 'status'),
      readModels.collection('callbacks').countDocuments({ dueAt: { $exists: true } }),
      integrityStatus(readModels),
    ])
    // Each kill can come before the first seal, and a stop during a failure of the seal does not try again.
    return waiting === 0 && projections.every(({ lagEvents }) => lagEvents === 0) && (tree?.note ?? null) !== null
  }
  t.ok(await until(settled, 120_000), 'the projections and the seal catch up')
  t.strictSame(await service.end('SIGTERM'), 0, 'the service exits gracefully')
  const { holds, unsealed } = await cliJson<VerifiedLog>(directory, 'audit', 'verify')
  t.strictSame([holds, unsealed], [true, 0], 'the interrupted seal continues and covers the whole log')
  const expected = expectedDocuments(await wholeLog(store))
  const found = await storedDocuments(readModels)
  for (const [collection, documents] of Object.entries(expected)) {
    t.equal(
      found[collection]?.join('\n'),
      documents.join('\n'),
      `${collection} equals the fold of the log, byte for byte`,
    )
  }
})
