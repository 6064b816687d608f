const maxValues = 50
const rest = 'other'

/** Values of a label whose number somebody else decides: the first fifty get a series each, as long as the process lives, all others share one. */
export class BoundedLabel {
  readonly #own = new Set<string>()

  of(value: string): string {
    if (this.#own.has(value)) return value
    if (this.#own.size === maxValues) return rest
    this.#own.add(value)
    return value
  }
}
