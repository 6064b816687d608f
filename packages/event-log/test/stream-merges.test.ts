import { randomUUID } from 'node:crypto'
import { join } from 'node:path'
import fc from 'fast-check'
import t from 'tap'
import { eventText } from '../src/event-log-types.js'
import { checkLogFile } from '../src/file/check-log-file.js'
import { openForReading, prepareLog } from '../src/file/log-file.js'
import { LogTransaction } from '../src/file/log-transaction.js'
import { streamHash } from '../src/file/stream-hash.js'
import { findStream, mergedThroughKey, recentKeys, StreamNumbers } from '../src/file/stream-numbers.js'
import { Database } from '../src/sqlite/sqlite.js'
import { tempDirectory } from './support/temp-directory.js'

const sizes = { recentAt: 12, indexedAt: 40, namesPerStep: 4 }

/** A process that appends to the log. */
class Writer {
  readonly #db: Database
  #transaction: LogTransaction

  constructor(directory: string) {
    this.#db = new Database(join(directory, 'events.db'))
    this.#db.pragma('synchronous = OFF')
    this.#transaction = new LogTransaction(this.#db, sizes)
  }

  append(names: readonly string[], ending: 'commit' | 'crash'): void {
    this.#db.exec('BEGIN IMMEDIATE')
    this.#transaction.begin(0)
    for (const name of names) {
      const reserved = { owner: name, keys: keysOf(name) }
      if (this.#transaction.isReserved(reserved)) throw new Error(`a key of ${name} is reserved`)
      this.#transaction.write(name, undefined, 0, [bodyOf(name)], reserved.keys)
    }
    if (ending === 'commit') {
      this.#transaction.commit()
      return
    }
    this.#transaction.flush()
    this.#db.exec('ROLLBACK')
    this.#transaction = new LogTransaction(this.#db, sizes)
  }

  find(name: string): number | undefined {
    return this.#db.transaction(() => {
      this.#transaction.numbers.refresh()
      return this.#transaction.numbers.find(name)
    })()
  }

  ownerOf(key: string): string | undefined {
    return this.#db.transaction(() => {
      this.#transaction.numbers.refresh()
      return this.#transaction.numbers.ownerOf(key)
    })()
  }

  close(): void {
    this.#db.close()
  }
}

/** Every third stream reserves two keys. */
const keysOf = (name: string) => (/[0369]$/.test(name) ? [`one of ${name}`, `two of ${name}`] : [])
const bodyOf = (name: string) => eventText(randomUUID(), 'T', '{}', JSON.stringify({ $reserves: keysOf(name) }))

/** Finds a stream like a program without support for recent names. */
function findWithoutRecent(db: Database, name: string): unknown {
  const indexed = db.prepare('SELECT stream FROM stream_names WHERE hash = ?').pluck().get(streamHash(name))
  const young = 'SELECT stream FROM events WHERE stream > (SELECT indexed_through FROM log_state) AND name = ?'
  return indexed ?? db.prepare(young).pluck().get(name)
}

t.test('finds every stream after every commit, regardless of merges and crashes', async (t) => {
  const step = fc.record({
    writer: fc.nat(1),
    count: fc.integer({ min: 2, max: 9 }),
    crashes: fc.integer({ min: 0, max: 9 }),
  })
  fc.assert(
    fc.property(fc.array(step, { minLength: 50, maxLength: 80 }), (steps) => {
      const directory = tempDirectory(t)
      prepareLog(directory)
      const writers = [new Writer(directory), new Writer(directory)]
      const db = openForReading(directory)
      const follower = new StreamNumbers(db)
      const names: string[] = []
      for (const [n, { writer, count, crashes }] of steps.entries()) {
        const added = Array.from({ length: count }, (_, k) => `transfer-${n}-${k}`)
        const ending = crashes === 0 ? 'crash' : 'commit'
        writers[writer]!.append(added, ending)
        if (ending === 'commit') names.push(...added)
        const some = names.filter((_, i) => (i + n) % 7 === 0)
        const fresh = new StreamNumbers(db)
        for (const name of some) {
          const number = names.indexOf(name) + 1
          const found = [
            findStream(db, follower, name),
            findStream(db, fresh, name),
            writers[0]!.find(name),
            writers[1]!.find(name),
            findWithoutRecent(db, name),
          ]
          if (found.some((one) => one !== number))
            throw new Error(`${name} has number ${number}, but ${found} was found`)
          for (const key of keysOf(name)) {
            const owners = writers.map((one) => one.ownerOf(key))
            if (owners.some((owner) => owner !== name)) throw new Error(`${key} belongs to ${owners}`)
            if (writers[0]!.find(key) !== undefined) throw new Error(`${key} is the name of a stream`)
          }
        }
        if (fresh.youngCount > 10 * sizes.recentAt) throw new Error(`${fresh.youngCount} names are recent`)
        if (findStream(db, fresh, `transfer-${n}-none`) !== undefined) throw new Error('found a nonexistent stream')
        const lost = ending === 'crash' ? keysOf(added[0]!) : [`one of transfer-${n}-none`]
        if (lost.some((key) => writers.some((one) => one.ownerOf(key) !== undefined)))
          throw new Error('found a key that nothing reserves')
      }
      for (const one of [...writers, db]) one.close()
      const problems = checkLogFile(directory, 'full')
      if (problems.length > 0) throw new Error(problems.join(' '))
    }),
    { numRuns: 6, endOnFailure: true },
  )
})

t.test('moves recent names to the whole index', async (t) => {
  const directory = tempDirectory(t)
  prepareLog(directory)
  const writer = new Writer(directory)
  for (let n = 0; n < 200; n++) writer.append([`a-${n}`, `b-${n}`], 'commit')
  writer.close()
  const db = openForReading(directory)
  const count = (where: string) =>
    db.prepare(`SELECT count(*) FROM stream_names WHERE ${where}`).pluck().get() as number
  const recent = count(`hash >= ${recentKeys} AND hash < ${mergedThroughKey}`)
  t.ok(recent > 0 && recent < 3 * sizes.indexedAt, `${recent} names are recent`)
  t.ok(count(`hash < ${recentKeys}`) > 200)
  t.equal(count(`hash = ${mergedThroughKey}`), 1)
  db.close()
})
