import {
  bundleOf,
  DirectoryTiles,
  hashesOnLevel,
  levelsOf,
  parseCheckpoint,
  parseNote,
  readBundle,
  readHashes,
  type TileLevel,
  type TileStore,
  tilePath,
  tileWidth,
  VerificationError,
  widthOf,
} from '@transferd/transparency-log'
import { checkpointPath, treeBundles } from '../../audit/integrity/log-sealer.js'

/** The tree of a directory as of its newest checkpoint, which stays the same while a service extends the tree. */
export class TreeSnapshot implements TileStore {
  readonly #size: number

  private constructor(
    private readonly tiles: TileStore,
    readonly checkpoint: string,
  ) {
    this.#size = parseCheckpoint(parseNote(checkpoint).text).size
  }

  static async #newest(directory: string): Promise<TreeSnapshot | undefined> {
    const tiles = new DirectoryTiles(directory)
    const checkpoint = await tiles.read(checkpointPath)
    return checkpoint && new TreeSnapshot(tiles, Buffer.from(checkpoint).toString('utf8'))
  }

  /**
   * Returns the newest tree, or `undefined` without a checkpoint, and the result of `readEnd`, the end of the log. The log records each
   * checkpoint after its file is written. So if the file is the same after the end was read, the log up to there records no later tree.
   * @throws VerificationError if the checkpoint is malformed
   */
  static async withLogEnd<End>(directory: string, readEnd: () => End) {
    for (let tree = await TreeSnapshot.#newest(directory); ; ) {
      const end = readEnd()
      const newest = await TreeSnapshot.#newest(directory)
      if (newest?.checkpoint === tree?.checkpoint) return { tree, end }
      tree = newest
    }
  }

  async read(path: string): Promise<Uint8Array | undefined> {
    return path === checkpointPath ? Buffer.from(this.checkpoint) : this.tiles.read(path)
  }

  async write(path: string): Promise<void> {
    throw new Error(`${path}: a snapshot of the tree cannot be changed`)
  }

  /**
   * Yields every file of this tree. Full tiles come in the order in which they were completed, so that a tree that has grown starts with
   * the same files. @throws VerificationError if one is missing
   */
  async *files(): AsyncGenerator<{ readonly path: string; readonly bytes: Uint8Array }> {
    for (let index = 0; (index + 1) * tileWidth <= this.#size; index++) {
      yield this.#tile(treeBundles.bundles, index)
      yield this.#tile(0, index)
      // A full tile adds a hash to the level above, which completes every 256th tile there.
      for (let level = 1, count = index + 1; count % tileWidth === 0; level++) {
        count /= tileWidth
        yield this.#tile(level, count - 1)
      }
    }
    for (const level of levelsOf(this.#size, treeBundles.bundles)) {
      const hashes = hashesOnLevel(level, this.#size)
      if (hashes % tileWidth !== 0) yield this.#tile(level, Math.floor(hashes / tileWidth))
    }
    yield { path: checkpointPath, bytes: Buffer.from(this.checkpoint) }
  }

  /** A partial tile may have been replaced by the full one in the meantime. */
  async #tile(level: TileLevel, index: number): Promise<{ readonly path: string; readonly bytes: Uint8Array }> {
    const path = tilePath(level, index, widthOf(level, index, this.#size))
    const bytes =
      typeof level === 'string'
        ? bundleOf(await readBundle(this.tiles, index, this.#size, level))
        : Buffer.concat(await readHashes(this.tiles, level, index, this.#size))
    if (bytes.length === 0) throw new VerificationError(`${path} is empty`)
    return { path, bytes }
  }
}
