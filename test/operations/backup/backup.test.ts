import { execFileSync, spawnSync } from 'node:child_process'
import { createHash, randomBytes, randomUUID } from 'node:crypto'
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
  truncateSync,
  writeFileSync,
} from 'node:fs'
import { basename, join } from 'node:path'
import { isDeepStrictEqual } from 'node:util'
import { gunzipSync } from 'node:zlib'
import { backUpLog, openEventLog } from '@transferd/event-log'
import { Database } from '@transferd/event-log/sqlite'
import { DirectoryTiles, generateSigner, parseSigner, TreeReader } from '@transferd/transparency-log'
import t, { type Test } from 'tap'
import { LogSealer } from '../../../src/audit/integrity/log-sealer.js'
import { cutIntoChunks, type OpenWith } from '../../../src/operations/backup/backup-chunks.js'
import { chunksOf, readManifest } from '../../../src/operations/backup/backup-manifest.js'
import { type CreateBackupOptions, createBackup } from '../../../src/operations/backup/create-backup.js'
import { restoreBackup } from '../../../src/operations/backup/restore-backup.js'
import { TreeSnapshot } from '../../../src/operations/backup/tree-snapshot.js'
import { openEmbeddedKeyStore } from '../../../src/privacy/embedded/embedded-key-store.js'
import { openEmbeddedReadModels } from '../../../src/read-models/embedded/embedded-read-models.js'
import { findReceipt, storeReceipt } from '../../../src/read-models/receipts.js'
import { decryptElsewhere } from '../../support/decrypt-elsewhere.js'
import { wholeLog } from '../../support/expected-documents.js'
import { openTestKeyStore } from '../../support/key-store.js'
import { long } from '../../support/long.js'
import { temporaryDirectory } from '../../support/processes.js'

const canary = 'canary-4410'
const pdf = (text: string) => Buffer.from(`%PDF-${text}`)
const at = (second: number) => `2026-11-22T10:00:${String(second).padStart(2, '0')}.000Z`
const nothing = async () => []
const restoring = { at: '2026-11-22T12:00:00.000Z', inspect: async () => ({ lostEvents: null }) }
const signer = parseSigner(generateSigner('log.example/transferd'))

/** A data directory with a log and its tree, read models with a list and a receipt, and keys. */
async function world(t: Test, events = 40) {
  const root = temporaryDirectory(t)
  const data = join(root, 'data')
  const store = await openEventLog({ directory: data, writerThread: false })
  t.teardown(() => store.close())
  const readModels = await openEmbeddedReadModels({ directory: data })
  t.teardown(() => readModels.close())
  const keyStore = openTestKeyStore(data)
  t.teardown(() => keyStore.close())
  const append = async (count: number) => {
    for (let left = count; left > 0; left -= 1_000) {
      const happened = Array.from({ length: Math.min(left, 1_000) }, () => ({
        ...{ id: randomUUID(), type: 'Happened', metadata: {} },
        data: { text: `${canary} ${randomBytes(300).toString('hex')}` },
      }))
      await store.append(`some-${randomUUID()}`, 'no_stream', happened)
    }
  }
  const tree = join(data, 'audit')
  const seal = async () => {
    const sealer = await LogSealer.open({ store, tiles: new DirectoryTiles(tree) }, signer)
    await sealer.follow(async () => {}, new AbortController().signal)
    await sealer.seal()
  }
  const addKeys = (from: number, to: number) =>
    keyStore.ensure(
      Array.from({ length: to - from }, (_, n) => ({
        ...{ id: `id-${String(from + n).padStart(8, '0')}`, merchantId: 'm', owner: `owner-${from + n}` },
        sealed: randomBytes(100).toString('base64'),
      })),
    )
  await append(events)
  await seal()
  await addKeys(0, 20)
  const receipt = await storeReceipt(readModels, pdf('first'), at(0))
  await readModels
    .collection('transfers')
    .bulkWrite([{ insertOne: { document: { _id: 'a', position: 1, listed: true } } }])
  writeFileSync(join(tree, 'tile', 'names', '999.draft'), 'of a killed process')
  writeFileSync(join(data, 'audit.key'), 'v1.sealed')
  writeFileSync(join(data, 'master.key'), canary)
  const sources = { dataDirectory: data, auditDirectory: tree, log: data, readModels: data, receipts: data, keys: data }
  const target = join(root, 'target')
  const back = (second: number, more: Partial<CreateBackupOptions> = {}) =>
    createBackup({
      ...{ sources, target, encryptTo: undefined, withReadModels: false, at: at(second), verify: nothing },
      ...more,
    })
  const to = join(root, 'restored')
  const again = (openWith?: OpenWith, backup = target) => restoreBackup({ backup, to, openWith, ...restoring })
  const stores = { store, readModels, keyStore }
  return { root, data, ...stores, append, seal, addKeys, receipt: receipt!, target, back, to, again }
}

