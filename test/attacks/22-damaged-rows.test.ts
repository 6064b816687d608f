import { randomBytes, randomUUID } from 'node:crypto'
import { cpSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { logPath, openEventLog, readLogEnd, readLogRows, writeLogRows } from '@transferd/event-log'
import { Database } from '@transferd/event-log/sqlite'
import { tempDirectory } from '@transferd/event-log/test/support/temp-directory'
import { serve } from '@transferd/event-log-server/test/support/server-fixture'
import { pino } from 'pino'
import t, { type Test } from 'tap'
import { exportPages } from '../../src/audit/history/export.js'
import { importFile } from '../../src/bank/import-path.js'
import { IntegrityCommands } from '../../src/commands/integrity/integrity-commands.js'
import { skipEvent } from '../../src/commands/skip-events.js'
import {
  listedStreamsStream,
  merchantStream,
  streamKind,
  streamPrefix,
  streamPrefixes,
} from '../../src/domain/streams.js'
import { encodeEvent } from '../../src/event-store/event-codec.js'
import { type EventStore, endOfLog, type Place, type RecordedEvent } from '../../src/event-store/event-store.js'
import { openEventStoreDb } from '../../src/event-store/eventstoredb/eventstoredb-event-store.js'
import { startService } from '../../src/main/service.js'
import { verifyLog } from '../../src/operations/audit/verify-log.js'
import { readConfiguration } from '../../src/operations/configuration/configuration.js'
import { eraseCustomer } from '../../src/privacy/customer-erasure.js'
import { camt053, ntry } from '../bank-formats/bank-files.js'
import { startReceiver } from '../callbacks/receiver.js'
import { context } from '../support/embedded-store.js'
import { long } from '../support/long.js'
import { MemoryWallet } from '../support/memory-wallet.js'
import { createDeposit } from '../support/merchant-client.js'
import { createBody, paths, post, walletPaths } from '../support/merchant-requests.js'
import { openTestLog } from '../support/service-log.js'
import { startTestService } from '../support/test-service.js'
import { until } from '../support/until.js'

/** The changes to a stored event that a defect of the disk, or a person with SQLite, can cause. `at` is any number. */
const damages = {
  'a flipped bit': (body: Buffer, at: number) => {
    const changed = Buffer.from(body)
    changed[at % changed.length]! ^= 1 << (at % 7)
    return changed
  },
  'cut off': (body: Buffer, at: number) => body.subarray(0, at % body.length),
  empty: () => Buffer.alloc(0),
  'not UTF-8': (body: Buffer, at: number) => {
    const changed = Buffer.from(body)
    changed[at % changed.length] = 0xff
    return changed
  },
  'a wrong shape': (_body: Buffer, at: number) =>
    Buffer.from(['{}', '[]', '5', 'null', '["a","b",{},{}]', '""'][at % 6]!),
  NULL: () => null,
} as const
type Damage = keyof typeof damages
const ways = Object.keys(damages) as Damage[]

type Credentials = Awaited<ReturnType<typeof createHistory>>['merchants'][number]
type History = Awaited<ReturnType<typeof createHistory>>

interface Row {
  readonly position: number
  readonly name: string
  readonly revision: number
}

const clock = () => new Date().toISOString()
/** For a machine that does much else at the same time. */
const patienceMs = 120_000

function configurationOf(directory: string, masterKey: Buffer) {
  const data = `embedded:${directory}`
  const stores = { EVENT_STORE_URL: data, READ_MODEL_URL: data, DATA_DIRECTORY: directory }
  // A merchant whose registration is damaged can be live, so the sandbox merchants no longer reach loopback.
  const networks = { CALLBACK_ALLOWED_NETWORKS: '127.0.0.0/8' }
  return readConfiguration({ ...stores, ...networks, TRANSFERD_MASTER_KEY: masterKey.toString('hex'), PORT: '0' })
}

async function start(directory: string, masterKey: Buffer) {
  const lines: string[] = []
  const logger = pino({ level: 'warn' }, { write: (line: string) => lines.push(line) })
  const { started, stop } = await startService(configurationOf(directory, masterKey), logger)
  return { baseUrl: started.baseUrl, stop, lines }
}

/** Creates a log of about 200 events in the streams of every kind, with its read models, its tree and its keys. */
async function createHistory(t: Test) {
  const directory = tempDirectory(t)
  const masterKey = randomBytes(32)
  const receiver = await startReceiver(t)
  const wallet = new MemoryWallet()
  const account = wallet.open('ada@example.com', '734219', 500_00n)
  const service = await startTestService({ path: directory, masterKey, wallet, projections: true })
  const { app } = service
  const merchants = []
  for (let n = 0; n < 2; n++)
    merchants.push(
      await service.merchant({
        callbackUrl: receiver.url,
        callbackOnCreate: true,
        sandbox: true,
        allowIps: ['127.0.0.1'],
        withdrawalLimits: [{ per: 'merchant', hours: 720, count: 1000, amountMinor: null }],
      }),
    )
  const [{ id, webApiKey: key, secretKey }] = merchants as [Credentials, Credentials]
  await service.merchants.rotateSecret(id, 'secretKey', 60, context)
  await service.merchants.suspend(id, context)
  await service.merchants.execute(id, { type: 'Resume' }, context)
  const email = 'ada@shop.example'
  const user = await service.users.create({ email, name: 'Ada', role: 'auditor', merchantIds: null }, context)
  if (user.accepted) await service.users.disable(user.user.userId, context)
  const claim = { email, password: 'a wrong password', deviceCookie: undefined }
  await service.http.signIn({ ...claim, address: '192.0.2.1', purpose: 'SignIn' }, context)
  await service.callbacks.noteEndpointFailing(id, clock(), context)
  const log = await openTestLog(configurationOf(directory, masterKey))
  const integrity = new IntegrityCommands(log.eventStore, clock)
  await integrity.stopPayouts('a test', context)
  const resume = async () => integrity.resumePayouts('a test', (await integrity.read()).revision as number, context)
  await resume()
  // An event that someone else wrote, and the decision to skip it.
  const foreign = { id: randomUUID(), type: 'TransferCompleted', data: {}, metadata: {} }
  const stream = `transfer-${randomUUID()}`
  await log.rawEventStore.append(stream, 'no_stream', [foreign])
  await skipEvent({ store: log.eventStore, clock }, { stream, revision: 0, reason: 'a test' }, context)
  await until(async () => (await integrity.state()).findings.length > 0)
  await resume()
  await log.close()

  await service.directory.catchUp()
  const send = async (url: string, body: string) => (await post(app, url, body, { key })).json()
  for (let n = 0; n < 20; n++) {
    const kind = n % 3 === 0 ? 'withdrawal' : 'native'
    const { result } = await send(paths[kind], createBody(kind, secretKey, { userId: `user-${n % 4}` }))
    const { trackingId } = result
    if (n % 5 === 0) continue
    if (n % 2 === 0) await service.transfers.act(trackingId, { type: 'SendToManualControl', message: 'look' }, context)
    await service.transfers.act(trackingId, { type: 'Complete' }, context)
  }
  const { result } = await send(paths.native, createBody('native', secretKey, {}, '100'))
  const { trackingId, referenceId } = result
  await service.http.evidence.commands.request(trackingId, ['name'], 'a test', context)
  // A repeat in a different form of the amount.
  await send(paths.native, createBody('native', secretKey, { referenceId }, '100.00'))
  const login = await send(
    walletPaths.logIn,
    JSON.stringify({ trackingId, userName: account.email, password: '734219' }),
  )
  const wrong = { trackingId, token: login.result, code: '000000' }
  await send(walletPaths.code, JSON.stringify(wrong))
  await send(walletPaths.code, JSON.stringify({ ...wrong, code: wallet.lastCode() }))
  // A statement of a bank with a payment that is explained.
  const bytes = async function* () {
    yield Buffer.from(camt053(ntry()))
  }
  const { bank, transfers, readModels } = service
  const sources = { bank, transfers, readModels, currency: 'TRY', clock }
  const imported = await importFile(sources, { bytes }, { mode: 'record', merchantIds: null }, context)
  if (!imported.accepted) throw new Error(imported.refusal.rule)
  await bank.explain(imported.payments[0]!.found.payment.paymentId, 'charges', context)
  const { result: other } = await send(paths.withdrawal, createBody('withdrawal', secretKey, { userId: 'erased' }))
  await service.transfers.act(other.trackingId, { type: 'Complete' }, context)
  await until(async () => {
    const erased = await eraseCustomer(service.http.privacy, { merchantId: id, userId: 'erased' }, 'a test', context)
    return erased.accepted
  })
  // The list of streams, which the service extends only in a longer log.
  const [first] = await service.store.readStream(merchantStream(id), { maxCount: 1 })
  const through = { stream: first!.stream, revision: 0 }
  const listed = { after: null, through, streams: [first!.stream], at: clock() }
  const list = encodeEvent({ type: 'StreamsListed', data: listed }, context)
  await service.store.append(listedStreamsStream, 'no_stream', [list])
  await service.stop()

  const live = await start(directory, masterKey)
  for (const merchant of merchants) await createDeposit(live.baseUrl, merchant)
  await until(() => new Set(receiver.received.map((each) => each.trackingId)).size >= 20)
  await live.stop()
  return { directory, masterKey, receiver, merchants, rows: rowsOf(directory) }
}

function rowsOf(directory: string): Row[] {
  const db = new Database(logPath(directory), { readonly: true })
  const rows = db.prepare<[], Row>('SELECT position, name, revision FROM events ORDER BY position').all()
  db.close()
  return rows
}

/** Damages an event in its row. A bit that flips in the file changes neither the type of the column nor an index. */
function damage(directory: string, position: number, way: Damage, at: number): void {
  const db = new Database(logPath(directory))
  const read = db.prepare<[number], Buffer>('SELECT CAST(body AS BLOB) FROM events WHERE position = ?').pluck()
  const body = damages[way](read.get(position)!, at)
  const set = body === null ? 'x' : 'CAST(? AS TEXT)'
  if (body === null) {
    // Only by way of the schema does SQLite store NULL in this column.
    db.unsafeMode()
    db.pragma('writable_schema = ON')
    db.exec("UPDATE sqlite_schema SET sql = replace(sql, 'body NOT NULL', 'body') WHERE name = 'events'")
    db.pragma('writable_schema = RESET')
    db.prepare('UPDATE events SET body = NULL WHERE position = ?').run(position)
    db.pragma('writable_schema = ON')
    db.exec(
      "UPDATE sqlite_schema SET sql = replace(sql, 'body' || char(10), 'body NOT NULL' || char(10)) WHERE name = 'events'",
    )
    db.pragma('writable_schema = RESET')
  } else db.prepare(`UPDATE events SET body = ${set} WHERE position = ?`).run(body, position)
  db.close()
}

/** Damages events of different streams in a copy of the log, and checks that everything else works. */
async function check(
  t: Test,
  history: History,
  damaged: readonly (Row & { way: Damage; at: number })[],
  hasLists: boolean,
) {
  const { masterKey, receiver } = history
  const directory = tempDirectory(t)
  receiver.received.length = 0
  cpSync(history.directory, directory, { recursive: true })
  if (!hasLists) rmSync(join(directory, 'read-models.db'))
  for (const { position, way, at } of damaged) damage(directory, position, way, at)
  const streams = new Set(damaged.map(({ name }) => name))
  const healthy = history.merchants.find(({ id }) => ![...streams].some((name) => name.includes(id)))!
  const places = damaged.map(({ name, revision }) => `${name}@${revision}`)
  const ofService = places.filter((place) => streamKind(place) !== undefined).sort()

  const service = await start(directory, masterKey)
  try {
    const created = await createDeposit(service.baseUrl, healthy)
    t.equal(created.status, 200, 'another merchant can create deposits')
    const { trackingId } = created.body.result!
    await until(() => receiver.received.some((each) => each.trackingId === trackingId), patienceMs)
    const counts = /transferd_unreadable_events\{kind="\w+"\} (\d+)/g
    const unreadable = async () => {
      const text = await (await fetch(`${service.baseUrl}/metrics`)).text()
      return [...text.matchAll(counts)].reduce((sum, [, count]) => sum + Number(count), 0)
    }
    await until(async () => (await unreadable()) >= ofService.length, patienceMs)
    const metrics = await (await fetch(`${service.baseUrl}/metrics`)).text()
    if (ofService.length > 0) t.match(metrics, /^transferd_payouts_stopped 1$/m)
    let ready: Response | undefined
    // A background thread may still be starting.
    await until(async () => {
      ready = await fetch(`${service.baseUrl}/health/ready`)
      return ready.status === 200
    }, patienceMs)
    const { details } = (await ready!.json()) as { readonly details: readonly string[] }
    for (const place of ofService)
      t.ok(
        details.some((detail) => detail.includes(`${place} cannot be read`)),
        place,
      )
  } finally {
    await service.stop()
  }

  const configuration = configurationOf(directory, masterKey)
  const verified = await verifyLog(configuration)
  t.equal(verified.isComplete, true, 'the verification reaches the end')
  // The tree does not cover the engine's own streams.
  if (ofService.length > 0) t.equal(verified.holds, false)
  const end = readLogEnd(directory).position
  const copy = join(directory, 'copy')
  await writeLogRows(copy, readLogRows(directory, end))
  t.same([...readLogRows(copy, end)], [...readLogRows(directory, end)], 'a backup has the bytes that are there')

  const log = await openTestLog(configuration)
  const lines: string[] = []
  const whole = { format: 'ndjson', merchantId: null, from: null, to: null } as const
  const last = (await endOfLog(log.eventStore))!
  for await (const page of exportPages(log.eventStore, { ...whole, until: last })) lines.push(...page.lines)
  const exported = lines.map((line) => JSON.parse(line) as { stream: string; revision: number; unreadable?: string })
  const isBad = ({ stream, revision }: Place) => ofService.includes(`${stream}@${revision}`)
  t.equal(exported.filter((each) => isBad(each) && each.unreadable !== undefined).length, ofService.length)
  const others = exported.filter((each) => each.unreadable !== undefined && !isBad(each))
  // Without the decision to skip it, the event of the history that someone else wrote is unreadable again.
  t.ok(others.length <= 1, `${others.map((each) => each.stream)}`)
  for (const place of ofService) {
    const at = place.lastIndexOf('@')
    const target = { stream: place.slice(0, at), revision: Number(place.slice(at + 1)), reason: 'damaged' }
    t.match(await skipEvent({ store: log.eventStore, clock }, target, context), { accepted: true }, place)
  }
  await log.close()
}

const isShared = ({ name }: Row) =>
  /^(audit|integrity|installation|problems|directory|callbacks-sweep|merchant|\$)/.test(name)

/** Returns the rows in lots of different streams. A row of a stream that concerns more than one transfer or user is alone. */
function lotsOf(rows: readonly Row[]): Row[][] {
  const lots: Row[][] = []
  for (const row of rows) {
    const fits = (lot: Row[]) => lot.length < 16 && lot.every((each) => !isShared(each) && each.name !== row.name)
    const lot = isShared(row) ? undefined : lots.find(fits)
    if (lot) lot.push(row)
    else lots.push([row])
  }
  return lots
}

t.test('a damaged row stops only its own stream', { timeout: 3_600_000 }, async (t) => {
  const history = await createHistory(t)
  const { rows } = history
  t.ok(rows.length > 150, `${rows.length} events`)
  const kinds = new Set(rows.map(({ name }) => name.slice(0, name.indexOf('-') + 1)))
  t.same(new Set(streamPrefixes.filter((prefix) => !kinds.has(prefix))), new Set(['masterkeys-']))
  const foreign = rows.find(({ name }) => name.startsWith(streamPrefix.transfer))
  const cases = ways.flatMap((way, n) => {
    const damaged = rows.filter((row) => row.name !== foreign?.name)
    return lotsOf(damaged).map((lot) => ({ way, lot, hasLists: n % 2 === 0 }))
  })
  const sample = long ? cases : cases.filter((_, index) => index % 40 === 0)
  for (const [index, { way, lot, hasLists }] of sample.entries()) {
    const damaged = lot.map((row) => ({ ...row, way, at: (index + 1) * 7_919 + row.position * 31 }))
    const name = `${way}, ${hasLists ? 'projected' : 'not projected'}: ${lot.map((row) => `${row.name}@${row.revision}`)}`
    await t.test(name, { timeout: patienceMs }, (t) => check(t, history, damaged, hasLists))
  }
})

t.test('the protocol of EventStoreDB serves a damaged row as the same unreadable event', async (t) => {
  for (const way of ways) {
    const directory = tempDirectory(t)
    const embedded = await openEventLog({ directory, writerThread: false })
    const event = () => ({ id: randomUUID(), type: 'T', data: { text: 'ü'.repeat(40) }, metadata: { actor: 'a' } })
    await embedded.append('transfer-1', 'no_stream', [event(), event(), event()])
    damage(directory, 2, way, 7_919)
    const server = await serve({ directory })
    const store = openEventStoreDb({ url: server.url })
    const shown = ({ stream, revision, id, type, data }: RecordedEvent) => ({ stream, revision, id, type, data })
    for (const read of [
      async (log: EventStore) => log.readStream('transfer-1'),
      async (log: EventStore) => (await log.readAll({ maxCount: 10 })).events,
    ]) {
      const [own, served] = [(await read(embedded)).map(shown), (await read(store)).map(shown)]
      // A bit can flip so that the text is still an event; without a code, nothing reveals it.
      if (way !== 'a flipped bit') t.notSame(served[1]?.type, 'T', way)
      t.same(served, own, way)
    }
    await store.close()
    await server.stop()
    await embedded.close()
  }
})
