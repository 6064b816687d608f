/** A queue that gives and takes at its front without moving the rest: `Array.shift` is linear in long arrays. */
export class Deque<T> {
  #items: T[] = []
  #head = 0

  get length(): number {
    return this.#items.length - this.#head
  }

  push(item: T): void {
    this.#items.push(item)
  }

  peek(): T | undefined {
    return this.#items[this.#head]
  }

  shift(): T | undefined {
    if (this.#head === this.#items.length) return undefined
    const item = this.#items[this.#head]
    this.#items[this.#head] = undefined as T // a delivered event must not be kept alive by the slot it left
    this.#head += 1
    if (this.#head === this.#items.length) {
      this.#items = []
      this.#head = 0
    } else if (this.#head >= 1_024 && this.#head * 2 > this.#items.length) {
      this.#items = this.#items.slice(this.#head)
      this.#head = 0
    }
    return item
  }

  /** Puts `items` before everything else, in their order. */
  unshift(items: readonly T[]): void {
    if (items.length === 0) return
    this.#items = items.concat(this.#items.slice(this.#head))
    this.#head = 0
  }

  /** Replaces the content; the deque owns the array from now on. */
  replace(items: T[]): void {
    this.#items = items
    this.#head = 0
  }

  toArray(): T[] {
    return this.#items.slice(this.#head)
  }
}
