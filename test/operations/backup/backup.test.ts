import { randomBytes, randomUUID } from 'node:crypto'
import {
  appendFileSync,
  copyFileSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs'
import { join } from 'node:path'
import Database from 'better-sqlite3'
import t, { type Test } from 'tap'
import { openEmbeddedEventStore } from '../../../src/event-store/embedded.js'
import { type BackUpOptions, backUp } from '../../../src/operations/backup/back-up.js'
import { type CutFile, cut } from '../../../src/operations/backup/cut.js'
import type { OpenWith } from '../../../src/operations/backup/encryption.js'
import { readManifest } from '../../../src/operations/backup/manifest.js'
import { addMissingReceipts } from '../../../src/operations/backup/receipts.js'
import { restore } from '../../../src/operations/backup/restore.js'
import { openEmbeddedReadModels } from '../../../src/read-models/embedded/embedded-read-models.js'
import { findReceipt, storeReceipt } from '../../../src/read-models/receipts.js'
import { wholeLog } from '../../support/expected-documents.js'
import { temporaryDirectory } from '../../support/processes.js'

const canary = 'canary-4410'
const pdf = (text: string) => Buffer.from(`%PDF-${text}`)
const at = (second: number) => `2026-11-22T10:00:${String(second).padStart(2, '0')}.000Z`
const nothing = async () => undefined

/** A data directory with a log, read models with a receipt, keys and a tree. */
async function world(t: Test, events = 40) {
  const root = temporaryDirectory(t)
  const data = join(root, 'data')
  const store = await openEmbeddedEventStore({ directory: data })
  t.teardown(() => store.close())
  const readModels = await openEmbeddedReadModels({ directory: data })
  t.teardown(() => readModels.close())
  const append = (count: number) => {
    const happened = Array.from({ length: count }, () => {
      return {
        id: randomUUID(),
        type: 'Happened',
        data: { text: `${canary} ${randomBytes(300).toString('hex')}` },
        metadata: {},
      }
    })
    return store.append(`some-${randomUUID()}`, 'no_stream', happened)
  }
  for (let left = events; left > 0; left -= 1_000) await append(Math.min(left, 1_000))
  const receipt = await storeReceipt(readModels, pdf('first'), at(0))
  const keys = new Database(join(data, 'customer-keys.db'))
  keys.exec("CREATE TABLE keys (id TEXT PRIMARY KEY, sealed TEXT); INSERT INTO keys VALUES ('a', 'v1.x')")
  keys.close()
  mkdirSync(join(data, 'audit', 'tile', '0'), { recursive: true })
  writeFileSync(join(data, 'audit', 'checkpoint'), 'transferd\n1\nAAAA\n')
  writeFileSync(join(data, 'audit', 'tile', '0', '000'), 'a whole tile')
  mkdirSync(join(data, 'audit', 'tile', '0', '001.p'))
  writeFileSync(join(data, 'audit', 'tile', '0', '001.p', '7'), 'a part of one')
  writeFileSync(join(data, 'audit', 'tile', '0', '002.draft'), 'of a killed process')
  writeFileSync(join(data, 'audit.key'), 'v1.sealed')
  writeFileSync(join(data, 'master.key'), canary)
  const openReadModels = (directory: string) => openEmbeddedReadModels({ directory })
  const sources = {
    openReadModels,
    dataDirectory: data,
    auditDirectory: join(data, 'audit'),
    log: data,
    readModels: data,
  }
  const target = join(root, 'target')
  const back = (second: number, more: Partial<BackUpOptions> = {}) =>
    backUp({ sources, target, encryptTo: undefined, at: at(second), verify: nothing, ...more })
  const to = join(root, 'restored')
  const again = (openWith?: OpenWith, backup = target) => restore({ backup, to, openWith, verify: nothing })
  return { root, data, store, readModels, append, receipt: receipt!, target, back, to, again, sources }
}

function filesBelow(directory: string): string[] {
  const entries = readdirSync(directory, { recursive: true, withFileTypes: true })
  return entries.filter((entry) => entry.isFile()).map((entry) => join(entry.parentPath, entry.name))
}

function holds(directory: string, text: string): boolean {
  return filesBelow(directory).some((file) => readFileSync(file).includes(text))
}

t.test('a backup into what it is of, or into a file, is refused before anything is written', async (t) => {
  const { root, data, back } = await world(t, 1)
  const link = join(root, 'link')
  symlinkSync(data, link)
  const before = readdirSync(data).sort()
  for (const target of [data, join(data, 'backups', 'new'), join(link, 'backups'), join(data, 'audit')])
    await t.rejects(back(1, { target }), { name: 'BackupError', message: /would be lost with it/ }, target)
  const file = join(root, 'file')
  writeFileSync(file, '')
  await t.rejects(back(1, { target: file }), { name: 'BackupError', message: `${file} is no directory` })
  t.same(readdirSync(data).sort(), before)
  await back(1, { target: `${data}-backups` })
})

t.test('what is restored is what was backed up, and nothing else', async (t) => {
  const { data, store, readModels, receipt, target, back, to, again, append } = await world(t)
  const log = await wholeLog(store)
  const { manifest } = await back(1)
  await append(3)
  t.match(manifest.log, { events: log.length, position: String(log.at(-1)!.position.commit) })
  await again()
  t.same(readdirSync(to).sort(), ['audit', 'audit.key', 'customer-keys.db', 'events.db', 'read-models.db'])
  t.same(readdirSync(join(to, 'audit'), { recursive: true }).sort(), [
    ...['checkpoint', 'tile', 'tile/0', 'tile/0/000', 'tile/0/001.p', 'tile/0/001.p/7'],
  ])
  t.equal(statSync(to).mode & 0o777, 0o700)
  for (const file of filesBelow(to)) t.equal(statSync(file).mode & 0o777, 0o600, file)
  const restored = await openEmbeddedEventStore({ directory: to })
  t.same(await wholeLog(restored), log)
  await restored.close()
  const models = await openEmbeddedReadModels({ directory: to })
  t.same(await findReceipt(models, receipt), await findReceipt(readModels, receipt))
  await models.close()
  t.notOk(existsSync(join(data, 'backup.staging')), 'no copy is left')
  t.notOk(holds(target, canary), 'the master key is in no backup; the rest is compressed')
})

t.test('a second backup stores what is new, and either can be restored', async (t) => {
  const { store, append, back, root, target } = await world(t, 10_000)
  const first = await back(1)
  const before = await wholeLog(store)
  t.equal((await back(2)).newBytes < first.newBytes / 20, true, 'nothing has changed but a counter')
  await append(30)
  const third = await back(3)
  // About ten pieces, of which the appended events change the last and some of the indexes.
  t.equal(third.newBytes < first.newBytes / 2, true, `${third.newBytes} of ${first.newBytes}`)
  const eventsIn = async (backup: string, to: string) => {
    await restore({ backup, to, openWith: undefined, verify: nothing })
    const restored = await openEmbeddedEventStore({ directory: to })
    const log = await wholeLog(restored)
    await restored.close()
    return log
  }
  t.same(await eventsIn(first.backup, join(root, 'one')), before)
  t.same(await eventsIn(target, join(root, 'newest')), await wholeLog(store))
})

t.test('a damaged, incomplete or foreign backup is refused, with the file, and leaves nothing behind', async (t) => {
  const { root, target, back, to, again } = await world(t)
  const { backup, manifest } = await back(1)
  const kept = join(root, 'kept')
  renameSync(target, kept)
  const chunk = filesBelow(join(kept, 'chunks'))[0]!.slice(kept.length + 1)
  const set = backup.slice(target.length + 1)
  const fresh = () => {
    rmSync(target, { recursive: true, force: true })
    for (const file of filesBelow(kept)) {
      const place = join(target, file.slice(kept.length + 1))
      mkdirSync(join(place, '..'), { recursive: true })
      copyFileSync(file, place)
    }
  }
  const edit = (change: (text: string) => string) =>
    writeFileSync(join(target, set), change(readFileSync(join(target, set), 'utf8')))
  const stored = readFileSync(join(kept, chunk))
  const flipped = Buffer.from(stored)
  flipped[stored.length >> 1]! ^= 1
  const ways: [string, () => void, RegExp][] = [
    ['a bit', () => writeFileSync(join(target, chunk), flipped), /damaged: .*chunks/],
    ['a cut part', () => writeFileSync(join(target, chunk), stored.subarray(0, -1)), /damaged: .*chunks/],
    ['a missing part', () => rmSync(join(target, chunk)), /incomplete: .*chunks/],
    ['no manifest', () => rmSync(join(target, set)), /no complete backup/],
    ['half a manifest', () => edit((text) => text.slice(0, text.length >> 1)), /cannot be read/],
    ['a foreign manifest', () => edit(() => '{"format":"another"}'), /no manifest of a backup/],
    ['a file above', () => edit((text) => text.replace('"audit.key"', '"../audit.key"')), /no manifest of a backup/],
    [
      'an absolute file',
      () => edit((text) => text.replace('"audit.key"', '"/tmp/audit.key"')),
      /no manifest of a backup/,
    ],
    [
      'other bytes',
      () => edit((text) => text.replace(manifest.files[0]!.sha256, manifest.files[1]!.sha256)),
      /not what was backed up/,
    ],
    ['another end', () => edit((text) => text.replace(/"events": \d+/, '"events": 999')), /should at/],
    ['another length', () => edit((text) => text.replace(/"bytes": \d+/, '"bytes": 1')), /contradicts itself/],
  ]
  for (const [what, harm, told] of ways) {
    fresh()
    harm()
    await t.rejects(again(), { name: 'BackupError', message: told }, what)
    t.same(readdirSync(root).sort(), ['data', 'kept', 'target'], what)
  }
  fresh()
  await t.rejects(again(undefined, join(root, 'nowhere')), { message: /there is no backup/ })
  mkdirSync(to)
  await t.rejects(again(), { message: /there already/ }, 'even an empty directory')
})

t.test('a part that was damaged in the target is stored anew by the next backup', async (t) => {
  const { target, back, again } = await world(t)
  await back(1)
  for (const file of filesBelow(join(target, 'chunks'))) appendFileSync(file, 'x')
  await back(2)
  await t.resolves(again())
})

t.test('encrypted to recipients: nothing is to be read in the target, and only an identity opens it', async (t) => {
  const { generateIdentity, identityToRecipient } = await import('age-encryption')
  const [identity, spare, other] = [await generateIdentity(), await generateIdentity(), await generateIdentity()]
  const recipients = [await identityToRecipient(identity), await identityToRecipient(spare)]
  const { root, target, back, again, to } = await world(t)
  await back(1)
  const plain = filesBelow(join(target, 'chunks'))
  const first = await back(2, { encryptTo: { recipients } })
  t.ok(
    first.manifest.chunks.every(({ key }) => key !== null),
    'no part of one that is not encrypted is used',
  )
  for (const file of filesBelow(join(target, 'chunks')).filter((path) => !plain.includes(path)))
    t.not(readFileSync(file).subarray(0, 2).toString('hex'), '1f8b', 'not gzip')
  const second = await back(3, { encryptTo: { recipients } })
  t.ok(second.newBytes < first.newBytes)
  const stored = filesBelow(target).length
  await t.rejects(back(4), { name: 'BackupError', message: /are encrypted: give --recipient/ })
  t.equal(filesBelow(target).length, stored, 'nothing is stored in clear beside them')
  await t.rejects(again(), { message: /is encrypted: give --identity-file/ })
  await t.rejects(again({ identities: [other] }), { message: /does not open/ })
  await t.rejects(again({ identities: ['no identity'] }), { message: /AGE-SECRET-KEY/ })
  await again({ identities: [spare] })
  const restored = await openEmbeddedEventStore({ directory: to })
  t.ok((await wholeLog(restored)).length > 0)
  await restored.close()
  const badly = back(4, { encryptTo: { recipients: ['age1nobody'] } })
  await t.rejects(badly, { message: /no recipient of age/ })
  const [part] = readManifest(second.backup).chunks
  rmSync(join(target, 'keys', `${part!.key}.age`))
  const lost = restore({ backup: target, to: join(root, 'x'), openWith: { identities: [identity] }, verify: nothing })
  await t.rejects(lost, { message: /incomplete: .*keys/ })
})

t.test('one backup at a time', async (t) => {
  const { back } = await world(t)
  const verify = async () => {
    await t.rejects(back(2), { message: /another backup of .* is under way/ })
  }
  await back(1, { verify })
})

t.test('copies that do not verify are not stored', async (t) => {
  const { data, target, back } = await world(t)
  const verify = () => Promise.reject(new Error('the tree does not hold'))
  await t.rejects(back(1, { verify }), { message: /does not hold/ })
  t.notOk(existsSync(target))
  t.notOk(existsSync(join(data, 'backup.staging')))
})

t.test('a receipt that came between the copies of read models and log is in the backup', async (t) => {
  const { data, root, readModels, receipt } = await world(t)
  const staged = join(root, 'staged')
  mkdirSync(staged)
  await readModels.close()
  copyFileSync(join(data, 'read-models.db'), join(staged, 'read-models.db'))
  const live = await openEmbeddedReadModels({ directory: data })
  const second = await storeReceipt(live, pdf('second'), at(1))
  await live.close()
  await addMissingReceipts(data, staged, (directory) => openEmbeddedReadModels({ directory }))
  const copy = await openEmbeddedReadModels({ directory: staged })
  for (const sha256 of [receipt, second!]) t.ok(await findReceipt(copy, sha256), sha256)
  await copy.close()
})

t.test('pieces are the bytes of the files, and most of them stay when pages are put in between', async (t) => {
  const directory = temporaryDirectory(t)
  const pages = Array.from({ length: 4_000 }, () => randomBytes(4_096))
  const files = [
    { path: 'a', source: join(directory, 'a') },
    { path: 'b', source: join(directory, 'b') },
  ]
  const pieces = (...all: Buffer[]) => {
    writeFileSync(join(directory, 'a'), Buffer.concat(all))
    writeFileSync(join(directory, 'b'), 'the end')
    const told: CutFile[] = []
    const result = [...cut(files, (file) => told.push(file))]
    t.same(
      told.map(({ path, bytes }) => [path, bytes]),
      [
        ['a', all.length * 4_096],
        ['b', 7],
      ],
    )
    t.ok(Buffer.concat(result).equals(Buffer.concat([...all, Buffer.from('the end')])))
    return result.map((piece) => piece.toString('latin1'))
  }
  const before = new Set(pieces(...pages))
  t.ok(before.size > 8)
  const after = pieces(...pages.slice(0, 2_000), randomBytes(4_096), ...pages.slice(2_000))
  t.ok(after.filter((piece) => !before.has(piece)).length <= 2)
})
