import {
  closeSync,
  existsSync,
  openSync,
  readFileSync,
  readSync,
  truncateSync,
  writeFileSync,
  writeSync,
} from 'node:fs'
import { join } from 'node:path'
import { logPath } from '@transferd/event-log'
import { Database } from '@transferd/event-log/sqlite'
import type { Random } from '../random.js'
import { DiskFile } from './disk-file.js'

/** A crash in one of the next writes of SQLite. */
interface PlannedCrash {
  /** The number of writes before it. */
  skip: number
  readonly time: 'before' | 'during' | 'after'
  /** Otherwise only the process is killed. */
  readonly isPowerCut: boolean
}

/** Ends what the process was doing. */
class MachineOffError extends Error {}

// No client waits for it.
process.on('unhandledRejection', (error) => {
  if (!(error instanceof MachineOffError)) throw error
})

const walHeaderBytes = 32
const frameBytes = 24 + 8_192
/** The two copies of the header of SQLite's index of the WAL. */
const indexHeaderBytes = 96
const backfillAt = 96
const indexBytes = 100
const synchronousNormal = 1
const synchronousFull = 2

const disks = new Map<string, LogDisk>()
const { prepare, pragma, close } = Database.prototype

/**
 * The disk under the files of a log. SQLite writes into real files in memory, which stand for the memory of the operating system. What the
 * disk has follows from when SQLite syncs (sqlite3WalFrames, walCheckpoint and sqlite3WalClose): in a commit, the header of a WAL that
 * starts again unless the connection is OFF, and its frames if it is FULL; in a checkpoint, first the WAL and then the database, unless
 * it is OFF. The log is opened without faults: SQLite cannot survive one while it recovers frames whose sync failed.
 */
export class LogDisk {
  wal = new DiskFile()
  db = new DiskFile()
  crash: PlannedCrash | undefined
  isFull = false
  /** The number of the next syncs that fail. */
  failingSyncs = 0
  isDead = false
  /** Whether the WAL was deleted, which the disk may not have recorded. */
  #isWalDeleted = false
  #left: Left | undefined
  readonly #connections = new Set<Database>()

  /** @param onCrash Called when the process has ended, after which {@link next} returns the remaining files. */
  constructor(
    readonly directory: string,
    private readonly random: Random,
    private readonly onCrash: () => void,
  ) {
    disks.set(logPath(directory), this)
  }

  add(db: Database): void {
    this.#connections.add(db)
  }

