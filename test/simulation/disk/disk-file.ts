import type { Random } from '../random.js'

/** A disk writes the blocks of a file in any order, and their sectors in theirs. */
const blockBytes = 4_096
const sectorBytes = 512

/** The part of a file that is on the disk. The rest is only in the memory of the operating system. */
export class DiskFile {
  content: Buffer = Buffer.alloc(0)
  /** The ranges that were written since the last sync. */
  #written: (readonly [from: number, to: number])[] = []

  write(from: number, to: number): void {
    this.#written.push([from, to])
  }

  sync(cached: Buffer): void {
    for (const [from, to] of this.#written) this.#put(cached, from, to)
    this.content = this.content.subarray(0, cached.length)
    this.#written = []
  }

  /** Writes some of the blocks, as before a power cut, or in a sync that fails, after which the system forgets the others. */
  syncPartly(cached: Buffer, random: Random): void {
    for (const [from, to] of this.#written) {
      const kept = random.pick(['none', 'all', 'first', 'any'] as const)
      const end = kept === 'first' ? from + random.below(to - from) : to
      for (let at = from; at < end && kept !== 'none'; at += blockBytes - (at % blockBytes)) {
        const block = Math.min(end, at + blockBytes - (at % blockBytes))
        const part = kept === 'any' ? random.below(4) : 3
        if (part === 2) this.#put(cached, at, Math.min(block, at + sectorBytes * (1 + random.below(7))))
        else if (part > 0) this.#put(cached, at, block)
      }
    }
    this.#written = []
  }

  #put(cached: Buffer, from: number, to: number): void {
    const end = Math.min(to, cached.length)
    if (end <= from) return
    if (end > this.content.length) this.content = Buffer.concat([this.content], end)
    cached.copy(this.content, from, from, end)
  }
}
