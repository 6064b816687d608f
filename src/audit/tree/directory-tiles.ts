import { mkdir, open, readFile, rename, rm } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import type { TileStore } from './tiles.js'

/** A tree in a directory, for one writer and any number of readers. */
export class DirectoryTiles implements TileStore {
  readonly #root: string
  /** Directories that are there, and full tiles beside which no partial one is left: asking for each file costs as much as writing it. */
  readonly #made = new Set<string>()
  readonly #withoutPartials = new Set<string>()

  constructor(root: string) {
    this.#root = root
  }

  async read(path: string): Promise<Uint8Array | undefined> {
    try {
      return await readFile(join(this.#root, path))
    } catch (error) {
      if (isMissing(error)) return undefined
      throw error
    }
  }

  async write(path: string, bytes: Uint8Array): Promise<void> {
    const file = join(this.#root, path)
    await this.#makeDirectory(dirname(file))
    // Always the same name: what a killed process has left is replaced by the next.
    const draft = `${file}.draft`
    await durably(draft, 'w', (handle) => handle.writeFile(bytes))
    await rename(draft, file)
    await syncDirectory(dirname(file))
    if (isFullTile(path)) await this.#removePartials(path)
  }

  /** Only the tile that is full next can have some: behind it there is none yet. */
  async #removePartials(path: string): Promise<void> {
    if (this.#withoutPartials.has(levelOf(path))) return
    const partials = join(this.#root, `${path}.p`)
    await rm(partials, { recursive: true, force: true })
    this.#made.delete(partials)
    this.#withoutPartials.add(levelOf(path))
  }

  /** New directories are durable, too: each is a line in the one above. */
  async #makeDirectory(directory: string): Promise<void> {
    if (this.#made.has(directory)) return
    const first = await mkdir(directory, { recursive: true })
    this.#made.add(directory)
    // Partial ones will stand beside the next tile of this level, and go when it is full.
    if (directory.endsWith('.p')) this.#withoutPartials.delete(levelOf(directory.slice(this.#root.length + 1)))
    if (first === undefined) return
    for (let made = directory; made.length >= first.length; made = dirname(made)) await syncDirectory(dirname(made))
  }
}

/** As `tile/0`. */
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

/** Which stands for its partial ones from now on. */
function isFullTile(path: string): boolean {
  return path.startsWith('tile/') && !path.includes('.p/')
}

function isMissing(error: unknown): boolean {
  return ['ENOENT', 'ENOTDIR'].includes((error as NodeJS.ErrnoException).code ?? '')
}