function filesBelow(directory: string): string[] {
  const entries = readdirSync(directory, { recursive: true, withFileTypes: true })
  return entries.filter((entry) => entry.isFile()).map((entry) => join(entry.parentPath, entry.name))
}

function contains(directory: string, text: string): boolean {
  return filesBelow(directory).some((file) => readFileSync(file).includes(text))
}

async function logIn(directory: string) {
  const restored = await openEventLog({ directory, writerThread: false })
  const log = await wholeLog(restored)
  await restored.close()
  return log
}

t.test('rejects a target that is a file or inside its source before it writes anything', async (t) => {
  const { root, data, back } = await world(t, 1)
  const link = join(root, 'link')
  symlinkSync(data, link)
  const before = readdirSync(data).sort()
  for (const target of [data, join(data, 'backups', 'new'), join(link, 'backups'), join(data, 'audit')])
    await t.rejects(back(1, { target }), { name: 'BackupError', message: /would be lost with it/ }, target)
  const file = join(root, 'file')
  writeFileSync(file, '')
  await t.rejects(back(1, { target: file }), { name: 'BackupError', message: `${file} is not a directory` })
  t.same(readdirSync(data).sort(), before)
  await back(1, { target: `${data}-backups` })
})

t.test('the log of a backup records no later tree than the backup contains', async (t) => {
  const { data, append, seal } = await world(t, 1)
  const path = join(data, 'audit', 'checkpoint')
  const early = readFileSync(path, 'utf8')
  await append(1)
  await seal()
  const late = readFileSync(path, 'utf8')
  writeFileSync(path, early)
  let ends = 0
  const { tree, end } = await TreeSnapshot.withLogEnd(join(data, 'audit'), () => {
    // The service seals and records the checkpoint after the tree of the backup was read.
    writeFileSync(path, late)
    return ++ends
  })
  t.equal(tree?.checkpoint, late)
  t.equal(end, 2, 'the end is read again after the tree that it can record')
})

t.test('restores exactly the stored files', async (t) => {
  const { data, store, readModels, keyStore, receipt, target, back, to, again, append } = await world(t)
  const log = await wholeLog(store)
  const keys = await keyStore.after('', 100)
  const { manifest } = await back(1)
  await append(3)
  t.match(manifest.log, { events: log.length, position: String(log.at(-1)!.position.commit) })
  await again()
  t.same(readdirSync(to).sort(), ['audit', 'audit.key', 'customer-keys.db', 'events.db', 'read-models.db', 'restored'])
  const files = ['checkpoint', 'tile/0/000.p/40', 'tile/names/000.p/40']
  t.same(filesBelow(join(to, 'audit')).sort(), files.map((file) => join(to, 'audit', file)).sort())
  for (const file of files)
    t.ok(readFileSync(join(to, 'audit', file)).equals(readFileSync(join(data, 'audit', file))), file)
  t.equal(statSync(to).mode & 0o777, 0o700)
  for (const file of filesBelow(to)) t.equal(statSync(file).mode & 0o777, 0o600, file)
  t.same(await logIn(to), log)
  const restoredKeys = openEmbeddedKeyStore({ directory: to })
  t.same(await restoredKeys.after('', 100), keys)
  await restoredKeys.close()
  const models = await openEmbeddedReadModels({ directory: to })
  t.same(await findReceipt(models, receipt), await findReceipt(readModels, receipt))
  t.same(await models.listCollections(), ['receipts'], 'the lists are rebuilt from the log')
  await models.close()
  t.notOk(existsSync(join(data, 'backup.staging')), 'the temporary copy is removed')
  t.notOk(contains(target, canary), 'the backup does not contain the master key, and the rest is compressed')
})

