import type { TileStore } from './tiles.js'

/** Stores a tree in memory, for tests and short-lived trees. */
export class MemoryTiles implements TileStore {
  readonly files = new Map<string, Buffer>()

  async read(path: string): Promise<Uint8Array | undefined> {
    return this.files.get(path)
  }

  async write(path: string, bytes: Uint8Array): Promise<void> {
    this.files.set(path, Buffer.from(bytes))
  }
}
