import { mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { createServer, type IncomingMessage } from 'node:http'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import { cosign, generateSigner, openCheckpoint, parseNote, parseSigner } from '@transferd/transparency-log'
import { pino } from 'pino'
import t, { type Test } from 'tap'
import { askToVerify, type IntegrityStatus, integrityStatus } from '../../../src/audit/integrity/integrity-status.js'
import { startTreeKeeper } from '../../../src/audit/integrity/keeper.js'
import type { CopyTarget, Witness } from '../../../src/audit/integrity/publish.js'
import { IntegrityCommands } from '../../../src/commands/integrity/integrity-commands.js'
import { openEmbeddedEventStore } from '../../../src/event-store/embedded.js'
import type { EventStore } from '../../../src/event-store/event-store.js'
import type { ReadModels } from '../../../src/read-models/read-models.js'
import { openTestReadModels } from '../../support/read-models.js'
import { appendTransfers, signer, tilesOf, verifyDirectory } from './sealed-log.js'

const clock = () => new Date().toISOString()

interface World {
  readonly directory: string
  readonly store: EventStore
  readonly readModels: ReadModels
  readonly commands: IntegrityCommands
  start(settings?: { copyTo?: CopyTarget; witnesses?: readonly Witness[]; damaged?: readonly string[] }): {
    stop(): Promise<void>
  }
  /** Until what the keeper tells is so. */
  until(holds: (status: IntegrityStatus) => boolean): Promise<IntegrityStatus>
}

async function world(t: Test): Promise<World> {
  const directory = t.testdir()
  const store = await openEmbeddedEventStore({ directory })
  const readModels = await openTestReadModels(directory)
  t.teardown(async () => {
    await readModels.close()
    await store.close()
  })
  const commands = new IntegrityCommands(store, clock)
  let hasKey = false
  return {
    ...{ directory, store, readModels, commands },
    start({ copyTo, witnesses = [], damaged = [] } = {}) {
      return startTreeKeeper({
        ...{ store, readModels, commands, clock, copyTo, witnesses },
        tiles: tilesOf(directory),
        logger: pino({ level: 'silent' }),
        metrics: { sealed: () => undefined, found: () => undefined },
        publishFailed: () => undefined,
        signer: async () => signer,
        checkOthers: async () => damaged,
        keepKey: () => {
          hasKey = true
        },
        hasKey: () => hasKey,
      })
    },
    async until(holds) {
      for (let tries = 0; tries < 400; tries++) {
        const status = await integrityStatus(readModels)
        if (status && holds(status)) return status
        await new Promise((resolve) => setTimeout(resolve, 25))
      }
      throw new Error(`not told: ${JSON.stringify(await integrityStatus(readModels))}`)
    },
  }
}

const sizeOf = ({ note }: IntegrityStatus) => (note === null ? 0 : openCheckpoint(note, signer).size)

/** Keeps what it is sent, and cosigns what comes to /add-checkpoint. */
async function elsewhere(t: Test) {
  const witness = parseSigner(generateSigner('witness.example', 'cosignature'))
  const files = new Map<string, Buffer>()
  const asked: string[] = []
  let seen = 0
  const bodyOf = async (request: IncomingMessage) => Buffer.concat(await request.toArray())
  const server = createServer(async (request, response) => {
    const body = await bodyOf(request)
    if (request.method === 'GET') {
      const file = files.get(request.url!)
      return response.writeHead(file ? 200 : 404).end(file)
    }
    if (request.method === 'PUT') {
      asked.push(request.headers.authorization ?? '')
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
  return { url, witness, files, asked, saw: (size: number) => (seen = size) }
}

t.test('seals what is there, what has come when it stops, and goes on from there; cosigned and copied', async (t) => {
  const { directory, store, start, until, commands } = await world(t)
  const { url, witness, files, asked } = await elsewhere(t)
  const settings = {
    witnesses: [{ url, key: witness }],
    copyTo: { kind: 'url', url: `${url}/log`, authorization: 'Basic dTpw' } as const,
  }
  await appendTransfers(store, 0, 120)
  const keeper = start(settings)
  const first = await until(({ witnesses, troubles }) => witnesses.length === 1 && troubles.length === 0)
  t.equal(sizeOf(first), 300)
  t.same(first.witnesses, ['witness.example'])
  await appendTransfers(store, 120, 150)
  await keeper.stop()
  const again = start(settings)
  const second = await until((status) => sizeOf(status) === 373 && status.witnesses.length === 1)
  t.match(second.verifications, [{ occasion: /start|rest/, findings: [] }], 'verified as it begins')
  await again.stop()
  t.match(await verifyDirectory(directory), { findings: [], unsealed: 0, to: 373 })
  t.same(files.get('/log/checkpoint')?.toString(), readFileSync(join(directory, 'audit/checkpoint'), 'utf8'))
  t.same(files.get('/log/tile/entries/000'), readFileSync(join(directory, 'audit/tile/entries/000')))
  t.ok(files.has('/log/tile/0/001.p/117'))
  t.ok(asked.length > 0 && asked.every((authorization) => authorization === 'Basic dTpw'))
  t.equal(parseNote(second.note!).signatures.length, 2)
  t.equal((await commands.state()).stoppedSince, null)
})

t.test('a witness or a copy that cannot be reached is told, and nothing stops', async (t) => {
  const { directory, store, start, until, commands } = await world(t)
  const { url, witness } = await elsewhere(t)
  const file = join(directory, 'a-file')
  writeFileSync(file, '')
  await appendTransfers(store, 0, 4)
  const keeper = start({
    witnesses: [{ url: `${url.slice(0, -1)}`, key: witness }],
    copyTo: { kind: 'directory', directory: join(file, 'below') },
  })
  const { troubles, note } = await until((status) => status.troubles.length === 2)
  t.match(troubles, [/^witness.example has not cosigned: http/, /^The copy is behind: .*cannot be written/])
  t.equal(sizeOf({ note } as IntegrityStatus), 10)
  t.equal((await commands.state()).stoppedSince, null)
  await keeper.stop()
})

t.test('a log that was edited meanwhile stops payouts at the next start, once', async (t) => {
  const { directory, store, readModels, start, until, commands } = await world(t)
  await appendTransfers(store, 0, 40)
  await start().stop()
  const keeper = start()
  await until((status) => sizeOf(status) === 100)
  await keeper.stop()
  const { default: Database } = await import('better-sqlite3')
  const db = new Database(join(directory, 'events.db'))
  db.prepare(`UPDATE events SET body = replace(body, '"TR7"', '"TR8"') WHERE body LIKE '%"TR7"%'`).run()
  db.close()
  const next = start()
  const { verifications } = await until((status) => status.verifications.some(({ findings }) => findings.length > 0))
  t.match(verifications.at(-1), { findings: [{ kind: 'log', problem: 'The event is not the one that was sealed.' }] })
  const { stoppedSince, findings } = await commands.state()
  t.ok(stoppedSince)
  await commands.resumePayouts('it was a test', { actor: 'cli:ada', $correlationId: 'c', $causationId: 'c' })
  await askToVerify(readModels, clock())
  await until((status) =>
    status.verifications.some(({ occasion, finishedAt }) => occasion === 'asked' && finishedAt !== null),
  )
  t.equal((await commands.state()).stoppedSince, null, 'what was decided about stops nothing again')
  t.ok(findings.length > 0)
  await next.stop()
})

t.test('another file that is damaged is told, and stops no payouts', async (t) => {
  const { readModels, store, start, until, commands } = await world(t)
  await appendTransfers(store, 0, 4)
  const keeper = start({ damaged: ['read-models.db: SQLite says: a page is missing.'] })
  await until((status) => sizeOf(status) === 10)
  await askToVerify(readModels, clock())
  const { troubles } = await until((status) => status.troubles.length > 0)
  t.same(troubles, ['read-models.db: SQLite says: a page is missing.'])
  t.equal((await commands.state()).stoppedSince, null)
  await keeper.stop()
})

t.test('a log that is cut back with its tree is found through the copy', async (t) => {
  const { directory, store, start, until, commands } = await world(t)
  const copy = join(directory, 'elsewhere')
  mkdirSync(copy)
  const copyTo: CopyTarget = { kind: 'directory', directory: copy }
  await appendTransfers(store, 0, 40)
  const keeper = start({ copyTo })
  await until((status) => sizeOf(status) === 100)
  await keeper.stop()
  const before = readFileSync(join(copy, 'checkpoint'), 'utf8')
  rmSync(join(directory, 'audit'), { recursive: true })
  const { default: Database } = await import('better-sqlite3')
  const db = new Database(join(directory, 'events.db'))
  db.prepare('DELETE FROM events WHERE position > 90').run()
  db.close()
  const next = start({ copyTo })
  const isFound = async () =>
    (await commands.state()).findings.some(({ place, problem }) => place === 'the copy' && /cut back/.test(problem))
  for (let tries = 0; tries < 400 && !(await isFound()); tries++)
    await new Promise((resolve) => setTimeout(resolve, 25))
  await next.stop()
  t.ok(await isFound())
  t.equal(readFileSync(join(copy, 'checkpoint'), 'utf8'), before, 'and the copy stays')
})