t.test('includes the read models on request', async (t) => {
  const { data, readModels, receipt, back, to, again } = await world(t)
  await back(1, { withReadModels: true })
  t.notOk(existsSync(join(data, 'backup.staging')), 'the temporary copy is removed')
  await again()
  const models = await openEmbeddedReadModels({ directory: to })
  t.same(await models.collection('transfers').findOne({ _id: 'a' }), { _id: 'a', position: 1, listed: true })
  t.same(await findReceipt(models, receipt), await findReceipt(readModels, receipt))
  await models.close()
})

t.test('does not start a backup of read models that could fill the disk of the service', async (t) => {
  const { data, readModels, target, back } = await world(t, 1)
  await readModels.close()
  // A file without content that is larger than the free space.
  writeFileSync(join(data, 'read-models.db-wal'), '')
  truncateSync(join(data, 'read-models.db-wal'), 2 ** 43)
  await t.rejects(back(1, { withReadModels: true }), { name: 'BackupError', message: /needs \d+ MiB .* are free/ })
  t.notOk(existsSync(join(data, 'backup.staging')))
  t.notOk(existsSync(target))
})

t.test('a second backup stores only new parts of the log, and either backup can be restored', async (t) => {
  // Only the long form has enough chunks to measure a change of a few. The test of the chunks proves the rule in both forms.
  const events = long ? 12_000 : 1_000
  const { store, readModels, keyStore, append, seal, addKeys, back, root, target } = await world(t, events)
  for (let first = 20; first < (long ? 5_000 : 1_000); first += 1_000) await addKeys(first, first + 1_000)
  for (let n = 0; n < 10; n++) await storeReceipt(readModels, pdf(randomBytes(60_000).toString('hex')), at(1))
  const first = await back(1)
  t.ok(first.newBytes > (long ? 5_000_000 : 500_000), `${first.newBytes} bytes in the first backup`)
  const before = await wholeLog(store)
  const unchanged = await back(2)
  t.ok(unchanged.newBytes < 50_000, `${unchanged.newBytes} bytes if nothing is new`)
  await append(30)
  await seal()
  await addKeys(30_000, 30_010)
  await storeReceipt(readModels, pdf('another'), at(2))
  const third = await back(3)
  // Each of the four parts may complete a chunk of up to a mebibyte, of which compression leaves about half.
  if (long) t.ok(third.newBytes < 2_400_000, `${third.newBytes} bytes for 30 events, 10 keys and a receipt`)
  await keyStore.destroy(['id-00000007', 'id-00000900'])
  const fourth = await back(4)
  if (long) t.ok(fourth.newBytes < 3_000_000, `${fourth.newBytes} bytes after two keys are destroyed`)

  const restored = async (backup: string, to: string) => {
    await restoreBackup({ backup, to: join(root, to), openWith: undefined, ...restoring })
    return logIn(join(root, to))
  }
  // tap would print both logs before it compares them.
  t.ok(isDeepStrictEqual(await restored(first.backup, 'one'), before))
  t.ok(isDeepStrictEqual(await restored(target, 'newest'), await wholeLog(store)))
  const keys = openEmbeddedKeyStore({ directory: join(root, 'newest') })
  t.same(await keys.byIds(['id-00000007']), [])
  t.same(await keys.byIds(['id-00000008', 'id-00030009']), await keyStore.byIds(['id-00000008', 'id-00030009']))
  await keys.close()
  const tree = new TreeReader(new DirectoryTiles(join(root, 'newest', 'audit')), events + 30)
  const source = new TreeReader(new DirectoryTiles(join(root, 'data', 'audit')), events + 30)
  t.same(await tree.root(), await source.root())
  for (const file of filesBelow(join(root, 'newest', 'audit')))
    if (!readFileSync(file).equals(readFileSync(file.replace('/newest/', '/data/')))) t.fail(file)
})

