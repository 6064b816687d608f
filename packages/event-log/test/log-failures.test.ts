import { execFileSync } from 'node:child_process'
import { randomUUID } from 'node:crypto'
import { chmodSync, mkdirSync, mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { MessagePort } from 'node:worker_threads'
import t from 'tap'
import { openEventLog, type SharedEventLog } from '../src/event-log.js'
import { damagedType, type NewEvent, StoreUnavailableError } from '../src/event-log-types.js'
import { Database } from '../src/sqlite/sqlite.js'
import { StreamStore } from '../src/stream-store.js'
import { tempDirectory } from './support/temp-directory.js'

function event(bytes = 100): NewEvent {
  return { id: randomUUID(), type: 'T', data: { text: 'x'.repeat(bytes) }, metadata: {} }
}

async function fails(store: SharedEventLog, bytes: number): Promise<boolean> {
  const result = await store.append(`x-${randomUUID()}`, 'no_stream', [event(bytes)]).catch((error: unknown) => error)
  if (result instanceof StoreUnavailableError) return true
  if (result instanceof Error) throw result
  return false
}

function mountSmall(directory: string): void {
  execFileSync('mount', ['-t', 'tmpfs', '-o', 'size=16m', 'tmpfs', directory], { stdio: 'ignore' })
}

/** Returns the reason why the test cannot mount a small file system, or `false` if it can. */
function cannotMount(): string | false {
  const directory = mkdtempSync(join(tmpdir(), 'transferd-mount-'))
  try {
    mountSmall(directory)
    execFileSync('umount', [directory])
    return false
  } catch {
    return 'mounting a small file system needs root'
  } finally {
    rmSync(directory, { recursive: true, force: true })
  }
}

const fullDisk = 'appends on a full disk fail and store nothing, and succeed again when there is space'
t.test(fullDisk, { skip: cannotMount() }, async (t) => {
  const mount = tempDirectory(t)
  mountSmall(mount)
  t.teardown(() => execFileSync('umount', ['-l', mount]))
  const store = await openEventLog({ directory: join(mount, 'data') })
  t.teardown(() => store.close())
  const kept = await store.append('kept', 'no_stream', [event()])
  writeFileSync(join(mount, 'ballast'), Buffer.alloc(8 * 1024 * 1024))
  let acknowledged = 1
  while (!(await fails(store, 500_000))) acknowledged += 1
  t.ok(acknowledged > 1, `${acknowledged} events fit`)
  // All appends of a group commit fail, including small ones, or all are stored.
  const small = Array.from({ length: 50 }, () => event())
  const results = await Promise.allSettled(
    small.map((one, i) => store.append(`small-${i}`, 'no_stream', [one, event(200_000)])),
  )
  acknowledged += 2 * results.filter(({ status }) => status === 'fulfilled').length
  t.ok(results.some(({ status }) => status === 'rejected'))
  t.same((await store.readStream('kept'))[0]?.position, kept.position, 'reads still work')
  t.equal((await store.readAll({ maxCount: 1_000 })).events.length, acknowledged)

  rmSync(join(mount, 'ballast'))
  t.equal(await fails(store, 100), false)
  const all = (await store.readAll({ maxCount: 1_000 })).events
  t.equal(all.length, acknowledged + 1)
  t.ok(all.every(({ position }, i) => position.commit === BigInt(i + 1)))
})

t.test('a crashed log writer fails the appends in progress and is replaced', async (t) => {
  const store = await openEventLog({ directory: tempDirectory(t) })
  t.teardown(() => store.close())
  await store.append('before', 'no_stream', [event()])
  const handle = store.share()
  const writer = await new Promise<MessagePort>((resolve) => {
    handle.port.once('message', ({ port }: { port: MessagePort }) => resolve(port))
  })
  // An invalid message crashes the writer.
  writer.postMessage(null)
  const failed = await Promise.all(Array.from({ length: 10 }, () => fails(store, 10)))
  handle.port.close()
  while (await fails(store, 10)) await new Promise((resolve) => setTimeout(resolve, 50))
  t.type(failed[0], 'boolean')
  t.equal((await store.readStream('before')).length, 1)
})

t.test('rejects every call after close', async (t) => {
  const store = await openEventLog({ directory: tempDirectory(t) })
  await store.append('x', 'no_stream', [event()])
  const pages = store.subscribeToAll({ streamPrefixes: ['x'], signal: new AbortController().signal })
  const iterator = pages[Symbol.asyncIterator]()
  await iterator.next()
  const next = t.rejects(iterator.next(), StoreUnavailableError)
  const pending = Array.from({ length: 100 }, (_, i) => store.append(`y-${i}`, 'no_stream', [event()]))
  await store.close()
  t.equal((await Promise.allSettled(pending)).filter(({ status }) => status === 'fulfilled').length, 100)
  await t.rejects(store.append('x', 0, [event()]), StoreUnavailableError)
  await t.rejects(store.appendInOrder([]), StoreUnavailableError)
  await t.rejects(store.readStream('x'), StoreUnavailableError)
  await t.rejects(store.readAll({ maxCount: 1 }), StoreUnavailableError)
  await next
})

t.test('rejects only the calls that exceed the limit of waiting appends', async (t) => {
  const store = await openEventLog({ directory: tempDirectory(t) })
  t.teardown(() => store.close())
  const one = event()
  const results = await Promise.allSettled(
    Array.from({ length: 60_000 }, (_, i) => store.append(`x-${i}`, 'no_stream', [one])),
  )
  t.equal(results.filter(({ status }) => status === 'fulfilled').length, 50_000)
  t.equal(
    results.filter((result) => result.status === 'rejected' && result.reason instanceof StoreUnavailableError).length,
    10_000,
  )
})

t.test('creates the data directory with access for its owner only', async (t) => {
  const directory = join(tempDirectory(t), 'deep', 'data')
  const store = await openEventLog({ directory })
  await store.close()
  t.equal(statSync(directory).mode & 0o777, 0o700)
})

t.test('explains why a directory cannot be opened', async (t) => {
  const open = (directory: string) => openEventLog({ directory })
  const parent = tempDirectory(t)
  const create = (name: string) => {
    mkdirSync(join(parent, name))
    return join(parent, name)
  }
  writeFileSync(join(parent, 'file'), '')
  await t.rejects(open(join(parent, 'file')), {
    name: 'CannotOpenLogError',
    message: /cannot be used as a data directory/,
  })

  const text = create('text')
  writeFileSync(join(text, 'events.db'), 'this text is not a database, but it is long enough')
  await t.rejects(open(text), { name: 'CannotOpenLogError', message: /is not an event log/ })

  const foreign = create('foreign')
  new Database(join(foreign, 'events.db')).exec('CREATE TABLE t (x)').close()
  await t.rejects(open(foreign), { name: 'CannotOpenLogError', message: /belongs to a different program/ })

  const newer = create('newer')
  await (await open(newer)).close()
  const db = new Database(join(newer, 'events.db'))
  db.pragma('user_version = 2')
  db.close()
  const stored = readFileSync(join(newer, 'events.db'))
  await t.rejects(open(newer), { name: 'CannotOpenLogError', message: /written by a newer version.*upgrade/ })
  t.ok(readFileSync(join(newer, 'events.db')).equals(stored), 'the file is unchanged')

  if (process.getuid?.() !== 0) {
    const sealed = create('sealed')
    chmodSync(sealed, 0o500)
    await t.rejects(open(sealed), { name: 'CannotOpenLogError', message: /write access/ })
  }
})

t.test('an event whose row is missing or in the wrong stream damages the next one of its stream only', async (t) => {
  const directory = tempDirectory(t)
  const store = await openEventLog({ directory })
  t.teardown(() => store.close())
  for (const stream of ['x', 'y']) await store.append(stream, 'no_stream', [event(), event(), event(), event()])
  const db = new Database(join(directory, 'events.db'))
  db.exec(`DELETE FROM events WHERE position = 2; UPDATE events SET name = 'y' WHERE position = 4`)
  db.close()
  const typesOf = async (stream: string) => {
    const events = await store.readStream(stream)
    return events.map(({ stream, revision, type }) => `${revision}@${stream} ${type}`)
  }
  t.same(await typesOf('x'), ['0@x T', `2@x ${damagedType}`, `3@x ${damagedType}`])
  t.same(await typesOf('y'), ['0@y T', '1@y T', '2@y T', '3@y T'])
  t.same(
    (await store.readStream('x', { direction: 'backwards' })).map(({ revision }) => revision),
    [3, 2, 0],
  )
})

t.test('damaged metadata leaves its stream to administrators', async (t) => {
  const directory = tempDirectory(t)
  const store = StreamStore.open(directory)
  t.teardown(() => store.close())
  const acl = { $acl: { $r: 'ada' } }
  const event = { id: randomUUID(), type: '$metadata', isJson: true, metadata: Buffer.from('{}') }
  await store.append('$$x', 'no_stream', [{ ...event, data: Buffer.from(JSON.stringify(acl)) }])
  t.match(store.reader.metadata('x').acl, { read: ['ada'] })
  const db = new Database(join(directory, 'events.db'))
  db.exec(`UPDATE events SET body = '{"$acl":{"$r":"$all"}}'`)
  db.close()
  t.match(store.reader.metadata('x').acl, { read: ['$admins'], write: ['$admins'], metaWrite: ['$admins'] })
})
