import type { TileStore } from '../../../src/audit/tree/tiles.js'

/** Files as a directory would have them, for tests that do not ask for durability. */
export class MemoryTiles implements TileStore {
  readonly files = new Map<string, Buffer>()

  async read(path: string): Promise<Uint8Array | undefined> {
    return this.files.get(path)
  }

  async write(path: string, bytes: Uint8Array): Promise<void> {
    this.files.set(path, Buffer.from(bytes))
  }
}