t.test('copies the tree of its checkpoint while the tree grows', async (t) => {
  const { append, seal, back, again, to } = await world(t, 300)
  const verify = async () => {
    await append(500)
    await seal()
    return []
  }
  const { manifest } = await back(1, { verify })
  t.equal(manifest.log?.events, 300)
  await again()
  t.equal(readFileSync(join(to, 'audit', 'checkpoint'), 'utf8').split('\n')[1], '300')
  const reader = new TreeReader(new DirectoryTiles(join(to, 'audit')), 300)
  t.equal((await reader.root()).toString('base64'), manifest.checkpoint!.split('\n')[2])
})

t.test('rejects a damaged, incomplete or foreign backup, names the file, and leaves nothing behind', async (t) => {
  const { root, target, back, to, again } = await world(t)
  const { backup } = await back(1)
  const intact = join(root, 'kept')
  renameSync(target, intact)
  const chunk = filesBelow(join(intact, 'chunks'))[0]!.slice(intact.length + 1)
  const set = backup.slice(target.length + 1)
  const fresh = () => {
    rmSync(target, { recursive: true, force: true })
    for (const file of filesBelow(intact)) {
      const place = join(target, file.slice(intact.length + 1))
      mkdirSync(join(place, '..'), { recursive: true })
      copyFileSync(file, place)
    }
  }
  const edit = (change: (text: string) => string) => {
    const text = readFileSync(join(target, set), 'utf8')
    if (change(text) === text) throw new Error('nothing was changed')
    writeFileSync(join(target, set), change(text))
  }
  const stored = readFileSync(join(intact, chunk))
  const flipped = Buffer.from(stored)
  flipped[stored.length >> 1]! ^= 1
  const damages: [string, () => void, RegExp][] = [
    ['a flipped bit', () => writeFileSync(join(target, chunk), flipped), /damaged: .*chunks/],
    ['a truncated chunk', () => writeFileSync(join(target, chunk), stored.subarray(0, -1)), /damaged: .*chunks/],
    ['a missing chunk', () => rmSync(join(target, chunk)), /incomplete: .*chunks/],
    ['no manifest', () => rmSync(join(target, set)), /no complete backup/],
    ['half a manifest', () => edit((text) => text.slice(0, text.length >> 1)), /cannot be read/],
    ['a foreign manifest', () => edit(() => '{"format":"another"}'), /is not a manifest/],
    ['an unknown part', () => edit((text) => text.replace('"files"', '"../files"')), /is not a manifest/],
    ['a part twice', () => edit((text) => text.replace('"customer-keys"', '"receipts"')), /names a part twice/],
    [
      'exchanged parts',
      () =>
        edit((text) =>
          text
            .replace('"name":"files"', '"name":"x"')
            .replace('"name":"receipts"', '"name":"files"')
            .replace('"name":"x"', '"name":"receipts"'),
        ),
      /damaged/,
    ],
    ['a different end', () => edit((text) => text.replace(/"events":\d+/, '"events":999')), /the manifest states 999/],
    ['a different length', () => edit((text) => text.replace(/"bytes":\d+/, '"bytes":1')), /damaged: .*chunks/],
  ]
  for (const [what, damage, message] of damages) {
    fresh()
    damage()
    await t.rejects(again(), { name: 'BackupError', message }, what)
    t.same(readdirSync(root).sort(), ['data', 'kept', 'target'], what)
  }
  fresh()
  await t.rejects(again(undefined, join(root, 'nowhere')), { message: /backup not found/ })
  mkdirSync(to)
  await t.rejects(again(), { message: /already exists/ }, 'even if it is empty')
})