  commit(db: Database, run: () => unknown): unknown {
    const crash = this.#nextWrite()
    const before = this.#index()
    const lengthBefore = this.#read('-wal').length
    const result = run()
    const after = this.#index()
    const startsAgain = !before.salts.equals(after.salts)
    const from = before.frames === 0 || startsAgain ? 0 : endOf(before.frames)
    const to = endOf(after.frames)
    const wal = this.#read('-wal')
    const level = synchronousOf(db)
    if (startsAgain && lengthBefore === 0) this.wal = new DiskFile()
    this.#isWalDeleted = false
    if (startsAgain && level >= synchronousNormal) {
      this.wal.write(0, walHeaderBytes)
      this.wal.sync(wal)
    }
    this.wal.write(from, to)
    if (crash?.time === 'during') this.#die(crash, { wal: wal.subarray(0, from + this.random.below(to - from)) })
    // A WAL that starts again has a new header, which an error does not undo.
    const canFail = before.frames === 0 || !startsAgain
    if (canFail && this.isFull && to > lengthBefore) {
      this.#restoreIndex(before.bytes.subarray(0, indexHeaderBytes))
      truncateSync(this.#path('-wal'), Math.max(lengthBefore, from + this.random.below(to - from)))
      throw new Database.SqliteError('database or disk is full', 'SQLITE_FULL')
    }
    if (canFail && this.#syncFails()) {
      this.#restoreIndex(before.bytes.subarray(0, indexHeaderBytes))
      this.wal.syncPartly(wal, this.random)
      throw new Database.SqliteError('disk I/O error', 'SQLITE_IOERR_FSYNC')
    }
    if (level >= synchronousFull) this.wal.sync(wal)
    if (crash) this.#die(crash)
    return result
  }

  checkpoint(db: Database, run: () => unknown): unknown {
    const crash = this.#nextWrite()
    const { bytes } = this.#index()
    const isSynced = synchronousOf(db) >= synchronousNormal
    if (isSynced) this.wal.sync(this.#read('-wal'))
    const result = run()
    const content = this.#read()
    this.db.write(0, content.length)
    if (crash?.time === 'during') this.#die(crash, { db: this.#partOf(content) })
    if (this.isFull || this.#syncFails()) {
      this.#restoreIndex(bytes.subarray(backfillAt), backfillAt)
      this.db.syncPartly(content, this.random)
      throw new Database.SqliteError('disk I/O error', 'SQLITE_IOERR_FSYNC')
    }
    if (isSynced) this.db.sync(content)
    if (crash) this.#die(crash)
    return result
  }

  /** The last connection copies the WAL and deletes it. */
  close(db: Database, run: () => unknown): unknown {
    this.#connections.delete(db)
    const wal = this.#read('-wal')
    if (this.isDead || this.#connections.size > 0 || wal.length === 0) return run()
    const crash = this.#nextWrite()
    const isSynced = synchronousOf(db) >= synchronousNormal
    const result = run()
    if (isSynced) this.wal.sync(wal)
    const content = this.#read()
    this.db.write(0, content.length)
    if (crash?.time === 'during') this.#die(crash, { db: this.#partOf(content), wal })
    if (this.isFull || this.#syncFails()) {
      // SQLite keeps the WAL.
      this.db.syncPartly(content, this.random)
      writeFileSync(this.#path('-wal'), wal)
    } else if (isSynced) this.db.sync(content)
    this.#isWalDeleted = !existsSync(this.#path('-wal'))
    if (crash) this.#die(crash)
    return result
  }

  /** Ends the process, or the machine. */
  crashNow(isPowerCut: boolean, cached: Cached = {}): void {
    this.isDead = true
    this.#left = this.#leave(isPowerCut, cached)
    disks.delete(logPath(this.directory))
    for (const db of this.#connections) {
      try {
        close.call(db)
      } catch {
        // It is reading. It ends with the process that simulates.
      }
    }
    this.onCrash()
  }

  /** Returns the disk after the crash, in a new directory with the remaining parts of the files. */
  next(directory: string): LogDisk {
    const { db, wal } = this.#left!
    const disk = new LogDisk(directory, this.random, this.onCrash)
    writeFileSync(disk.#path(), db)
    if (wal.length > 0) writeFileSync(disk.#path('-wal'), wal)
    disk.db = this.db
    disk.wal = this.wal
    return disk
  }

  #nextWrite(): PlannedCrash | undefined {
    if (this.isDead) throw new MachineOffError('the machine is off')
    const { crash } = this
    if (!crash || crash.skip-- > 0) return undefined
    if (crash.time === 'before') this.#die(crash)
    return crash
  }

  #die({ isPowerCut }: PlannedCrash, cached: Cached = {}): never {
    this.crashNow(isPowerCut, cached)
    throw new MachineOffError('the machine is off')
  }

  #leave(isPowerCut: boolean, cached: Cached): Left {
    const db = this.#read()
    if (!isPowerCut) return { db: cached.db ?? db, wal: cached.wal ?? this.#read('-wal') }
    this.db.syncPartly(db, this.random)
    this.wal.syncPartly(existsSync(this.#path('-wal')) ? this.#read('-wal') : (cached.wal ?? nothing), this.random)
    if (this.#isWalDeleted && this.random.chance(0.5)) this.wal = new DiskFile()
    return { db: this.db.content, wal: this.wal.content }
  }

  #partOf(content: Buffer): Buffer {
    const part = new DiskFile()
    part.content = Buffer.from(this.db.content)
    part.write(0, content.length)
    part.syncPartly(content, this.random)
    return part.content
  }

  #syncFails(): boolean {
    if (this.failingSyncs === 0) return false
    this.failingSyncs--
    return true
  }

  #index() {
    const bytes = Buffer.alloc(indexBytes)
    const fd = openSync(this.#path('-shm'), 'r')
    readSync(fd, bytes, 0, indexBytes, 0)
    closeSync(fd)
    return { bytes, frames: bytes.readUInt32LE(16), salts: bytes.subarray(32, 40) }
  }

  /** Does what SQLite does after an error: the frames stay in the file, and do not count. */
  #restoreIndex(bytes: Buffer, at = 0): void {
    const fd = openSync(this.#path('-shm'), 'r+')
    writeSync(fd, bytes, 0, bytes.length, at)
    closeSync(fd)
  }

  #path(suffix = ''): string {
    return join(this.directory, `events.db${suffix}`)
  }

  #read(suffix = ''): Buffer {
    const path = this.#path(suffix)
    return existsSync(path) ? readFileSync(path) : nothing
  }
}

/** The files in the memory of the operating system while SQLite writes them, if they differ afterwards. */
interface Cached {
  readonly db?: Buffer
  readonly wal?: Buffer
}

/** The files after a crash. */
interface Left {
  readonly db: Buffer
  readonly wal: Buffer
}

const nothing = Buffer.alloc(0)
const endOf = (frames: number) => walHeaderBytes + frames * frameBytes
const synchronousOf = (db: Database) => pragma.call(db, 'synchronous', { simple: true }) as number

function diskOf(db: Database): LogDisk | undefined {
  const disk = disks.get(db.name)
  disk?.add(db)
  return disk
}

Object.assign(Database.prototype, {
  prepare(this: Database, sql: string) {
    const disk = diskOf(this)
    const statement = prepare.call(this, sql)
    if (disk && sql === 'COMMIT' && !this.readonly) {
      const run = statement.run as () => unknown
      statement.run = () => disk.commit(this, () => run.call(statement)) as never
    }
    return statement
  },
  pragma(this: Database, source: string, options?: Parameters<typeof pragma>[1]) {
    const disk = diskOf(this)
    const run = () => pragma.call(this, source, options)
    return disk && source.startsWith('wal_checkpoint') ? disk.checkpoint(this, run) : run()
  },
  close(this: Database) {
    const disk = diskOf(this)
    const run = () => close.call(this)
    return disk ? disk.close(this, run) : run()
  },
})
