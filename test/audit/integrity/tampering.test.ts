import { randomUUID } from 'node:crypto'
import { readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { logPath, openEventLog } from '@transferd/event-log'
import { Database } from '@transferd/event-log/sqlite'
import { serve } from '@transferd/event-log-server/test/support/server-fixture'
import { generateSigner, parseSigner, readBundle } from '@transferd/transparency-log'
import t from 'tap'
import { verifySealedLog } from '../../../src/audit/integrity/log-verification.js'
import { openEventStoreDb } from '../../../src/event-store/eventstoredb/eventstoredb-event-store.js'
import { RawClient } from '../../../src/event-store/eventstoredb/raw-client.js'
import { long } from '../../support/long.js'
import {
  appendTransfers,
  createSealedLog,
  onCopy,
  readEverything,
  seal,
  signer,
  tilesOf,
  verifyDirectory,
} from './sealed-log.js'

const directory = await createSealedLog(250)
t.teardown(() => rmSync(directory, { recursive: true }))

interface Row {
  readonly position: number
  readonly stream: number
  readonly revision: number
  readonly recorded_at: number
  readonly name: string
  readonly body: string
}

function edit(copy: string, work: (db: Database) => void): void {
  const db = new Database(logPath(copy))
  try {
    db.transaction(work)(db)
  } finally {
    db.close()
  }
}

const rowAt = (db: Database, position: number) =>
  db.prepare('SELECT * FROM events WHERE position = ?').get(position) as Row
const remove = (db: Database, position: number) => db.prepare('DELETE FROM events WHERE position = ?').run(position)
const insert = (db: Database, row: Row) =>
  db.prepare('INSERT INTO events VALUES (@position, @stream, @revision, @recorded_at, @name, @body)').run(row)
const replaceBody = (db: Database, position: number, from: RegExp, to: string) => {
  const { body } = rowAt(db, position)
  const changed = body.replace(from, to)
  t.not(changed, body, 'the edit changes the event')
  db.prepare('UPDATE events SET body = ? WHERE position = ?').run(changed, position)
}
const nameOf = (db: Database, position: number) => {
  const { name, revision } = rowAt(db, position)
  return `${name}@${revision}`
}
/** Each edit updates SQLite's indexes too, so the file stays consistent. */
const edits: { readonly [title: string]: (db: Database, at: number) => string | undefined } = {
  'an amount': (db, at) => {
    replaceBody(db, at, /"amountMinor":"1/, '"amountMinor":"2')
    return nameOf(db, at)
  },
  'a payee': (db, at) => {
    replaceBody(db, at, /"accountNumber":"TR/, '"accountNumber":"DE')
    return nameOf(db, at)
  },
  'an actor': (db, at) => {
    replaceBody(db, at, /merchant:1/, 'merchant:2')
    return nameOf(db, at)
  },
  'a recording time': (db, at) => {
    db.prepare('UPDATE events SET recorded_at = recorded_at + 1 WHERE position = ?').run(at)
    return nameOf(db, at)
  },
  'an event is dropped': (db, at) => {
    const place = nameOf(db, at)
    remove(db, at)
    return place
  },
  'an event is dropped and the gap closed': (db, at) => {
    const place = nameOf(db, at)
    remove(db, at)
    db.prepare('UPDATE events SET position = -position WHERE position > ?').run(at)
    db.prepare('UPDATE events SET position = -position - 1 WHERE position < 0').run()
    return place
  },
  'two events are swapped': (db, at) => {
    const [a, b] = [rowAt(db, at), rowAt(db, at + 1)]
    remove(db, at)
    remove(db, at + 1)
    insert(db, { ...a, position: b.position })
    insert(db, { ...b, position: a.position })
    return undefined
  },
  'a copy of an event is inserted': (db, at) => {
    db.prepare('UPDATE events SET position = -position WHERE position > ?').run(at)
    db.prepare('UPDATE events SET position = -position + 1 WHERE position < 0').run()
    insert(db, { ...rowAt(db, at), position: at + 1, stream: 1_000_000, revision: 0, name: 'transfer-new' })
    return 'transfer-new@0'
  },
  'an event is inserted before the first': (db, at) => {
    insert(db, { ...rowAt(db, at), position: -5, stream: 1_000_001, revision: 0, name: 'transfer-hidden' })
    return undefined
  },
  'an event is added to its stream out of order': (db, at) => {
    const { last } = db.prepare('SELECT max(revision) AS last FROM events WHERE name = ?').get(rowAt(db, at).name) as {
      last: number
    }
    insert(db, { ...rowAt(db, at), position: -5, revision: last + 1 })
    return `${rowAt(db, at).name}@${last + 1}`
  },
  'the newest events are removed': (db) => {
    const place = nameOf(db, (db.prepare('SELECT max(position) FROM events').pluck().get() as number) - 2)
    db.prepare('DELETE FROM events WHERE position > (SELECT max(position) FROM events) - 3').run()
    return place
  },
  'an event moves to a different stream': (db, at) => {
    const place = nameOf(db, at)
    db.prepare('UPDATE events SET name = ? WHERE position = ?').run('transfer-other', at)
    return place
  },
  'the index of names is incomplete': (db, at) => {
    // The names of new streams are looked up in the log, but the index claims to be complete.
    const { stream } = rowAt(db, at)
    db.prepare('UPDATE log_state SET indexed_through = ?').run(stream)
    return undefined
  },
  'a trigger is added': (db) => {
    db.exec(
      "CREATE TRIGGER t AFTER INSERT ON events BEGIN UPDATE events SET body = '' WHERE position = new.position; END",
    )
    return undefined
  },
}

t.test('verifies an unchanged log, and a log that has grown', async (t) => {
  const { findings, checkpoint, to, unsealed } = await verifyDirectory(directory)
  t.same(findings, [])
  t.equal(to, checkpoint?.size)
  t.equal(unsealed, 0)
  await onCopy(directory, async (copy) => {
    const store = await openEventLog({ directory: copy, writerThread: false })
    await appendTransfers(store, 250, 300)
    t.match(await verifyDirectory(copy), { findings: [], unsealed: 127 }, 'unsealed events are counted')
    await seal(store, copy)
    await store.close()
    const kept = [{ name: 'older', note: readFileSync(join(directory, 'audit/checkpoint'), 'utf8') }]
    t.match(await verifyDirectory(copy, { kept, from: checkpoint!.size }), { findings: [], unsealed: 0, from: 512 })
  })
})

t.test('verifies the newest part from any bundle, even if no tree was sealed at that size', async (t) => {
  const { checkpoint } = await verifyDirectory(directory)
  for (let from = 0; from <= checkpoint!.size; from += 128) {
    const verified = await verifyDirectory(directory, { from })
    t.match(verified, { findings: [], from: Math.floor(from / 256) * 256, to: checkpoint!.size }, `from ${from}`)
  }
})

t.test('finds every edit with SQLite and names its place', async (t) => {
  for (const [title, change] of Object.entries(edits)) {
    await onCopy(directory, async (copy) => {
      let place: string | undefined
      edit(copy, (db) => {
        place = change(db, 77)
      })
      const { findings } = await verifyDirectory(copy)
      t.not(findings.length, 0, title)
      if (place)
        t.ok(
          findings.some((finding) => finding.place === place),
          `${title}: ${place}`,
        )
    })
  }
})

t.test('finds an edit after a known checkpoint when it verifies from there', async (t) => {
  await onCopy(directory, async (copy) => {
    edit(copy, (db) => edits['an amount']!(db, 600))
    const { findings, from } = await verifyDirectory(copy, { from: 520 })
    t.equal(from, 512)
    t.match(findings, [{ kind: 'log', leafIndex: 599, problem: 'The event is not the one that was sealed.' }])
  })
})

t.test('finds a tree and signature that were created after an edit', async (t) => {
  await onCopy(directory, async (copy) => {
    edit(copy, (db) => edits['an amount']!(db, 77))
    const reseal = async (by: typeof signer) => {
      rmSync(join(copy, 'audit'), { recursive: true })
      const store = await openEventLog({ directory: copy, writerThread: false })
      await seal(store, copy, by)
      await store.close()
    }
    const checkpoint = readFileSync(join(directory, 'audit/checkpoint'))
    await reseal(parseSigner(generateSigner('transferd/test')))
    t.match((await verifyDirectory(copy)).findings, [{ kind: 'checkpoint', problem: /no signature/ }])
    writeFileSync(join(copy, 'audit/checkpoint'), checkpoint)
    t.match(
      (await verifyDirectory(copy)).findings,
      [{ kind: 'checkpoint', problem: /different tree/ }],
      'the original signature does not match the new tree',
    )
    await reseal(signer)
    t.same((await verifyDirectory(copy)).findings, [], 'the holder of the key can create a valid tree')
    const kept = [{ name: 'kept', note: checkpoint.toString() }]
    t.match((await verifyDirectory(copy, { kept })).findings, [
      { kind: 'checkpoint', place: 'kept', problem: /does not have/ },
    ])
    rmSync(join(copy, 'audit'), { recursive: true })
    t.match((await verifyDirectory(copy)).findings, [{ kind: 'checkpoint', problem: /no checkpoint/ }])
  })
})

t.test(
  'an older checkpoint reveals a log that was truncated with its tree and signed again with the key',
  async (t) => {
    await onCopy(directory, async (copy) => {
      const kept = [{ name: 'kept', note: readFileSync(join(directory, 'audit/checkpoint'), 'utf8') }]
      edit(copy, (db) => edits['the newest events are removed']!(db, 0))
      rmSync(join(copy, 'audit'), { recursive: true })
      const store = await openEventLog({ directory: copy, writerThread: false })
      await seal(store, copy)
      t.same((await verifyDirectory(copy)).findings, [])
      t.match((await verifyDirectory(copy, { kept })).findings, [{ kind: 'checkpoint', problem: /was cut back/ }])
      await appendTransfers(store, 1_000, 1_010)
      await seal(store, copy)
      await store.close()
      t.match(
        (await verifyDirectory(copy, { kept })).findings,
        [{ problem: /does not have/ }],
        'new events do not hide the truncation',
      )
    })
  },
)

t.test('verifies the same tree over the protocol of EventStoreDB in pages, and finds an edit', async (t) => {
  const large = await createSealedLog(800)
  const server = await serve({ directory: large })
  const store = openEventStoreDb({ url: server.url })
  const verify = () => verifySealedLog({ store, tiles: tilesOf(large), verifier: signer })
  const reads = t.capture(RawClient.prototype, 'read', RawClient.prototype.read)
  const { to, ...verified } = await verify()
  t.match(verified, { findings: [], unsealed: 0, isComplete: true })
  const calls = reads().length
  t.ok(calls > 0 && calls <= to / 500, `${calls} calls for ${to} events`)
  const stream = (await store.readUnparsed({ maxCount: 1 })).events[0]!.stream
  await server.client.setStreamMetadata(stream, { maxCount: 1 })
  const hidden = { kind: 'log', place: `$$${stream}`, problem: /hides events/ }
  t.match(await verify(), { count: 1, findings: [hidden] })
  await server.client.setStreamMetadata(stream, { note: 'hides nothing' })
  t.match(await verify(), { count: 0 })
  edit(large, (db) => edits['an amount']!(db, 77))
  t.match(await verify(), { count: 1, findings: [{ kind: 'log', leafIndex: 76 }] })
  const reserving = `other-${randomUUID()}`
  const event = { id: randomUUID(), type: 'T', data: {}, metadata: {} }
  await store.appendInOrder([
    { stream: reserving, expectedRevision: 'no_stream', events: [event], reserves: ['a key'] },
  ])
  const [key] = (await store.readAll({ streamPrefixes: ['$transferd-reserved-'], maxCount: 10 })).events
  await server.client.deleteStream(key!.stream)
  t.match((await verify()).findings, [{ kind: 'log' }, { place: `$$${key!.stream}`, problem: /hides events/ }])
  await store.close()
  await server.stop()
  rmSync(large, { recursive: true })
})

t.test('finds a removed event whose name was edited too, at the index of its leaf', async (t) => {
  await onCopy(directory, async (copy) => {
    edit(copy, (db) => edits['an event is dropped and the gap closed']!(db, 77))
    const names = join(copy, 'audit', 'tile/names/000')
    const [, name, next] = (await readBundle(tilesOf(copy), 0, 256, 'names')).slice(75)
    const bytes = readFileSync(names, 'latin1')
    // Without a different length, and like the next event, so that it seems to be the one that was edited.
    for (const other of [name!.toString().replace(/.@/, 'x@'), next!.toString()]) {
      writeFileSync(names, bytes.replace(name!.toString(), other), 'latin1')
      const { findings } = await verifyDirectory(copy)
      t.ok(findings.some(({ kind, leafIndex }) => kind === 'log' && leafIndex === 76))
    }
  })
})

t.test('names a damaged file of the tree and reports no problem with the log', async (t) => {
  for (const path of ['tile/names/000', 'tile/0/001', 'tile/1/000.p/2', 'tile/names/002.p/111']) {
    await onCopy(directory, async (copy) => {
      const file = join(copy, 'audit', path)
      const bytes = readFileSync(file)
      for (const damaged of [
        Buffer.from(bytes.map((byte, at) => (at === 40 ? byte ^ 4 : byte))),
        bytes.subarray(0, 41),
      ]) {
        writeFileSync(file, damaged)
        const { findings } = await verifyDirectory(copy)
        t.ok(findings.length > 0, path)
        t.ok(
          findings.every(({ kind }) => kind !== 'log'),
          path,
        )
      }
      rmSync(file)
      t.same(
        (await verifyDirectory(copy)).findings.map(({ kind, place }) => `${kind} ${place}`),
        [`tree ${path}`],
      )
    })
  }
})

t.test('finds every flipped bit in the log’s file that changes a read event', async (t) => {
  const before = await readEverything(directory)
  const bytes = readFileSync(logPath(directory))
  let [found, harmless] = [0, 0]
  await onCopy(directory, async (copy) => {
    const path = logPath(copy)
    // The step and the page size have no common divisor, so all parts of a page are reached.
    for (let round = 0; round < (long ? 200 : 10); round++) {
      const bit = (round * 7_919_777 + 331) % (bytes.length * 8)
      const flipped = Buffer.from(bytes)
      flipped[bit >> 3]! ^= 1 << (bit & 7)
      writeFileSync(path, flipped)
      for (const suffix of ['-wal', '-shm']) rmSync(`${path}${suffix}`, { force: true })
      if ((await verifyDirectory(copy)).count > 0) found++
      else {
        harmless++
        if ((await readEverything(copy)) !== before) t.fail(`bit ${bit} of byte ${bit >> 3} was not found`)
      }
    }
  })
  t.ok(found > harmless, `${found} found, ${harmless} in bytes that are never read`)
})
