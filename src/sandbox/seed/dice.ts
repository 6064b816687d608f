/** Chance that is the same for the same seed (mulberry32). Nothing secret may come of it. */
export class Dice {
  #state: number

  constructor(seed: number) {
    this.#state = seed >>> 0
  }

  /** A whole number, both ends included. */
  between(min: number, max: number): number {
    return min + Math.floor(this.#next() * (max - min + 1))
  }

  chance(probability: number): boolean {
    return this.#next() < probability
  }

  /** Undefined when there is none to choose. */
  oneOf<Item>(items: readonly Item[]): Item | undefined {
    return items[Math.floor(this.#next() * items.length)]
  }

  /** From 0 to below 1. */
  #next(): number {
    this.#state = (this.#state + 0x6d2b79f5) >>> 0
    let mixed = Math.imul(this.#state ^ (this.#state >>> 15), this.#state | 1)
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61)
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32
  }
}
