import { mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { createServer, type IncomingMessage } from 'node:http'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import { openEventLog } from '@transferd/event-log'
import {
  cosign,
  generateSigner,
  leafHash,
  openCheckpoint,
  parseNote,
  parseSigner,
  type TileStore,
  TreeReader,
} from '@transferd/transparency-log'
import { pino } from 'pino'
import t, { type Test } from 'tap'
import { startTreeKeeper } from '../../../src/audit/integrity/audit-tree-keeper.js'
import type { CopyTarget, Witness } from '../../../src/audit/integrity/checkpoint-publisher.js'
import {
  type IntegrityStatus,
  integrityStatus,
  requestVerification,
} from '../../../src/audit/integrity/integrity-status.js'
import type { CheckpointStore } from '../../../src/audit/integrity/kept-checkpoints.js'
import { IntegrityCommands } from '../../../src/commands/integrity/integrity-commands.js'
import type { EventStore } from '../../../src/event-store/event-store.js'
import type { ReadModels } from '../../../src/read-models/read-models.js'
import { context } from '../../support/embedded-store.js'
import { openTestReadModels } from '../../support/read-models.js'
import { until as untilTrue } from '../../support/until.js'
import { appendTransfers, signer, startTestTree, tilesOf, verifyDirectory, verifyInProcess } from './sealed-log.js'

const clock = () => new Date().toISOString()

interface World {
  readonly directory: string
  readonly store: EventStore
  readonly readModels: ReadModels
  readonly commands: IntegrityCommands
  start(settings?: Partial<Settings>): {
    stop(): Promise<void>
  }
  /** Resolves with the saved status once the condition is true. */
  until(condition: (status: IntegrityStatus) => boolean): Promise<IntegrityStatus>
}

interface Settings {
  readonly copyTo: CopyTarget
  readonly witnesses: readonly Witness[]
  readonly damaged: readonly string[]
  readonly checkpointStores: readonly CheckpointStore[]
}

async function openWorld(t: Test): Promise<World> {
  const directory = t.testdir()
  const store = await openEventLog({ directory, writerThread: false })
  const readModels = await openTestReadModels(directory)
  t.teardown(async () => {
    await readModels.close()
    await store.close()
  })
  const commands = new IntegrityCommands(store, clock)
  const opening = await startTestTree(store)
  return {
    ...{ directory, store, readModels, commands },
    start({ copyTo, witnesses = [], damaged = [], checkpointStores = [] } = {}) {
      return startTreeKeeper({
        ...{ store, readModels, commands, clock, copyTo, witnesses },
        tiles: tilesOf(directory),
        logger: pino({ level: 'silent' }),
        metrics: { setTreeSize: () => undefined, setFindings: () => undefined },
        timing: { pollMs: 10, retryMs: 50 },
        publishFailed: () => undefined,
        ...opening(),
        verify: verifyInProcess(store, tilesOf(directory)),
        checkpointStores,
        mac: (text) => text,
        checkOthers: async () => damaged,
      })
    },
    async until(condition) {
      let status: IntegrityStatus | undefined
      const isMet = async () => {
        status = await integrityStatus(readModels)
        return status !== undefined && condition(status)
      }
      await untilTrue(isMet, 20_000)
      return status!
    },
  }
}

const sizeOf = ({ note }: IntegrityStatus) => (note === null ? 0 : openCheckpoint(note, signer).size)

/** Starts a server that stores files by PUT and cosigns the checkpoints that arrive at /add-checkpoint. */
async function startPublishTarget(t: Test) {
  const witness = parseSigner(generateSigner('witness.example', 'cosignature'))
  const files = new Map<string, Buffer>()
  const authorizations: string[] = []
  let seen = 0
  const bodyOf = async (request: IncomingMessage) => Buffer.concat(await request.toArray())
  const server = createServer(async (request, response) => {
    const body = await bodyOf(request)
    if (request.method === 'GET') {
      const file = files.get(request.url!)
      return response.writeHead(file ? 200 : 404).end(file)
    }
    if (request.method === 'PUT') {
      authorizations.push(request.headers.authorization ?? '')
      files.set(request.url!, body)
      return response.writeHead(201).end()
    }
    const [first = '', note = ''] = body.toString().split('\n\n', 2)
    const [old = ''] = first.split('\n')
    if (old !== `old ${seen}`) return response.writeHead(409).end(`${seen}\n`)
    const text = `${note}\n`
    seen = openCheckpoint(body.toString().slice(body.indexOf('\n\n') + 2), signer).size
    return response.end(`${cosign(text, witness, 1_700_000_000)}\n`)
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  t.teardown(() => server.close())
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
  return { url, witness, files, authorizations }
}

t.test(
  'seals existing events at the start and the newest ones at a stop, and publishes the cosigned checkpoint',
  async (t) => {
    const { directory, store, start, until, commands } = await openWorld(t)
    const { url, witness, files, authorizations } = await startPublishTarget(t)
    const settings = {
      witnesses: [{ url, key: witness }],
      copyTo: { kind: 'url', url: `${url}/log`, authorization: 'Basic dTpw' } as const,
    }
    await appendTransfers(store, 0, 120)
    const keeper = start(settings)
    const first = await until(({ witnesses, problems }) => witnesses.length === 1 && problems.length === 0)
    t.equal(sizeOf(first), 301, 'the start of the tree is an event too')
    t.same(first.witnesses, ['witness.example'])
    await appendTransfers(store, 120, 150)
    await keeper.stop()
    const again = start(settings)
    const second = await until((status) => sizeOf(status) === 376 && status.witnesses.length === 1)
    t.match(second.verifications, [{ occasion: /start|rest/, findings: [] }], 'the log is verified at the start')
    await again.stop()
    t.match(await verifyDirectory(directory), { findings: [], unsealed: 0, to: 376 })
    t.same(files.get('/log/checkpoint')?.toString(), readFileSync(join(directory, 'audit/checkpoint'), 'utf8'))
    t.same(files.get('/log/tile/names/000'), readFileSync(join(directory, 'audit/tile/names/000')))
    const copied: TileStore = { read: async (path) => files.get(`/log/${path}`), write: async () => undefined }
    const tree = new TreeReader(copied, 376)
    for await (const { index, entry } of tree.entries())
      if (!leafHash(entry).equals(await tree.leafHash(index))) t.fail(`leaf ${index} of the copy`)
    t.ok(files.has('/log/tile/0/001.p/120'))
    t.strictSame([...new Set(authorizations)], ['Basic dTpw'])
    t.equal(parseNote(second.note!).signatures.length, 2)
    t.equal((await commands.state()).stoppedSince, null)
  },
)

t.test('reports an unreachable witness or copy without stopping payouts', async (t) => {
  const { directory, store, start, until, commands } = await openWorld(t)
  const { url, witness } = await startPublishTarget(t)
  const file = join(directory, 'a-file')
  writeFileSync(file, '')
  await appendTransfers(store, 0, 4)
  const keeper = start({
    witnesses: [{ url: `${url.slice(0, -1)}`, key: witness }],
    copyTo: { kind: 'directory', directory: join(file, 'below') },
  })
  const { problems, note } = await until((status) => status.problems.length === 2)
  t.match(problems, [/^witness.example has not cosigned: http/, /^The copy is behind: .*cannot be used/])
  t.equal(sizeOf({ note } as IntegrityStatus), 11)
  t.equal((await commands.state()).stoppedSince, null)
  await keeper.stop()
})

t.test('stops payouts at the next start after an edit of the log, and only once', async (t) => {
  const { directory, store, readModels, start, until, commands } = await openWorld(t)
  await appendTransfers(store, 0, 40)
  await start().stop()
  const keeper = start()
  await until((status) => sizeOf(status) > 100)
  await keeper.stop()
  const { Database } = await import('@transferd/event-log/sqlite')
  const db = new Database(join(directory, 'events.db'))
  db.prepare(`UPDATE events SET body = replace(body, '"TR7"', '"TR8"') WHERE body LIKE '%"TR7"%'`).run()
  db.close()
  const next = start()
  const { verifications } = await until((status) => status.verifications.some(({ findings }) => findings.length > 0))
  t.match(verifications.at(-1), { findings: [{ kind: 'log', problem: 'The event is not the one that was sealed.' }] })
  const { state, revision } = await commands.read()
  const { stoppedSince, findings } = state
  t.ok(stoppedSince)
  await commands.resumePayouts('a test', revision as number, {
    actor: 'cli:ada',
    $correlationId: 'c',
    $causationId: 'c',
  })
  await requestVerification(readModels, clock())
  await until((status) =>
    status.verifications.some(({ occasion, finishedAt }) => occasion === 'requested' && finishedAt !== null),
  )
  t.equal((await commands.state()).stoppedSince, null, 'a resolved finding does not stop payouts again')
  t.ok(findings.length > 0)
  await next.stop()
})

t.test('reports a damaged file other than the log without stopping payouts', async (t) => {
  const { readModels, store, start, until, commands } = await openWorld(t)
  await appendTransfers(store, 0, 4)
  const keeper = start({ damaged: ['read-models.db: SQLite reports: a page is missing.'] })
  await until((status) => sizeOf(status) === 11)
  await requestVerification(readModels, clock())
  const { problems } = await until((status) => status.problems.length > 0)
  t.same(problems, ['read-models.db: SQLite reports: a page is missing.'])
  t.equal((await commands.state()).stoppedSince, null)
  await keeper.stop()
})

t.test('the copy reveals that the log and its tree were truncated', async (t) => {
  const { directory, store, start, until, commands } = await openWorld(t)
  const copy = join(directory, 'elsewhere')
  mkdirSync(copy)
  const copyTo: CopyTarget = { kind: 'directory', directory: copy }
  await appendTransfers(store, 0, 40)
  const keeper = start({ copyTo })
  await until((status) => sizeOf(status) > 100)
  await keeper.stop()
  const before = readFileSync(join(copy, 'checkpoint'), 'utf8')
  rmSync(join(directory, 'audit'), { recursive: true })
  const { Database } = await import('@transferd/event-log/sqlite')
  const db = new Database(join(directory, 'events.db'))
  db.prepare('DELETE FROM events WHERE position > 90').run()
  db.close()
  const next = start({ copyTo })
  const isFound = async () =>
    (await commands.state()).findings.some(({ place, problem }) => place === 'the copy' && /cut back/.test(problem))
  await untilTrue(isFound, 20_000)
  await next.stop()
  t.equal(readFileSync(join(copy, 'checkpoint'), 'utf8'), before, 'the copy is unchanged')
})

t.test('stops payouts if a store is older than another one has seen, until a person has looked', async (t) => {
  const { store, commands, start, until } = await openWorld(t)
  const texts = new Map<string, string>()
  const checkpointStores = ['the read models', "the customers' keys"].map((name) => ({
    name,
    read: async () => texts.get(name),
    write: async (text: string) => void texts.set(name, text),
  }))
  const sealed = async (count: number) => {
    await appendTransfers(store, count, count + 5)
    const keeper = start({ checkpointStores })
    await until((status) => sizeOf(status) > count * 2)
    return keeper
  }
  await (await sealed(0)).stop()
  const early = texts.get('the read models')!
  await (await sealed(5)).stop()
  await (await sealed(10)).stop()
  t.equal((await commands.state()).stoppedSince, null)
  texts.set('the read models', early)
  const keeper = start({ checkpointStores })
  await untilTrue(async () => (await commands.state()).stoppedSince !== null)
  t.match((await commands.state()).findings, [{ place: 'the read models', problem: /an earlier state was restored/ }])
  await untilTrue(async () => texts.get('the read models') !== early)
  await keeper.stop()
  await commands.resumePayouts('looked at the database', (await commands.read()).revision as number, context)
  const again = start({ checkpointStores })
  await until((status) => status.verifications[0]?.finishedAt !== null)
  t.equal((await commands.state()).stoppedSince, null)
  await again.stop()
})

t.test('seals nothing while a store cannot be read, whose checkpoint would otherwise be replaced', async (t) => {
  const { store, commands, start, until } = await openWorld(t)
  let text: string | undefined
  let failure: Error | undefined
  const memory: CheckpointStore = {
    name: 'the read models',
    read: async () => {
      if (failure) throw failure
      return text
    },
    write: async (newer) => {
      text = newer
    },
  }
  await appendTransfers(store, 0, 5)
  const keeper = start({ checkpointStores: [memory] })
  await until((status) => sizeOf(status) > 0)
  await keeper.stop()
  const kept = text
  failure = new Error('damaged')
  await appendTransfers(store, 5, 10)
  const blind = start({ checkpointStores: [memory] })
  const { note } = await until((status) =>
    status.problems.some((each) => /not sealed: .* cannot be read: damaged/.test(each)),
  )
  await blind.stop()
  t.equal(text, kept)
  t.equal((await commands.state()).stoppedSince, null, 'an unavailable store is not a finding')
  failure = undefined
  const again = start({ checkpointStores: [memory] })
  await until(
    (status) =>
      sizeOf(status) > (note === null ? 0 : openCheckpoint(note, signer).size) && status.problems.length === 0,
  )
  await again.stop()
  t.not(text, kept)
})
