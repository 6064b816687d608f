import type { TileStore } from '@transferd/transparency-log'
import type { Findings } from './integrity-findings.js'

/** Compares the files that a tree should have with the stored files, instead of writing them. */
export class ComparingTiles implements TileStore {
  constructor(
    private readonly tiles: TileStore,
    private readonly findings: Findings,
  ) {}

  read(path: string): Promise<Uint8Array | undefined> {
    return this.tiles.read(path)
  }

  async write(path: string, bytes: Uint8Array): Promise<void> {
    // A full tile starts with its partial tiles, so it replaces them.
    const full = path.replace(/\.p\/\d+$/, '')
    const found = (await this.tiles.read(path)) ?? (full === path ? undefined : await this.tiles.read(full))
    if (found === undefined) this.findings.add('tree', path, 'The file is missing.')
    else if (!startsWith(found, bytes) || (full === path && found.length > bytes.length))
      this.findings.add('tree', path, 'The file is not the one that was written.')
  }
}

function startsWith(found: Uint8Array, expected: Uint8Array): boolean {
  return found.length >= expected.length && Buffer.compare(found.subarray(0, expected.length), expected) === 0
}
