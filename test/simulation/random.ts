/** A random sequence that one number determines (sfc32). */
export class Random {
  #a: number
  #b: number
  #c: number
  #d: number

  constructor(seed: number, stream = 0) {
    this.#a = seed | 0
    this.#b = Math.floor(seed / 2 ** 32) | 0
    this.#c = stream | 0
    this.#d = 1
    for (let i = 0; i < 15; i++) this.#next()
  }

  #next(): number {
    const sum = (this.#a + this.#b + this.#d) | 0
    this.#d = (this.#d + 1) | 0
    this.#a = this.#b ^ (this.#b >>> 9)
    this.#b = (this.#c + (this.#c << 3)) | 0
    this.#c = (this.#c << 21) | (this.#c >>> 11)
    this.#c = (this.#c + sum) | 0
    return sum >>> 0
  }

  /** Returns a number in [0, 1). */
  fraction(): number {
    return this.#next() / 2 ** 32
  }

  /** Returns a whole number from 0 to `count` - 1. */
  below(count: number): number {
    return Math.floor(this.fraction() * count)
  }

  chance(probability: number): boolean {
    return this.fraction() < probability
  }

  pick<Item>(items: readonly Item[]): Item {
    return items[this.below(items.length)]!
  }

  fill(bytes: Uint8Array): void {
    for (let i = 0; i < bytes.length; i++) bytes[i] = this.#next() & 0xff
  }
}
