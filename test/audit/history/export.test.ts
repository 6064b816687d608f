import { createHash, randomUUID } from 'node:crypto'
import { appendFileSync, existsSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import fc from 'fast-check'
import t from 'tap'
import {
  type ExportFormat,
  type ExportQuery,
  exportPages,
  headOf,
  manifestOf,
  measuredExport,
} from '../../../src/audit/history/export.js'
import {
  ExportError,
  type ExportOptions,
  type ExportTarget,
  exportToFiles as exportSigned,
} from '../../../src/audit/history/export-files.js'
import { type AuditRecord, withheldFields } from '../../../src/audit/history/records.js'
import { eventSchemas } from '../../../src/event-store/event-codec.js'
import { endOfLog, type RecordedEvent } from '../../../src/event-store/event-store.js'
import { goldenEvents } from '../../event-store/codec/golden-events.js'
import { openTestStore } from '../../support/embedded-store.js'
import { logOf, longLog, steps } from '../../support/random-log.js'
import { cellOf, rawCells } from '../../support/spreadsheet.js'
import { type GivenLog, givenLog } from './given-log.js'

const limits = { eventsPerFile: 10, pagesPerSave: 3 }
const quiet = {
  signal: new AbortController().signal,
  onProgress: () => undefined,
  limits,
}
const everything: Omit<ExportQuery, 'until'> = { format: 'ndjson', merchantId: null, from: null, to: null }

/** Exports to the end of the log without a signature. */
function exportToFiles(
  store: GivenLog,
  request: Omit<ExportQuery, 'until'>,
  target: ExportTarget,
  options: Omit<ExportOptions, 'end' | 'sign'>,
) {
  return exportSigned(store, request, target, { ...options, end: () => endOfLog(store), sign: async (same) => same })
}

class Killed extends Error {
  override readonly name = 'Killed'
}

/** Returns a log that throws after the given number of reads, as if the process was killed. */
function killedAfter(log: GivenLog, reads: number): GivenLog {
  let left = reads
  return {
    ...log,
    readAll(options) {
      if (left-- === 0) throw new Killed()
      return log.readAll(options)
    },
  }
}

/** Returns the content of every file by its name. */
function filesIn(directory: string): { [name: string]: string } {
  return Object.fromEntries(readdirSync(directory).map((name) => [name, readFileSync(join(directory, name), 'utf8')]))
}

const isManifest = (name: string) => name.endsWith('manifest.json')
const isData = (name: string) => /^events-|^log\.(csv|ndjson)$/.test(name)

t.test(
  'an export that is killed repeatedly, at any place, writes the same files as an uninterrupted one',
  async (t) => {
    const root = t.testdir()
    const kills = fc.array(fc.record({ reads: fc.nat(20), torn: fc.boolean() }), { maxLength: 4 })
    let runs = 0
    await fc.assert(
      fc.asyncProperty(steps, kills, fc.boolean(), fc.boolean(), async (history, interruptions, asCsv, isDirectory) => {
        const log = givenLog(logOf(history), 2)
        const criteria = { ...everything, format: asCsv ? 'csv' : 'ndjson' } as const
        const run = (store: GivenLog, directory: string) => {
          const path = isDirectory ? directory : join(directory, `log.${criteria.format}`)
          return exportToFiles(store, criteria, { path, isDirectory }, quiet)
        }
        const [whole, killed] = [join(root, `whole-${++runs}`), join(root, `killed-${runs}`)]
        await run(log, whole)
        for (const { reads, torn } of interruptions) {
          await run(killedAfter(log, reads), killed).catch((error) => t.ok(error instanceof Killed, String(error)))
          const names = readdirSync(killed)
          if (names.some(isManifest)) break
          // A kill can leave half a line on the disk.
          const last = names.filter(isData).sort().at(-1)
          if (torn && last !== undefined) appendFileSync(join(killed, last), '{"posi')
        }
        if (!existsSync(killed) || !readdirSync(killed).some(isManifest)) await run(log, killed)
        t.strictSame(filesIn(killed), filesIn(whole))
      }),
      { numRuns: 15 },
    )
  },
)

t.test('the manifest describes the files, and a measurement without writing returns the same manifest', async (t) => {
  const log = longLog(11)
  const store = givenLog(log, 3)
  const until = log.at(-1)!.position
  const [merchantId] = log.map(({ data }) => String(data.merchantId))
  const from = new Date(log[Math.floor(log.length / 3)]!.recordedAtMs).toISOString()
  for (const format of ['ndjson', 'csv'] as const satisfies readonly ExportFormat[]) {
    const criteria = { format, merchantId: merchantId!, from, to: null }
    const directory = t.testdir()
    const manifest = await exportToFiles(store, criteria, { path: join(directory, 'x'), isDirectory: false }, quiet)
    const selected = log.filter(
      ({ data, recordedAtMs }) => data.merchantId === merchantId && recordedAtMs >= Date.parse(from),
    )
    t.ok(selected.length > 0 && selected.length < log.length, 'the export covers a part of the log')
    const text = readFileSync(join(directory, 'x'), 'utf8')
    const sha256 = createHash('sha256').update(text).digest('hex')
    t.match(manifest, {
      ...{ format, merchantId, from, to: null, until: String(until.commit), events: selected.length },
      firstPosition: String(selected[0]?.position.commit),
      lastPosition: String(selected.at(-1)?.position.commit),
      files: [{ name: 'x', events: selected.length, bytes: Buffer.byteLength(text), sha256 }],
    })
    const query = { ...criteria, until }
    t.strictSame(manifestOf(query, await measuredExport({ store }, { ...query, name: 'x' })), manifest)
    if (format === 'csv') t.match(text, /^position,recordedAt,at,stream,.*\r\n/)
    else {
      const records = text
        .trimEnd()
        .split('\n')
        .map((line) => JSON.parse(line) as AuditRecord)
      t.strictSame(
        records.map(({ stream, revision, id, data }) => ({ stream, revision, id, data })),
        selected.map(({ stream, revision, id, data }) => ({ stream, revision, id, data })),
      )
    }
  }
})

t.test(
  'CSV is for programs: it has the same values as NDJSON, and no separator lets a text start a cell',
  async (t) => {
    const message = '007;=1+1;\n"=2'
    const log = longLog(11).map((recorded) => {
      return 'message' in recorded.data ? { ...recorded, data: { ...recorded.data, message } } : recorded
    })
    const directory = t.testdir()
    const write = async (format: ExportFormat) => {
      await exportToFiles(givenLog(log, 3), { ...everything, format }, { path: directory, isDirectory: true }, quiet)
      const names = readdirSync(directory).filter((name) => name.endsWith(`.${format}`))
      const texts = names.sort().map((name) => readFileSync(join(directory, name), 'utf8'))
      rmSync(join(directory, 'manifest.json'))
      return { names, texts }
    }
    const csv = await write('csv')
    t.ok(csv.names.every((name) => /^events-exact-\d{6}\.csv$/.test(name)))
    const rows = csv.texts.flatMap((text) => {
      const [head = [], ...rows] = rawCells(text, ',')
      return rows.map((row) => Object.fromEntries(head.map((name, index) => [name, row[index]!])))
    })
    const { texts } = await write('ndjson')
    const records = texts.flatMap((text) => text.trimEnd().split('\n')).map((line) => JSON.parse(line))
    t.ok(records.some(({ data }) => data.message === message))
    t.strictSame(
      rows.map(({ position, stream, revision, data }) => ({ position, stream, revision, data: JSON.parse(data!) })),
      records.map(({ position, stream, revision, data }) => ({ position, stream, revision: String(revision), data })),
    )
    for (const separator of [';', '\t'])
      for (const text of csv.texts)
        for (const raw of rawCells(text, separator).flat()) t.not(cellOf(raw).is, 'formula', raw)
  },
)

const merchantId = '6f6a5c0e-52a1-4f0e-9d2b-0f0f5d3c1a11'
const userId = '5b0d7c52-9a1c-4c66-8a57-0c2f6c1e7d11'
const actor = `user:${userId}`
/** The data and the actor that differ from the stored sample, with the expected names. */
const named: readonly (readonly [
  type: string,
  stream: string,
  data: object,
  actor: string,
  actorName: string,
  merchantName: string | null,
])[] = [
  ['TransferReopened', 'transfer-a', {}, actor, actor, null],
  ['UserCreated', `user-${userId}`, { name: 'Ada' }, 'cli:grace', 'cli:grace', null],
  ['MerchantRegistered', `merchant-${merchantId}`, {}, actor, 'Ada', 'Blue Shop'],
  ['MerchantSuspended', `merchant-${merchantId}`, {}, 'customer', 'customer', 'Blue Shop'],
  ['MerchantSettingsChanged', `merchant-${merchantId}`, { changes: { name: 'Red' } }, actor, 'Ada', 'Red'],
  ['MerchantSettingsChanged', `merchant-${merchantId}`, { changes: { sandbox: true } }, actor, 'Ada', 'Red'],
  ['UserDisabled', `user-${userId}`, {}, 'user:unknown', 'user:unknown', null],
  ['MerchantSettingsChanged', `merchant-${merchantId}`, { changes: { name: 'Blue' } }, actor, 'Ada', 'Blue'],
  ['MerchantResumed', `merchant-${merchantId}`, {}, `merchant:${merchantId}`, `merchant:${merchantId}`, 'Blue'],
]

t.test('names users and merchants as of each event, wherever an export resumes and whatever follows', async (t) => {
  const store = await openTestStore(t)
  for (const [type, stream, data, actor] of named) {
    const golden = goldenEvents.get(`${type}.v1`)!
    const revision = (await store.readStream(stream)).length - 1
    const changed = { data: { ...golden.data, ...data }, metadata: { ...golden.metadata, actor } }
    await store.append(stream, revision < 0 ? 'no_stream' : revision, [{ ...golden, id: randomUUID(), ...changed }])
  }
  const positions = (await store.readAll({ maxCount: 100 })).events.map(({ position }) => position)
  t.equal(positions.length, named.length)
  const linesOf = async (query: Omit<ExportQuery, 'until'>, until: number, after?: number) => {
    const lines: string[] = []
    const ends = { until: positions[until]! }
    const from = after === undefined ? undefined : positions[after]
    for await (const page of exportPages(store, { ...query, ...ends }, from)) lines.push(...page.lines)
    return lines
  }
  const names = (line: string) => {
    const { actorName, merchantName } = JSON.parse(line) as { actorName: string; merchantName: string | null }
    return [actorName, merchantName]
  }
  const last = named.length - 1
  t.strictSame(
    (await linesOf(everything, last)).map(names),
    named.map(([, , , , actorName, merchantName]) => [actorName, merchantName]),
  )
  for (const format of ['ndjson', 'csv'] as const)
    for (const [index] of named.entries()) {
      const whole = await linesOf({ ...everything, format }, last)
      t.strictSame(await linesOf({ ...everything, format }, last, index), whole.slice(index + 1), `${format} ${index}`)
      t.strictSame(await linesOf({ ...everything, format }, index), whole.slice(0, index + 1), `${format} to ${index}`)
    }
  const csv = rawCells(`${headOf('csv')}${(await linesOf({ ...everything, format: 'csv' }, last)).join('')}`, ',')
  const [head = [], ...rows] = csv
  t.strictSame(
    rows.map((row) => ['actorName', 'merchantName'].map((name) => row[head.indexOf(name)])),
    named.map(([, , , , actorName, merchantName]) => [actorName, merchantName ?? '']),
  )
})

t.test('an export overwrites no file and does not resume a different export', async (t) => {
  const store = givenLog(logOf([{ transfer: 1, what: 0, minutes: 0, amount: 10_000 }]), 1)
  const directory = t.testdir({ existing: 'another file' })
  const to = (name: string) => ({ path: join(directory, name), isDirectory: false })
  await t.rejects(exportToFiles(store, everything, to('existing'), quiet), ExportError)
  t.equal(readFileSync(join(directory, 'existing'), 'utf8'), 'another file')
  await t.rejects(exportToFiles(killedAfter(store, 0), everything, to('export'), quiet), Killed)
  await t.rejects(
    exportToFiles(store, { ...everything, format: 'csv' }, to('export'), quiet),
    /belongs to a different export/,
  )
  t.ok(await exportToFiles(store, everything, to('export'), quiet))
  await t.rejects(exportToFiles(store, everything, to('export'), quiet), /already exists/)
  const stopped = new AbortController()
  stopped.abort()
  t.equal(await exportToFiles(store, everything, to('stopped'), { ...quiet, signal: stopped.signal }), undefined)
  writeFileSync(join(directory, 'stopped'), '')
  await t.rejects(exportToFiles(store, everything, to('stopped'), quiet), /was changed since/)
})

/** Returns the paths of sealed values in a schema, and of digests that allow guesses of a secret. */
function secretPaths(schema: object, above: readonly string[] = []): string[][] {
  const { pattern, properties, items, anyOf } = schema as {
    readonly pattern?: string
    readonly properties?: { readonly [name: string]: object }
    readonly items?: object
    readonly anyOf?: readonly object[]
  }
  const isSecret = pattern !== undefined && /^\^(v\d|\[0-9a-f\]\{64\}|\\\$argon2id)/.test(pattern)
  return [
    ...(isSecret ? [[...above]] : []),
    ...Object.entries(properties ?? {}).flatMap(([name, each]) => secretPaths(each, [...above, name])),
    ...(items ? secretPaths(items, above) : []),
    ...(anyOf ?? []).flatMap((each) => secretPaths(each, above)),
  ]
}

t.test('an export contains no secret, and an unreadable event without its data', async (t) => {
  for (const [type, schema] of Object.entries(eventSchemas))
    for (const path of secretPaths(schema))
      t.ok(
        // Everyone can see a logo.
        type === 'MerchantLogoChanged' || path.some((name) => withheldFields.has(name)),
        `${type} ${path}`,
      )
  const [first] = logOf([{ transfer: 1, what: 0, minutes: 0, amount: 10_000 }])
  const unreadable: RecordedEvent = { ...first!, data: { secretOfAnotherKind: 'tk_1' }, type: 'DepositCreated' }
  const directory = t.testdir()
  await exportToFiles(givenLog([unreadable]), everything, { path: join(directory, 'x'), isDirectory: false }, quiet)
  const record = JSON.parse(readFileSync(join(directory, 'x'), 'utf8'))
  t.equal(record.data, null)
  t.match(record.unreadable, /does not fit its schema/)
})