t.test('refuses to back up a log with a missing event', async (t) => {
  const { data, store, target, back } = await world(t)
  await store.close()
  const db = new Database(join(data, 'events.db'))
  db.exec('DELETE FROM events WHERE position = 7')
  db.close()
  await t.rejects(back(1), { name: 'BackupError', message: /the log is damaged: position 8 follows position 6/ })
  t.notOk(existsSync(join(target, 'sets')))
  const file = join(data, '..', 'events-backup.db')
  t.equal(backUpLog(data, file).events, 39, 'events save copies the rest')
})

const withoutSqlite = spawnSync('sqlite3', ['--version']).status !== 0 && 'sqlite3 is not installed'

t.test('sqlite3 writes a copy of a log in use that can replace it', { skip: withoutSqlite }, async (t) => {
  const { root, data, store, append } = await world(t)
  const to = join(root, 'copied')
  mkdirSync(to)
  const copy = join(to, 'events.db')
  execFileSync('sqlite3', [join(data, 'events.db'), `VACUUM INTO '${copy}'`])
  t.equal(execFileSync('sqlite3', [copy, 'PRAGMA journal_mode=WAL']).toString(), 'wal\n')
  t.same(await logIn(to), await wholeLog(store))
  await append(1)
  t.equal((await wholeLog(store)).length, 41, 'the original is still in use')
})

t.test('stores a chunk again that was damaged in the target', async (t) => {
  const { target, back, again } = await world(t)
  await back(1)
  for (const file of filesBelow(join(target, 'chunks'))) appendFileSync(file, 'x')
  await back(2)
  await t.resolves(again())
})

t.test(
  'encrypts to recipients: only their identities open the backup, and the target contains no plaintext',
  async (t) => {
    const { generateIdentity, identityToRecipient } = await import('age-encryption')
    const [identity, spare, other] = [await generateIdentity(), await generateIdentity(), await generateIdentity()]
    const recipients = [await identityToRecipient(identity), await identityToRecipient(spare)]
    const { root, target, back, again, to } = await world(t)
    await back(1)
    const plain = filesBelow(join(target, 'chunks'))
    const first = await back(2, { encryptTo: { recipients } })
    t.ok(
      chunksOf(first.manifest).every(({ key }) => key !== null),
      'no chunk of an unencrypted backup is used',
    )
    for (const file of filesBelow(join(target, 'chunks')).filter((path) => !plain.includes(path)))
      t.not(readFileSync(file).subarray(0, 2).toString('hex'), '1f8b', 'not gzip')
    const second = await back(3, { encryptTo: { recipients } })
    t.ok(second.newBytes < first.newBytes)
    const stored = filesBelow(target).length
    await t.rejects(back(4), { name: 'BackupError', message: /are encrypted: add --recipient/ })
    t.equal(filesBelow(target).length, stored, 'no plaintext is stored next to the encrypted chunks')
    await t.rejects(again(), { message: /is encrypted: add --identity-file/ })
    await t.rejects(again({ identities: [other] }), { message: /cannot be opened/ })
    await t.rejects(again({ identities: ['no identity'] }), { message: /AGE-SECRET-KEY/ })
    await again({ identities: [spare] })
    t.ok((await logIn(to)).length > 0)
    const invalid = back(4, { encryptTo: { recipients: ['age1nobody'] } })
    await t.rejects(invalid, { message: /is not an age recipient/ })
    const [chunk] = chunksOf(readManifest(second.backup))
    rmSync(join(target, 'keys', `${chunk!.key}.age`))
    const openWith = { identities: [identity] }
    const incomplete = restoreBackup({ backup: target, to: join(root, 'x'), openWith, ...restoring })
    await t.rejects(incomplete, { message: /incomplete: .*keys/ })
  },
)

