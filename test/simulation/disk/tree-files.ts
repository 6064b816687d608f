import fs from 'node:fs'
import { syncBuiltinESMExports } from 'node:module'
import { scheduler } from '../environment.js'
import type { Random } from '../random.js'
import { DiskFile } from './disk-file.js'

/** The files below it are simulated. */
export const treeRoot = '/simulated-tree'

class File {
  cached: Buffer = Buffer.alloc(0)
  readonly disk = new DiskFile()

  write(bytes: Buffer): void {
    this.cached = bytes
    this.disk.write(0, bytes.length)
  }

  cutPower(random: Random): void {
    this.disk.syncPartly(this.cached, random)
    this.cached = this.disk.content
  }
}

type Entries = ReadonlyMap<string, File | Directory>

class Directory {
  /** The entries on the disk, and those after each later change. A disk records the changes in their order. */
  #states: Entries[] = [new Map()]

  get entries(): Entries {
    return this.#states.at(-1)!
  }

  change(change: (entries: Map<string, File | Directory>) => void): void {
    const entries = new Map(this.entries)
    change(entries)
    this.#states.push(entries)
  }

  sync(): void {
    this.#states = [this.entries]
  }

  cutPower(random: Random): void {
    this.#states = [random.pick(this.#states)]
    for (const entry of this.entries.values()) entry.cutPower(random)
  }
}

/** The directory of a tree, on a disk that loses unsynced files. */
export class TreeFiles {
  isFull = false
  /** The number of the next syncs that fail. */
  failingSyncs = 0
  /** Called before each operation of a process. */
  beforeOperation: () => void = () => undefined
  readonly #root = new Directory()

  constructor(private readonly random: Random) {
    files = this
  }

  unmount(): void {
    files = undefined
  }

  /** Loses everything unsynced. */
  cutPower(): void {
    this.#root.cutPower(this.random)
  }

  async open(path: string, flags: string | number) {
    await this.#operate()
    const entry = flags === 'w' ? this.#opened(path) : this.#find(path)
    return {
      stat: async () => ({
        isFile: () => entry instanceof File,
        size: entry instanceof File ? entry.cached.length : 0,
      }),
      readFile: async () => {
        await this.#operate()
        return (entry as File).cached
      },
      writeFile: async (bytes: Uint8Array) => {
        await this.#operate()
        const written = this.isFull ? this.random.below(bytes.length) : bytes.length
        ;(entry as File).write(Buffer.from(bytes.subarray(0, written)))
        if (this.isFull) throw failed('ENOSPC', path)
      },
      sync: async () => {
        await this.#operate()
        if (this.failingSyncs > 0) {
          this.failingSyncs--
          if (entry instanceof File) entry.disk.syncPartly(entry.cached, this.random)
          throw failed('EIO', path)
        }
        if (entry instanceof File) entry.disk.sync(entry.cached)
        else entry.sync()
      },
      close: async () => undefined,
    }
  }

  async mkdir(path: string): Promise<string | undefined> {
    await this.#operate()
    let first: string | undefined
    let at = treeRoot
    let parent = this.#root
    for (const name of namesOf(path)) {
      at += `/${name}`
      let made = parent.entries.get(name)
      if (!made) {
        if (this.isFull) throw failed('ENOSPC', path)
        const added = new Directory()
        parent.change((entries) => entries.set(name, added))
        made = added
        first ??= at
      }
      if (!(made instanceof Directory)) throw failed('EEXIST', path)
      parent = made
    }
    return first
  }

  async rename(from: string, to: string): Promise<void> {
    await this.#operate()
    const file = this.#find(from)
    // Both are in the same directory, which records it as one change.
    this.#parent(to).change((entries) => {
      entries.delete(lastOf(from))
      entries.set(lastOf(to), file)
    })
  }

  async rm(path: string): Promise<void> {
    await this.#operate()
    if (this.#parent(path).entries.has(lastOf(path)))
      this.#parent(path).change((entries) => entries.delete(lastOf(path)))
  }

  #opened(path: string): File {
    const existing = this.#parent(path).entries.get(lastOf(path))
    if (existing instanceof File) {
      existing.write(Buffer.alloc(0))
      return existing
    }
    if (this.isFull) throw failed('ENOSPC', path)
    const file = new File()
    this.#parent(path).change((entries) => entries.set(lastOf(path), file))
    return file
  }

  #find(path: string): File | Directory {
    let found: File | Directory | undefined = this.#root
    for (const name of namesOf(path)) found = found instanceof Directory ? found.entries.get(name) : undefined
    if (!found) throw failed('ENOENT', path)
    return found
  }

  #parent(path: string): Directory {
    return this.#find(path.slice(0, path.lastIndexOf('/'))) as Directory
  }

  /** Takes a turn, in which the process may have ended. */
  async #operate(): Promise<void> {
    await scheduler.sleep(0)
    this.beforeOperation()
    if (scheduler.current.isDead) await new Promise(() => undefined)
  }
}

const namesOf = (path: string): readonly string[] =>
  path
    .slice(treeRoot.length)
    .split('/')
    .filter((name) => name !== '')
const lastOf = (path: string): string => path.slice(path.lastIndexOf('/') + 1)
const failed = (code: string, path: string): Error => Object.assign(new Error(`${code}: ${path}`), { code })

/** The files of the world that runs. */
let files: TreeFiles | undefined

const promises = fs.promises as unknown as Record<string, (...args: unknown[]) => unknown>
for (const name of ['open', 'mkdir', 'rename', 'rm'] as const) {
  const real = promises[name]!
  promises[name] = (...args) => {
    const isSimulated = files && String(args[0]).startsWith(treeRoot)
    return isSimulated ? Reflect.apply(files![name], files, args) : real(...args)
  }
}
syncBuiltinESMExports()
