import { execFileSync } from 'node:child_process'
import { randomUUID } from 'node:crypto'
import { chmodSync, mkdirSync, mkdtempSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { MessagePort } from 'node:worker_threads'
import Database from 'better-sqlite3'
import t from 'tap'
import { openEventLog, type SharedEventLog } from '../src/event-log.js'
import { type NewEvent, StoreUnavailableError } from '../src/event-log-types.js'
import { tempDirectory } from './support/temp-directory.js'

function event(bytes = 100): NewEvent {
  return { id: randomUUID(), type: 'T', data: { text: 'x'.repeat(bytes) }, metadata: {} }
}

async function fails(store: SharedEventLog, bytes: number): Promise<boolean> {
  const answer = await store.append(`x-${randomUUID()}`, 'no_stream', [event(bytes)]).catch((error: unknown) => error)
  if (answer instanceof StoreUnavailableError) return true
  if (answer instanceof Error) throw answer
  return false
}

function mountSmall(directory: string): void {
  execFileSync('mount', ['-t', 'tmpfs', '-o', 'size=16m', 'tmpfs', directory], { stdio: 'ignore' })
}

/** Why no small file system can be mounted here, if it cannot. */
function noSmallFileSystem(): string | false {
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

const fullDisk = 'on a full disk appends fail and store nothing; with room again they go on by themselves'
t.test(fullDisk, { skip: noSmallFileSystem() }, async (t) => {
  const mount = tempDirectory(t)
  mountSmall(mount)
  t.teardown(() => execFileSync('umount', ['-l', mount]))
  const store = await openEventLog({ directory: join(mount, 'data') })
  t.teardown(() => store.close())
  const kept = await store.append('kept', 'no_stream', [event()])
  writeFileSync(join(mount, 'ballast'), Buffer.alloc(8 * 1024 * 1024))
  let acknowledged = 1
  while (!(await fails(store, 500_000))) acknowledged += 1
  t.ok(acknowledged > 1, `${acknowledged} fitted`)
  // Everything of a group fails, small ones too, or is stored: never anything in between.
  const small = Array.from({ length: 50 }, () => event())
  const answers = await Promise.allSettled(
    small.map((one, i) => store.append(`small-${i}`, 'no_stream', [one, event(200_000)])),
  )
  acknowledged += 2 * answers.filter(({ status }) => status === 'fulfilled').length
  t.ok(answers.some(({ status }) => status === 'rejected'))
  t.same((await store.readStream('kept'))[0]?.position, kept.position, 'reads go on')
  t.equal((await store.readAll({ maxCount: 1_000 })).events.length, acknowledged)

  rmSync(join(mount, 'ballast'))
  t.equal(await fails(store, 100), false)
  const all = (await store.readAll({ maxCount: 1_000 })).events
  t.equal(all.length, acknowledged + 1)
  t.ok(all.every(({ position }, i) => position.commit === BigInt(i + 1)))
})

t.test('a log writer that crashes fails what is under way, and is replaced', async (t) => {
  const store = await openEventLog({ directory: tempDirectory(t) })
  t.teardown(() => store.close())
  await store.append('before', 'no_stream', [event()])
  const handle = store.share()
  const writer = await new Promise<MessagePort>((resolve) => {
    handle.port.once('message', ({ port }: { port: MessagePort }) => resolve(port))
  })
  // No thread of ours sends this: the writer dies of it.
  writer.postMessage(null)
  const answers = await Promise.all(Array.from({ length: 10 }, () => fails(store, 10)))
  handle.port.close()
  while (await fails(store, 10)) await new Promise((resolve) => setTimeout(resolve, 50))
  t.type(answers[0], 'boolean')
  t.equal((await store.readStream('before')).length, 1)
})

t.test('after close every call is turned away', async (t) => {
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

t.test('more calls than may wait are turned away, the others are answered', async (t) => {
  const store = await openEventLog({ directory: tempDirectory(t) })
  t.teardown(() => store.close())
  const one = event()
  const answers = await Promise.allSettled(
    Array.from({ length: 60_000 }, (_, i) => store.append(`x-${i}`, 'no_stream', [one])),
  )
  t.equal(answers.filter(({ status }) => status === 'fulfilled').length, 50_000)
  t.equal(
    answers.filter((answer) => answer.status === 'rejected' && answer.reason instanceof StoreUnavailableError).length,
    10_000,
  )
})

t.test('the data directory is made for its owner only', async (t) => {
  const directory = join(tempDirectory(t), 'deep', 'data')
  const store = await openEventLog({ directory })
  await store.close()
  t.equal(statSync(directory).mode & 0o777, 0o700)
})

t.test('what cannot be opened is refused in plain words', async (t) => {
  const open = (directory: string) => openEventLog({ directory })
  const parent = tempDirectory(t)
  const at = (name: string) => {
    mkdirSync(join(parent, name))
    return join(parent, name)
  }
  writeFileSync(join(parent, 'file'), '')
  await t.rejects(open(join(parent, 'file')), {
    name: 'CannotOpenLogError',
    message: /cannot be used as a data directory/,
  })

  const text = at('text')
  writeFileSync(join(text, 'events.db'), 'certainly not a database, but some text of a length')
  await t.rejects(open(text), { name: 'CannotOpenLogError', message: /is not an event log/ })

  const foreign = at('foreign')
  new Database(join(foreign, 'events.db')).exec('CREATE TABLE t (x)').close()
  await t.rejects(open(foreign), { name: 'CannotOpenLogError', message: /belongs to another program/ })

  const newer = at('newer')
  await (await open(newer)).close()
  const db = new Database(join(newer, 'events.db'))
  db.pragma('user_version = 2')
  db.close()
  await t.rejects(open(newer), { name: 'CannotOpenLogError', message: /written by a newer version.*upgrade/ })

  if (process.getuid?.() !== 0) {
    const sealed = at('sealed')
    chmodSync(sealed, 0o500)
    await t.rejects(open(sealed), { name: 'CannotOpenLogError', message: /write access/ })
  }
})

t.test('what is read is not trusted: broken JSON and a broken sequence are named by their position', async (t) => {
  const directory = tempDirectory(t)
  const store = await openEventLog({ directory })
  t.teardown(() => store.close())
  await store.append('x', 'no_stream', [event(), event(), event()])
  const db = new Database(join(directory, 'events.db'))
  db.exec(`UPDATE events SET body = '[' WHERE position = 2`)
  await t.rejects(store.readAll({ maxCount: 10 }), { name: 'BrokenLogError', message: /position 2/ })
  db.exec('DELETE FROM events WHERE position = 2')
  await t.rejects(store.readStream('x'), { name: 'BrokenLogError', message: /position 3: expected 1@x, found 2@x/ })
  db.close()
})