t.test('other software reads an encrypted backup as the page describes its format', async (t) => {
  const { Decrypter, generateIdentity, identityToRecipient } = await import('age-encryption')
  const identity = await generateIdentity()
  const { data, store, keyStore, target, back } = await world(t)
  const encryptTo = { recipients: [await identityToRecipient(identity)] }
  const { manifest } = await back(1, { encryptTo, withReadModels: true })
  const decrypter = new Decrypter()
  decrypter.addIdentity(identity)
  const [keyFile] = filesBelow(join(target, 'keys'))
  const key = await decrypter.decrypt(readFileSync(keyFile!))
  const names = new Map(filesBelow(join(target, 'chunks')).map((path) => [basename(path).split('.')[0]!, path]))
  const contentOf = (name: string) =>
    Buffer.concat(
      manifest.parts
        .find((part) => part.name === name)!
        .chunks.map(({ id }) => gunzipSync(decryptElsewhere(key, readFileSync(names.get(id)!), Buffer.from(id)))),
    )
  const linesOf = (name: string) =>
    contentOf(name)
      .toString()
      .trimEnd()
      .split('\n')
      .map((line) => JSON.parse(line))
  const log = await wholeLog(store)
  t.same(
    linesOf('events').map(([position, , revision, , name]) => [position, revision, name]),
    log.map(({ position, revision, stream }) => [Number(position.commit), revision, stream]),
  )
  t.ok(linesOf('events').every((line) => line.length === 6 && line[5].includes(canary)))
  t.equal(contentOf('read-models').toString('latin1', 0, 15), 'SQLite format 3')
  t.same(linesOf('receipts'), [[at(0), pdf('first').toString('base64')]])
  const keys = await keyStore.after('', 100)
  t.same(
    linesOf('customer-keys'),
    keys.map(({ id, merchantId, owner, sealed }) => [id, merchantId, owner, sealed]),
  )
  const files = contentOf('files')
  const checkpoint = readFileSync(join(data, 'audit', 'checkpoint'))
  const record = `${JSON.stringify({ path: 'audit/checkpoint', bytes: checkpoint.length })}\n${checkpoint}`
  t.ok(files.includes(record))
})

t.test('runs one backup at a time', async (t) => {
  const { back } = await world(t)
  const verify = async () => {
    await t.rejects(back(2), { message: /another backup of .* is in progress/ })
    return []
  }
  await back(1, { verify })
})

t.test('stores nothing if the log cannot be verified', async (t) => {
  const { data, target, back } = await world(t)
  const verify = () => Promise.reject(new Error('the log is unavailable'))
  await t.rejects(back(1, { verify, withReadModels: true }), { message: /is unavailable/ })
  t.notOk(existsSync(target))
  t.notOk(existsSync(join(data, 'backup.staging')))
})

t.test('includes a receipt that is stored after the backup started', async (t) => {
  const { readModels, receipt, back, again, to } = await world(t)
  let second: string | undefined
  const verify = async () => {
    second = await storeReceipt(readModels, pdf('second'), at(1))
    return []
  }
  await back(1, { verify, withReadModels: true })
  await again()
  const copy = await openEmbeddedReadModels({ directory: to })
  for (const sha256 of [receipt, second!]) t.ok(await findReceipt(copy, sha256), sha256)
  await copy.close()
})

t.test(
  'chunks contain the exact bytes of the records, and most are unchanged after an insertion or removal',
  async (t) => {
    const record = (n: number) =>
      createHash('shake256', { outputLength: 500 + (n % 500) })
        .update(String(n))
        .digest()
    const count = long ? 40_000 : 16_000
    const records = Array.from({ length: count }, (_, n) => record(n))
    const chunksOfAll = async (all: readonly Buffer[]) => {
      const chunks: Buffer[] = []
      for await (const chunk of cutIntoChunks(all)) chunks.push(chunk)
      t.ok(Buffer.concat(chunks).equals(Buffer.concat(all)))
      return chunks
    }
    const before = await chunksOfAll(records)
    const known = new Set(before.map((chunk) => chunk.toString('latin1')))
    t.ok(known.size > 6)
    const middle = [...records.slice(0, count / 2), record(50_000), ...records.slice(count / 2 + 1)]
    const isNew = (chunk: Buffer) => !known.has(chunk.toString('latin1'))
    t.ok((await chunksOfAll(middle)).filter(isNew).length <= 3)
    const longer = (await chunksOfAll([...records, record(50_000)])).filter(isNew)
    t.ok(longer.reduce((sum, { length }) => sum + length, 0) < 2 ** 17 + 1_000, 'an addition changes only the end')
  },
)
