import { chmod, constants, mkdir, open, rename, rm, stat } from 'node:fs/promises'
import { dirname, join, resolve } from 'node:path'
import { maxEntryBytes, type TileStore, tileWidth } from './tiles.js'
import { VerificationError } from './verification-error.js'

/** The size of a full bundle of the largest entries, each with its two bytes of length. No file of a tree is larger. */
const maxFileBytes = tileWidth * (2 + maxEntryBytes)

/** Stores a tree in a directory, for one writer and any number of readers. */
export class DirectoryTiles implements TileStore {
  readonly #root: string
  // These caches avoid a file-system call per write, which costs as much as the write itself.
  /** The directories that exist on the disk. */
  readonly #made = new Set<string>()
  /** The levels whose partial tiles have been removed. */
  readonly #withoutPartials = new Set<string>()

  readonly #groupBits: number

  /** `isGroupReadable` gives the group of each new file and directory read access, regardless of the umask. */
  constructor(root: string, { isGroupReadable = false } = {}) {
    this.#root = resolve(root)
    this.#groupBits = isGroupReadable ? 0o050 : 0
  }

  /** @throws VerificationError if the file is larger than a file of a tree, because such a file would fill the memory */
  async read(path: string): Promise<Uint8Array | undefined> {
    let handle: Handle | undefined
    try {
      handle = await open(join(this.#root, path), constants.O_RDONLY | constants.O_NONBLOCK)
      const stats = await handle.stat()
      if (!stats.isFile() || stats.size > maxFileBytes) throw new VerificationError(`${path} is not a file of a tree`)
      return await handle.readFile()
    } catch (error) {
      if (isMissing(error)) return undefined
      throw error
    } finally {
      await handle?.close()
    }
  }

  async write(path: string, bytes: Uint8Array): Promise<void> {
    const file = join(this.#root, path)
    await this.#makeDirectory(dirname(file))
    // The draft's name is fixed, so that the next writer replaces a draft that a killed process left.
    const draft = `${file}.draft`
    await durably(draft, 'w', async (handle) => {
      await handle.writeFile(bytes)
      if (this.#groupBits > 0) await handle.chmod(0o640)
    })
    await rename(draft, file)
    await syncDirectory(dirname(file))
    if (isFullTile(path)) await this.#removePartials(path)
  }

  /** Only the newest tile of a level can have partial versions. */
  async #removePartials(path: string): Promise<void> {
    if (this.#withoutPartials.has(levelOf(path))) return
    const partials = join(this.#root, `${path}.p`)
    await rm(partials, { recursive: true, force: true })
    this.#made.delete(partials)
    this.#withoutPartials.add(levelOf(path))
  }

  /**
   * Syncs the parents as well, because a new directory is an entry in its parent. A directory that exists is not safe either before this
   * instance has synced its parent: the process that made it may have been killed, or could not sync.
   */
  async #makeDirectory(directory: string): Promise<void> {
    if (this.#made.has(directory)) return
    const first = await mkdir(directory, { recursive: true })
    // The next tile of this level now has partial versions, to be removed when it is full.
    if (directory.endsWith('.p')) this.#withoutPartials.delete(levelOf(directory.slice(this.#root.length + 1)))
    const topmost = Math.min(this.#root.length, first?.length ?? this.#root.length)
    const synced: string[] = []
    for (let made = directory; made.length >= topmost && made !== dirname(made); made = dirname(made)) {
      if (this.#made.has(made)) break
      // Keeps the bit with which new files inherit the directory's group.
      if (this.#groupBits > 0 && first !== undefined && made.length >= first.length)
        await chmod(made, (await stat(made)).mode | this.#groupBits)
      await syncDirectory(dirname(made))
      synced.push(made)
    }
    for (const made of synced) this.#made.add(made)
  }
}

/** Returns the level's directory, such as `tile/0`. */
function levelOf(path: string): string {
  return path.split('/').slice(0, 2).join('/')
}

type Handle = Awaited<ReturnType<typeof open>>

async function durably(path: string, flags: 'w' | 'r', action: (handle: Handle) => Promise<void>): Promise<void> {
  const handle = await open(path, flags)
  try {
    await action(handle)
    await handle.sync()
  } finally {
    await handle.close()
  }
}

function syncDirectory(directory: string): Promise<void> {
  return durably(directory, 'r', async () => {})
}

function isFullTile(path: string): boolean {
  return path.startsWith('tile/') && !path.includes('.p/')
}

function isMissing(error: unknown): boolean {
  return ['ENOENT', 'ENOTDIR'].includes((error as NodeJS.ErrnoException).code ?? '')
}
