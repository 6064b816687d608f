/** A random generator with a reproducible sequence for each seed (mulberry32). Not suitable for secrets. */
export class Dice {
  #state: number

  constructor(seed: number) {
    this.#state = seed >>> 0
  }

  /** Returns an integer between both ends, inclusive. */
  between(min: number, max: number): number {
    return min + Math.floor(this.#next() * (max - min + 1))
  }

  chance(probability: number): boolean {
    return this.#next() < probability
  }

  /** Returns a random element, or undefined if the list is empty. */
  oneOf<Item>(items: readonly Item[]): Item | undefined {
    return items[Math.floor(this.#next() * items.length)]
  }

  /** Returns a number from 0 (inclusive) to 1 (exclusive). */
  #next(): number {
    this.#state = (this.#state + 0x6d2b79f5) >>> 0
    let mixed = Math.imul(this.#state ^ (this.#state >>> 15), this.#state | 1)
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61)
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32
  }
}
